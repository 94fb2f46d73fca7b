"""Peak matmul rates: what MFU is divided by.

Per physical core, bfloat16: 2 x 128 x 128 multiply-adds a cycle, at 2.8 GHz on NeuronCore-v2 and 2.4 GHz on v3 and v4
(AWS Neuron docs, nki/guides/architecture/{trainium_inferentia2,trainium2,trainium3}_arch.rst; the profiler divides by the
same numbers). The 667 TFLOPS of the trn2 product page is 83.4 per core, a number that no profile uses.
"""

from __future__ import annotations

from neff_bench.chips import CHIPS


def peak_tflops(target: str, dtype: str, lnc: int) -> float | None:
    """Peak of a logical core in TFLOPS; None for a target or dtype that the table does not know."""
    chip = CHIPS.get(target)
    return chip.peak_tflops(dtype, lnc) if chip else None
