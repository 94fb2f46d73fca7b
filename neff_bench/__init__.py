"""Know where the time goes in a kernel on AWS Trainium and Inferentia.

This is the public face: the names that it imports. All other modules are private and may change in any version.

    import neff_bench

    row = neff_bench.estimate("my_kernels.py:scale_rows", {"x": ((128, 512), "bfloat16")})
    print(row.total_time_us, row.hbm_read_bytes)
    row = neff_bench.profile("my_kernels.py:scale_rows", {"x": array}, reference=my_reference)
    print(row.check)

    neff = neff_bench.read_neff("file.neff")        # a NEFF, with no AWS tool
    trace = neff_bench.read_ntff("profile.ntff")    # a trace
    profile = neff_bench.read_profile("ntff.json")  # a whole profile

    for difference in neff_bench.compare("before.json", "after.json"):
        print(difference.label, difference.metric, difference.ratio, difference.verdict)

Nothing is imported before a name is used. All names may be used from any number of threads at once: each call has its own
state, and gives what it gives alone. One object, a `Rows` or a `Store` say, may be read by several threads; none may change it meanwhile.
"""

from __future__ import annotations

# This file imports nothing while it runs: Ctrl-C ends a command in silence only after it (start.py).
TYPE_CHECKING = False
if TYPE_CHECKING:  # the one list of the public names: type checkers and editors follow it, `_homes` reads it
    from typing import Any

    from neff_bench.doors.estimation import estimate as estimate
    from neff_bench.doors.estimation import records_alike as records_alike
    from neff_bench.doors.profiling import Task as Task
    from neff_bench.doors.profiling import profile as profile
    from neff_bench.doors.profiling import profile_many as profile_many
    from neff_bench.doors.row_list import Rows as Rows
    from neff_bench.experiments.latency import NPUMatmulProfiler as NPUMatmulProfiler
    from neff_bench.experiments.latency import ProfilingResult as ProfilingResult
    from neff_bench.experiments.workload import MatmulConfig as MatmulConfig
    from neff_bench.experiments.workload import MlpConfig as MlpConfig
    from neff_bench.installation import __version__ as __version__
    from neff_bench.neffs.bundle import Bundle as Bundle
    from neff_bench.neffs.bundle import Manifest as Manifest
    from neff_bench.neffs.case import Case as Case
    from neff_bench.neffs.store import Store as Store
    from neff_bench.parsers.neff import Neff as Neff
    from neff_bench.parsers.neff import read_neff as read_neff
    from neff_bench.parsers.ntff import read_ntff as read_ntff
    from neff_bench.parsers.profile_json import Profile as Profile
    from neff_bench.parsers.profile_json import read_profile as read_profile
    from neff_bench.parsers.profile_json import read_summary as read_summary
    from neff_bench.parsers.summary import Summary as Summary
    from neff_bench.parsers.trace import Ntff as Ntff
    from neff_bench.stage2_profile.compare.comparison import Difference as Difference
    from neff_bench.stage2_profile.compare.profiles import compare as compare
    from neff_bench.stage2_profile.metrics.rows import Row as Row


_HOMES: dict[str, str] = {}


def _homes() -> dict[str, str]:
    """Return the module of each public name, from the lines above, so that nobody waits for the modules themselves."""
    if not _HOMES:
        with open(__file__, encoding="utf-8") as source:
            lines = [line.split() for line in source if line.startswith("    from neff_bench.")]
        _HOMES.update({name: module for _, module, _, name, *_ in lines})
    return _HOMES


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_homes())
    if name not in _homes():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_homes()[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_homes()})
