"""Reads an HLO module as a graph of values: calls inlined, scalar constants folded, activation functions recognised."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from neff_bench.parsers.hlo import DotDimensions, HloComputation, HloInstruction, HloModule
from neff_bench.simulator.errors import CompileError
from neff_bench.simulator.numpy_dtypes import DTYPES, numpy_dtype

_UNARY = {
    "abs": "abs",
    "erf": "erf",
    "exponential": "exp",
    "log": "log",
    "logistic": "sigmoid",
    "negate": "negative",
    "not": "not",
    "rsqrt": "rsqrt",
    "sign": "sign",
    "sine": "sin",
    "sqrt": "sqrt",
    "tanh": "tanh",
}
_ALIKE = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power")
_BINARY = {**dict(zip(_ALIKE, _ALIKE)), "and": "logical_and", "or": "logical_or"}
_COMPARE = {
    "EQ": "equal",
    "NE": "not_equal",
    "LT": "less",
    "LE": "less_equal",
    "GT": "greater",
    "GE": "greater_equal",
}
_REDUCE = ("add", "maximum", "minimum")
INLINED_MAX = 1_000_000
_SAME = ("copy", "optimization-barrier")
_FOLD: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b if b else math.copysign(math.inf, a) if a else math.nan,
    "maximum": max,
    "minimum": min,
    "power": lambda a, b: a**b,
    "negative": lambda a: -a,
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
    "rsqrt": lambda a: a**-0.5 if a > 0 else math.inf if a == 0 else math.nan,
    "exp": math.exp,
    "abs": abs,
}


@dataclass(frozen=True, eq=False)
class Value:
    """One value of the graph; two values are the same only when they are one object.

    `op`: "parameter", "constant", "scalar" (one number in every element), "unary", "binary", "select", "convert",
    "dot", "reduce", "broadcast", "reshape", "transpose", "slice" or "concatenate". `function`: what a unary, binary or reduce
    applies. `name`: the HLO instruction it came from. `dimensions`: as in HLO for broadcast, transpose, reduce, concatenate.
    """

    op: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    operands: tuple[Value, ...] = ()
    function: str = ""
    number: float = 0.0
    data: bytes = field(default=b"", repr=False)
    dimensions: tuple[int, ...] = ()
    slices: tuple[tuple[int, int, int], ...] = ()
    dot: DotDimensions | None = None

    @property
    def size(self) -> int:
        """Elements in all."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Graph:
    """`parameters[n]` and `results[n]`: the module's inputs and outputs in order. `texts`: each HLO instruction by its name, as
    profiles show it ("%dot.3 = dot(%p0, %p1)")."""

    name: str
    parameters: tuple[Value, ...]
    results: tuple[Value, ...]
    texts: Mapping[str, str]


def build_graph(module: HloModule) -> Graph:
    """Return the graph of a module. Raises `CompileError` naming the first HLO instruction that is not modelled."""
    _check_size(module)
    entry = module.computations[module.entry]
    parameters = sorted((i for i in entry.instructions if i.opcode == "parameter"), key=lambda i: i.parameter_number)
    values = tuple(
        Value("parameter", i.name, _dtype(i), i.shape.dimensions, number=i.parameter_number) for i in parameters
    )
    if not values:
        raise CompileError(f"HLO module {module.name}: the entry computation has no parameters")
    results = _inline(module, entry, values)
    return Graph(module.name, values, tuple(_fuse_converts(results)), _texts(module))


def _texts(module: HloModule) -> dict[str, str]:
    found = {}
    for computation in module.computations.values():
        names = {i.id: i.name for i in computation.instructions}
        for i in computation.instructions:
            found[i.name] = f"%{i.name} = {i.opcode}({', '.join(f'%{names[n]}' for n in i.operands)})"
    return found


def _check_size(module: HloModule) -> None:
    """Refuse a graph that is too large once its calls are inlined: calls that call twice double with each level."""
    counts: dict[int, int] = {}
    for number in module.called_first():
        instructions = module.computations[number].instructions
        counts[number] = len(instructions) + sum(counts[called] for i in instructions for called in i.calls)
    if counts[module.entry] > INLINED_MAX:
        raise CompileError(
            f"HLO module {module.name}: {counts[module.entry]} instructions with calls inlined, at most {INLINED_MAX}"
        )


