"""aws-neuron/nkipy: the kernel of its playground."""

from __future__ import annotations

from tools.wild_cases.case import Case, floats

CASES: tuple[Case, ...] = (
    Case(
        "aws-neuron/nkipy",
        "b91c980",
        "examples/playground/simple_nki_kernel.py",
        "nki_tensor_add",
        lambda random: {"a_input": floats(random, 128, 512), "b_input": floats(random, 128, 512)},
        lambda a_input, b_input: a_input + b_input,
    ),
)
