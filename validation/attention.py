"""The eight attention kernels of trainium-kernel-fusion from their source, beside the traces of the same kernels.

    python -m validation.attention CHECKOUT     # a clone of github allenkchau/trainium-kernel-fusion at d709ddf

A line for each: total time, and the instructions of the Tensor, Vector and Scalar engines, ours and measured. These rows are
development data: `neff_bench/simulator/compiler/passes/merging.py` was written with them.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from neff_bench.chips.engines import TITLES
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.nki.spec import KernelSpec
from neff_bench.simulator.timing.schedule import schedule
from validation.correlation.fusion import kernel, profile, recorded

_ENGINES = ("Tensor", "Vector", "Scalar")
_WAITS = ("EVENT_SEMAPHORE", "NOP")


def main(checkout: Path) -> int:
    for kind in ("baseline", "fused"):
        for dtype, short in (("bfloat16", "bf16"), ("float32", "fp32")):
            for length in (512, 1024):
                name = f"{kind}_{short}_s{length}"
                measured_us, measured = _measured(profile(checkout, name))
                ours_us, ours = _ours(kernel(checkout, kind, dtype, length))
                counts = ", ".join(f"{engine} {ours[engine]} {measured[engine]}" for engine in _ENGINES)
                error = ours_us / measured_us - 1
                print(f"{name:20} {ours_us:6.1f} us, measured {measured_us:6.1f} ({error:+.1%}); instructions, ours and measured: {counts}")  # fmt: skip
    return 0


def _measured(profile: dict) -> tuple[float, Counter[str]]:
    rows = [row for row in profile["instruction"] if row["instruction_type"] and row["subgraph"] == "sg00"]
    total_us = profile["summary"][0]["total_time"] * 1e6
    return total_us, Counter(row["subgroup"] for row in rows if not row["opcode"].startswith((*_WAITS, "DMA")))


def _ours(spec: KernelSpec) -> tuple[float, Counter[str]]:
    timed = schedule(recorded(spec))
    code = timed.cores[0].code
    names = {value: name for name, value in OPCODES.items()}
    rows = zip(code.engine.tolist(), code.opcode.tolist(), code.transfer.tolist())
    counted = [TITLES[engine] for engine, opcode, transfer in rows if transfer < 0 and names[opcode] not in _WAITS]
    return timed.total_ns / 1e3, Counter(counted)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