def _inline(module: HloModule, computation: HloComputation, arguments: Sequence[Value]) -> tuple[Value, ...]:
    """Return the results of a computation on `arguments`; one value for each element of a tuple."""
    found: dict[int, tuple[Value, ...]] = {}
    for i in computation.instructions:
        operands = [found[n] for n in i.operands]
        if i.opcode == "parameter":
            found[i.id] = (arguments[i.parameter_number],)
        elif i.opcode == "tuple":
            found[i.id] = tuple(value for operand in operands for value in operand)
        elif i.opcode == "get-tuple-element":
            found[i.id] = (operands[0][i.tuple_index],)
        elif i.opcode in ("call", "fusion"):
            called = module.computations[i.calls[0]]
            found[i.id] = _inline(module, called, [operand[0] for operand in operands])
        elif i.opcode in _SAME:
            found[i.id] = operands[0]
        else:
            found[i.id] = (_value(module, i, [operand[0] for operand in operands]),)
    return found[computation.root]


def _value(module: HloModule, i: HloInstruction, operands: list[Value]) -> Value:
    shape, dtype, opcode = i.shape.dimensions, _dtype(i), i.opcode
    if opcode == "constant":
        return _constant(i, dtype)
    if opcode == "iota":
        along = np.arange(shape[i.dimensions[0]]).reshape(
            [-1 if d == i.dimensions[0] else 1 for d in range(len(shape))]
        )
        data = np.broadcast_to(along, shape).astype(numpy_dtype(dtype)).tobytes()
        return Value("constant", i.name, dtype, shape, data=data)
    # What the engines lack is made of what they have: clamp of minimum and maximum, log(1 + x) of an addition.
    if opcode == "clamp":
        low, x, high = operands
        raised = _apply("maximum", i, dtype, shape, [x, _spread(low, shape)])
        return _apply("minimum", i, dtype, shape, [raised, _spread(high, shape)])
    if opcode in _UNARY:
        return _apply(_UNARY[opcode], i, dtype, shape, operands)
    if opcode in _BINARY:
        return _apply(_BINARY[opcode], i, dtype, shape, operands)
    if opcode == "compare":
        return _apply(_COMPARE[i.comparison], i, dtype, shape, operands)
    if opcode in ("exponential-minus-one", "log-plus-one"):
        one = Value("scalar", i.name, dtype, shape, number=1.0)
        if opcode == "log-plus-one":
            return _apply("log", i, dtype, shape, [_apply("add", i, dtype, shape, [operands[0], one])])
        return _apply("subtract", i, dtype, shape, [_apply("exp", i, dtype, shape, operands), one])
    # A scalar looks the same however it is laid out.
    if opcode in ("broadcast", "reshape", "bitcast", "transpose", "slice", "convert") and operands[0].op == "scalar":
        return replace(operands[0], name=i.name, shape=shape, dtype=dtype)
    if opcode in ("reshape", "bitcast"):
        if math.prod(shape) != operands[0].size or operands[0].dtype != dtype:
            raise _not_modelled(i, "a bitcast that changes the element type")
        return Value("reshape", i.name, dtype, shape, tuple(operands))
    if opcode in ("broadcast", "transpose", "slice", "convert", "concatenate"):
        return Value(opcode, i.name, dtype, shape, tuple(operands), dimensions=i.dimensions, slices=i.slices)
    if opcode == "select":
        predicate, on_true, on_false = operands
        return Value("select", i.name, dtype, shape, (_spread(predicate, shape), on_true, on_false))
    if opcode == "dot":
        return _dot(i, dtype, operands)
    if opcode == "reduce":
        return _reduce(module, i, dtype, operands)
    # An unknown operation is refused: a wrong guess would be a wrong number.
    raise _not_modelled(i)


def _apply(function: str, i: HloInstruction, dtype: str, shape: tuple[int, ...], operands: list[Value]) -> Value:
    if all(operand.op == "scalar" for operand in operands) and function in _FOLD:
        number = _FOLD[function](*(operand.number for operand in operands))
        return Value("scalar", i.name, dtype, shape, number=number)
    op = "unary" if len(operands) == 1 else "binary"
    value = Value(op, i.name, dtype, shape, tuple(operands), function=function)
    return _sigmoid(value) or _silu(value) or value


