"""Know where the time goes in a kernel on AWS Trainium and Inferentia.

This is the public face: the names in `__all__`. All other modules are private and may change in any version.

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

Nothing heavy is imported before a name is used. All names may be used from any number of threads at once: each call has its own
state, and gives what it gives alone. One object, a `Rows` or a `Store` say, may be read by several threads; none may change it meanwhile.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neff_bench.doors.estimation import estimate, records_alike
    from neff_bench.doors.profiling import Task, profile, profile_many
    from neff_bench.doors.row_list import Rows
    from neff_bench.experiments.latency import NPUMatmulProfiler, ProfilingResult
    from neff_bench.experiments.workload import MatmulConfig, MlpConfig
    from neff_bench.installation import __version__
    from neff_bench.neffs.bundle import Bundle, Manifest
    from neff_bench.neffs.case import Case
    from neff_bench.neffs.store import Store
    from neff_bench.parsers.neff import Neff, read_neff
    from neff_bench.parsers.ntff import read_ntff
    from neff_bench.parsers.profile_json import Profile, read_profile, read_summary
    from neff_bench.parsers.summary import Summary
    from neff_bench.parsers.trace import Ntff
    from neff_bench.stage2_profile.compare.comparison import Difference
    from neff_bench.stage2_profile.compare.profiles import compare
    from neff_bench.stage2_profile.metrics.rows import Row

__all__ = [
    "Bundle",
    "Case",
    "Difference",
    "Manifest",
    "MatmulConfig",
    "MlpConfig",
    "NPUMatmulProfiler",
    "Neff",
    "Ntff",
    "Profile",
    "ProfilingResult",
    "Row",
    "Rows",
    "Store",
    "Summary",
    "Task",
    "__version__",
    "compare",
    "estimate",
    "profile",
    "profile_many",
    "read_neff",
    "read_ntff",
    "read_profile",
    "read_summary",
    "records_alike",
]

_HOMES = {
    "Bundle": "neffs.bundle",
    "Case": "neffs.case",
    "Difference": "stage2_profile.compare.comparison",
    "Manifest": "neffs.bundle",
    "MatmulConfig": "experiments.workload",
    "MlpConfig": "experiments.workload",
    "NPUMatmulProfiler": "experiments.latency",
    "Neff": "parsers.neff",
    "Ntff": "parsers.trace",
    "Profile": "parsers.profile_json",
    "ProfilingResult": "experiments.latency",
    "Row": "stage2_profile.metrics.rows",
    "Rows": "doors.row_list",
    "Store": "neffs.store",
    "Summary": "parsers.summary",
    "Task": "doors.profiling",
    "__version__": "installation",
    "compare": "stage2_profile.compare.profiles",
    "estimate": "doors.estimation",
    "profile": "doors.profiling",
    "profile_many": "doors.profiling",
    "read_neff": "parsers.neff",
    "read_ntff": "parsers.ntff",
    "read_profile": "parsers.profile_json",
    "read_summary": "parsers.profile_json",
    "records_alike": "doors.estimation",
}
"""The module, below `neff_bench`, that holds each public name."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
