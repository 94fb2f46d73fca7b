import numpy as np
import pytest

RNG = np.random.default_rng(31)
OPS = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "maximum": max}


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("reverse0", [False, True])
@pytest.mark.parametrize("reverse1", [False, True])
@pytest.mark.parametrize(("op0", "op1"), [("multiply", "add"), ("subtract", "multiply"), ("maximum", "subtract")])
def test_tensor_tensor_scan(apply, op0, op1, reverse0, reverse1):
    a, b, initial = normal(4, 12), normal(4, 12), normal(4, 1)
    out = apply(
        "tensor_tensor_scan",
        {"dst": ((4, 12), "float32")},
        {"data0": a, "data1": b, "initial": initial},
        op0=op0,
        op1=op1,
        reverse0=reverse0,
        reverse1=reverse1,
    )
    for row in range(4):
        state = initial[row, 0]
        for i in range(12):
            state = OPS[op0](state, a[row, i]) if reverse0 else OPS[op0](a[row, i], state)
            state = OPS[op1](b[row, i], state) if reverse1 else OPS[op1](state, b[row, i])
            np.testing.assert_allclose(out[row, i], state, rtol=1e-6)


def test_scan_from_a_constant_is_a_cumulative_sum(apply):
    b = normal(4, 12)
    out = apply(
        "tensor_tensor_scan",
        {"dst": ((4, 12), "float32")},
        {"data0": np.ones((4, 12), np.float32), "data1": b},
        op0="multiply",
        op1="add",
        initial=2.0,
    )
    np.testing.assert_allclose(out, 2 + np.cumsum(b, axis=1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op1", ["add", "subtract", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("command", ["reset_reduce", "load_reduce"])
def test_tensor_scalar_cumulative(apply, op1, command):
    data, vector = normal(5, 9), normal(5, 1)
    loaded = {"imm1": 0.5} if command == "load_reduce" else {}
    out = apply(
        "tensor_scalar_cumulative",
        {"dst": ((5, 9), "float32")},
        {"src": data, "imm0": vector},
        op0="multiply",
        op1=op1,
        reduce_cmd=command,
        **loaded,
    )
    start = {"add": 0, "subtract": 0, "multiply": 1, "maximum": -np.inf, "minimum": np.inf}[op1]
    for row in range(5):
        state = np.float32(0.5 if loaded else start)
        for i in range(9):
            state = {**OPS, "minimum": min}[op1](data[row, i] * vector[row, 0], state)
            np.testing.assert_allclose(out[row, i], state, rtol=1e-5)


def test_the_accumulator_continues_in_the_next_tile(builder):
    b = builder()
    data = normal(3, 8)
    tile, result = b.load("x", data), b.sbuf((3, 8), "float32")
    for command in ("reset_reduce", "reduce"):
        b.do(
            "tensor_scalar_cumulative",
            {"dst": result},
            {"src": tile},
            op0="add",
            imm0=0.0,
            op1="add",
            reduce_cmd=command,
        )
    b.copy(b.output("y", (3, 8), "float32"), result)
    expected = data.sum(axis=1, keepdims=True) + np.cumsum(data, axis=1)
    np.testing.assert_allclose(b.run(x=data)["y"], expected, rtol=1e-4, atol=1e-5)