def _sigmoid(value: Value) -> Value | None:
    """Return 1 / (1 + exp(-x)), which is how jax writes it, as one activation function."""
    if value.function != "divide" or not _is_number(value.operands[0], 1.0):
        return None
    total = value.operands[1]
    for term, other in (total.operands, total.operands[::-1]) if total.function == "add" else ():
        if _is_number(term, 1.0) and other.function == "exp" and other.operands[0].function == "negative":
            return replace(value, op="unary", function="sigmoid", operands=other.operands[0].operands)
    return None


def _silu(value: Value) -> Value | None:
    """Return x * sigmoid(x) as one activation function."""
    if value.function == "multiply":
        for x, factor in (value.operands, value.operands[::-1]):
            if factor.function == "sigmoid" and factor.operands[0] is x:
                return replace(value, op="unary", function="silu", operands=(x,))
    return None


def _is_number(value: Value, number: float) -> bool:
    return value.op == "scalar" and value.number == number


def _spread(value: Value, shape: tuple[int, ...]) -> Value:
    """Return a scalar operand (of clamp, select) in the shape of the result."""
    if value.shape == shape:
        return value
    if value.op == "scalar":
        return replace(value, shape=shape)
    return Value("broadcast", value.name, value.dtype, shape, (value,))


def _constant(i: HloInstruction, dtype: str) -> Value:
    elements = np.frombuffer(i.literal, numpy_dtype(dtype))
    if elements.size and (elements == elements[0]).all():
        return Value("scalar", i.name, dtype, i.shape.dimensions, number=float(elements[0]))
    return Value("constant", i.name, dtype, i.shape.dimensions, data=i.literal)


def _dot(i: HloInstruction, dtype: str, operands: list[Value]) -> Value:
    for operand in operands:
        if "float" not in operand.dtype:
            raise _not_modelled(i, f"a product of {operand.dtype}")
        if operand.op == "scalar":
            raise _not_modelled(i, "a product with a constant")
    return Value("dot", i.name, dtype, i.shape.dimensions, tuple(operands), dot=i.dot)


def _reduce(module: HloModule, i: HloInstruction, dtype: str, operands: list[Value]) -> Value:
    called = module.computations[i.calls[0]]
    root = next(instruction for instruction in called.instructions if instruction.id == called.root)
    function = _BINARY.get(root.opcode, "")
    if len(operands) != 2 or function not in _REDUCE or len(called.instructions) != 3:
        raise _not_modelled(i, f"a reduction by {root.opcode}")
    start = operands[1]
    if start.op != "scalar":
        raise _not_modelled(i, "a reduction from a value that is not constant")
    shape = i.shape.dimensions
    value = Value("reduce", i.name, dtype, shape, (operands[0],), function=function, dimensions=i.dimensions)
    neutral = {"add": 0.0, "maximum": -math.inf, "minimum": math.inf}[function]
    if start.number == neutral:
        return value
    return _apply(function, i, dtype, shape, [value, replace(start, shape=shape)])


def _fuse_converts(results: Sequence[Value]) -> list[Value]:
    """Drop a conversion that costs nothing: engines compute in float32 and round when they write, so a conversion of a float32 result is no work of its own."""
    users: dict[Value, int] = {}

    def count(value: Value) -> None:
        users[value] = users.get(value, 0) + 1
        if users[value] == 1:
            for operand in value.operands:
                count(operand)

    for value in results:
        count(value)
    rebuilt: dict[Value, Value] = {}

    def rebuild(value: Value) -> Value:
        if value not in rebuilt:
            new = replace(value, operands=tuple(rebuild(operand) for operand in value.operands))
            if all(a is b for a, b in zip(new.operands, value.operands)):
                new = value
            if value.op == "convert":
                source = value.operands[0]
                if source.dtype == value.dtype:
                    new = new.operands[0]
                elif source.dtype == "float32" and users[source] == 1 and source.op in ("unary", "binary", "dot"):
                    new = replace(new.operands[0], dtype=value.dtype)
            rebuilt[value] = new
        return rebuilt[value]

    return [rebuild(value) for value in results]


def _dtype(i: HloInstruction) -> str:
    dtype = "uint8" if i.shape.dtype == "pred" else i.shape.dtype
    if dtype == "tuple":
        return dtype
    if dtype not in DTYPES:
        raise _not_modelled(i, f"element type {dtype}")
    return dtype


def _not_modelled(i: HloInstruction, what: str = "") -> CompileError:
    detail = f": {what}" if what else ""
    return CompileError(f"HLO {i.opcode} {i.name} {list(i.shape.dimensions)} is not modelled{detail}")
