"""Operands of instructions, from their text."""

import pytest

from neff_bench.viewer.operands import Operand, Shape, forms, operands_in, shape_of

SBUF = "src=fp32@0x36ff8[2,1,1][512,3,1] channels=128"
OURS = "data=bfloat16@sbuf:tile+16[512,4][64,128]"


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        (SBUF, Operand("src", "fp32", "sbuf", "0x36ff8[2,1,1][512,3,1]", 1536, 2, 128)),
        ("dst=0x1ffffff[][]", Operand("dst", None, "sbuf", "0x1ffffff[][]", 1, 1, None)),
        ("dst=0x2000000[-1][8]", Operand("dst", None, "psum", "0x2000000[-1][8]", 8, -1, None)),
        ("dst=0x2ffffff[1][8]", Operand("dst", None, "psum", "0x2ffffff[1][8]", 8, 1, None)),
        ("dst=0x3000000[1][8]", Operand("dst", None, "hbm", "0x3000000[1][8]", 8, 1, None)),
        (OURS, Operand("data", "bfloat16", "sbuf", "sbuf:tile+16[512,4][64,128]", 128, 4, 64)),
        ("x=psum:p+0[][]", Operand("x", None, "psum", "psum:p+0[][]", 1, 1, None)),
        ("x=other:p+0[3][5]", Operand("x", None, "", "other:p+0[3][5]", 1, 3, 5)),
    ],
)
def test_an_access_pattern_says_where_and_how_much(text, operand):
    assert operands_in(f"op=add {text} flag") == (operand,)


@pytest.mark.parametrize(
    ("dtype", "step_bytes"),
    [
        ("fp32", 12),
        ("int32", 12),
        ("uint32", 12),
        ("bfloat16", 6),
        ("fp16", 6),
        ("float16", 6),
        ("int16", 6),
        ("uint16", 6),
    ]
    + [("float32", 12), ("int8", 3), ("uint8", 3), ("fp99", None)],
)
def test_a_step_is_as_many_bytes_as_its_dtype_has_whichever_way_it_goes(dtype, step_bytes):
    for step in (3, -3):
        [operand] = operands_in(f"x={dtype}@0x0[{step}][8]")
        assert operand.step_bytes == step_bytes


def test_names_choose_operands():
    text = f"{SBUF} {OURS} dst=0x0[1][2]"
    assert [one.name for one in operands_in(text)] == ["src", "data", "dst"]
    assert [one.name for one in operands_in(text, ("src=", "dst="))] == ["src", "dst"]
    assert operands_in("op=add channels=8") == ()


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("", Shape(0, 0, 0, False)),
        ("x=fp32@0x0[1][8] y=bfloat16@0x0[4][2] channels=16", Shape(16, 8, 8, True)),
        ("x=fp32@0x0[1][1] y=bfloat16@0x0[4][2]", Shape(0, 2, 8, False)),
        ("x=fp32@0x0[9][1]", Shape(0, 1, 0, False)),
        ("x=fp32@0x0[9][2]", Shape(0, 2, 36, True)),
        ("x=float32@0x0[1][8] y=bfloat16@0x2000000[4][2]", Shape(0, 8, 4, False)),
        ("x=bfloat16@0x2000000[4][2]", Shape(0, 2, 0, False)),
        ("x=float32@0x0[1][8] y=float32@0x3000000[4][900]", Shape(0, 8, 4, False)),
    ],
)
def test_a_shape_is_the_most_that_an_instruction_works_on(text, shape):
    assert shape_of(operands_in(text)) == shape


def test_texts_that_differ_in_places_alone_have_one_form():
    texts = [f"src=fp32@{place}[1][8] n=0x12" for place in ("0x1ffffff", "0x10", "sbuf:a+0", "sbuf:b.c+64")]
    first, second, third, fourth = forms(texts)
    assert first == second == "src=fp32@0x0[1][8] n=0x12" and third == fourth == "src=fp32@sbuf:+0[1][8] n=0x12"
    assert [*forms(["a=0x2000010[1][1]", "a=0x3000010[1][1]"])] == ["a=0x2000000[1][1]", "a=0x3000010[1][1]"]
    many = [*forms(["a=0x10[1][1]\nb=0x20[1][1]"] * 5000)]
    assert many == ["a=0x0[1][1] b=0x0[1][1]"] * 5000
