"""aws-neuron/nkipy: the kernel of its playground and that of a model."""

from __future__ import annotations

from functools import partial

from validation.wild.cases.case import Case, floats, rms_norm

_case = partial(Case, "aws-neuron/nkipy", "b91c980")

CASES: tuple[Case, ...] = (
    _case(
        "examples/playground/simple_nki_kernel.py",
        "nki_tensor_add",
        lambda random: {"a_input": floats(random, 128, 512), "b_input": floats(random, 128, 512)},
        lambda a_input, b_input: a_input + b_input,
    ),
    _case(
        "examples/models/gpt_oss/kernels/nki/rmsnorm.py",
        "nki_rmsnorm_kernel",
        lambda random: {"input_tensor": floats(random, 200, 512), "weight": floats(random, 512), "eps": 1e-5},
        lambda input_tensor, weight, eps: rms_norm(input_tensor, weight, eps),
    ),
)
