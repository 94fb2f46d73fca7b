"""Operands as AWS's report and the simulator's write them."""

import pytest

from neff_bench.chips import CHIPS
from neff_bench.simulator.calibration.operations import Operand, model_ns, operation_of


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        (
            "S[6] (Vector)>=11 src=fp32@0x2002000[1,1,1][128,4,1] dst=bfloat16@0x8850[1,1,1][128,4,1] channels=128",
            (Operand("src", "float32", "psum", 512), Operand("dst", "bfloat16", "sbuf", 512)),
        ),
        (
            "src=bfloat16@psum:psum15+0[512,128,1][128,4,128] dst=bfloat16@sbuf:sbuf8+0[512,128,1][128,4,128]",
            (Operand("src", "bfloat16", "psum", 512), Operand("dst", "bfloat16", "sbuf", 512)),
        ),
        ("src=bfloat16@hbm:x+0[256,1][128,256] dst=uint32@0x10[1][4]", ()),
        ("", ()),
    ],
)
def test_operands_are_read_in_both_notations(operands, expected):
    assert operation_of("COPY", "Vector", operands).operands == expected


def test_a_pointer_is_one_value_for_each_partition():
    operands = "imm=0x6840,0 imm_src=PTR,INSTRUCTION src=fp32@0x10[1][128] dst=fp32@0x20[1][128]"
    assert operation_of("TENSOR_SCALAR", "Vector", operands).pointer


def test_a_pointer_takes_longer_by_its_constant():
    chip = CHIPS["trn2"]
    plain, pointed = (
        operation_of(
            "TENSOR_SCALAR", "Vector", f"imm_src={kind},INSTRUCTION src=fp32@0x10[1][128] dst=fp32@0x20[1][128]"
        )
        for kind in ("INSTRUCTION", "PTR")
    )
    assert model_ns(pointed, chip)[0] - model_ns(plain, chip)[0] == pytest.approx(chip.vector_pointer_ns)
