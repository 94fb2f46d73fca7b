"""Attention of one token as a block of a megakernel, in versions of KevGomes1403/nki-moe-megakernel: trn3, current dialect. Studied rows.

A benchmark script of the repository wraps each version: it loads the token into SBUF, calls the version and stores the result. Times are
`device_time_us` of the profiler over 50 runs, from the log of optimisations; a later benchmark of the first version, 75.42 us beside 75.9, is left
out. The scripts compile for trn3 and launch two cores, for one row one core.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
from neff_bench.simulator.program import Program
from validation.correlation import norms
from validation.correlation.measured import Measured
from validation.correlation.origin import data, placed, silenced
from validation.wild.loading import replace_host_packages

SOURCE = ("KevGomes1403/nki-moe-megakernel", "e800859")
_FOLDER = "kernels/attn_tkg/agents/"
_LOG = f"{_FOLDER}v14a_kv_norm_optimization_log.md"

_SHAPES = {
    "hidden_states": (1, 1, 2048), "Wq": (1024, 2048), "Wk": (128, 2048), "Wv": (128, 2048), "Wo": (1024, 2048),
    "q_norm_weight": (128,), "k_norm_weight": (128,), "gamma_pre_attn": (2048,), "K_cache": (1, 1, 640, 128),
    "V_cache": (1, 1, 640, 128), "cos": (1, 128), "sin": (1, 128), "position_ids": (1, 1), "output": (1, 1, 2048),
}  # fmt: skip


class Version(NamedTuple):
    """script: wraps the kernel. kernel: its file. Both without `.py`."""

    script: str
    kernel: str
    us: float
    lnc: int = 2


VERSIONS = (
    Version("bench_pretransposed", "v14b_kv_norm_pretransposed", 75.9),
    Version("bench_v15a", "v15a_peer_split_kv", 100.3),
    Version("bench_v15a2", "v15a2_h_shard_qkv", 85.4),
    Version("bench_v15b", "v15b_oproj_collapse", 74.96),
    Version("bench_v15c", "v15c_broadcast_elim", 75.10),
    Version("bench_v16a", "v16a_seq_parallel", 81.73),
    Version("bench_v16a", "v16a_seq_parallel", 78.60, 1),
)


def versions(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each."""
    checkout = checkouts / SOURCE[0]
    for one in VERSIONS:
        sources = [data(checkout, SOURCE[1], f"{_FOLDER}{name}.py").decode() for name in (one.kernel, one.script)]
        yield Measured(
            *SOURCE, "attention_block", f"attention_block LNC {one.lnc}", f"{one.kernel}, {_LOG}", "trn3", one.lnc, "nki", one.us,
            partial(recorded, checkouts, *sources, one.lnc), variants=True,
        )  # fmt: skip


def recorded(checkouts: Path, kernel: str, script: str, lnc: int) -> Program:
    """Return the wrapper of the script, which calls the kernel. Raises ValueError for a script without a wrapper."""
    wrapper = re.search(r"@nki\.jit\n(def (\w+)\(.*?\n    return .*?\n)", script, re.DOTALL)
    name = re.search(r"^from v\w+ import (\w+)(?: as (\w+))?$", script, re.MULTILINE)
    if wrapper is None or name is None:
        raise ValueError("no wrapper of a kernel in the script")
    whole = (
        f"import nki\nfrom nkilib.core.utils.allocator import SbufManager\n{kernel}\n"
        f"{name[2] or name[1]} = {name[1]}\nPMAX = 128\n\n\n@nki.jit\n{wrapper[1]}"
    )
    install()
    replace_host_packages()
    inputs = tuple(
        InputSpec(name, shape, "int32" if name == "position_ids" else "bfloat16") for name, shape in _SHAPES.items()
    )
    spec = KernelSpec(f"{placed(whole, 'kernel.py')}:{wrapper[2]}", inputs, norms.library(checkouts), {})
    with silenced():
        return trace_kernel(spec, "trn3", lnc)
