"""Peak matmul rates: what MFU is divided by.

Per physical core, bfloat16: 2 x 128 x 128 multiply-adds a cycle, at 2.8 GHz on NeuronCore-v2 and 2.4 GHz on v3 and v4
(AWS Neuron docs, nki/guides/architecture/{trainium_inferentia2,trainium2,trainium3}_arch.rst; the profiler divides by the
same numbers). The 667 TFLOPS of the trn2 product page is 83.4 per core, a number that no profile uses.
"""

from __future__ import annotations

BFLOAT16_TFLOPS = {"trn1": 91.7504, "inf2": 91.7504, "trn2": 78.6432, "trn3": 78.6432}

RATE = {
    "bfloat16": 1.0,
    "float16": 1.0,
    "tfloat32": 1.0,
    "float32": 0.25,  # four passes of the array; the guides say 23 of 92 and 20 of 79 TFLOPS
    "float8_e4m3": 2.0,  # two rows of a cell at once (perf_mode double_row)
    "float8_e4m3fn": 2.0,
    "float8_e5m2": 2.0,
}
"""Rate of a dtype over that of bfloat16."""

NO_DOUBLE_ROW = {"trn1", "inf2"}


def peak_tflops(target: str, dtype: str, lnc: int) -> float | None:
    """Peak of a logical core in TFLOPS; None for a target or dtype that the table does not know."""
    base, rate = BFLOAT16_TFLOPS.get(target), RATE.get(dtype)
    if base is None or rate is None:
        return None
    return lnc * base * (min(rate, 1.0) if target in NO_DOUBLE_ROW else rate)
