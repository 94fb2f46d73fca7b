"""Plans a graph: which values are computed tile by tile on the way to another, and which are written to HBM.

Every computed value is a matrix (rows, cols). Rows are independent of each other in elementwise operations, in products and in reductions over columns,
so one pass over row tiles, a *stage*, can evaluate a whole chain of them. Its result goes to HBM, where a later stage may read it in any shape.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.errors import CompileError
from neff_bench.simulator.hlo.graph import Graph, Value
from neff_bench.simulator.hlo.matrix import Matrix, View, contiguous

COMPUTED = ("unary", "binary", "select", "convert", "dot", "reduce")
MAX_CONTRACTION_BYTES = 16 << 10
"""A longer contraction (K x bytes of an element) is summed in parts, so that both operands of a part fit in SBUF."""
FEW_ROWS = 256
"""Below this, two cores share a product by columns, each reading half of the weights."""
SPLIT_WEIGHT_BYTES = 4 << 20
"""Weights from which sharing by columns also pays for exchanging an intermediate value through HBM."""


@dataclass(frozen=True, eq=False)
class Term:
    """One matrix to evaluate. `kind`: load, scalar, column (one column repeated), unary, binary, select, convert,
    dot or reduce. A dot multiplies, for each of `batch` blocks of rows, `terms[0]` [rows/batch, K] with `matrix`
    [K, cols] (batch x K rows in all)."""

    kind: str
    value: Value
    dtype: str
    rows: int
    cols: int
    terms: tuple[Term, ...] = ()
    function: str = ""
    number: float = 0.0
    matrix: Matrix | None = None
    batch: int = 1


@dataclass(frozen=True, eq=False)
class Stage:
    """Evaluates `term` and writes it to `target`, a matrix in the tensor `target.base`. `by_columns`: how cores share it."""

    term: Term
    target: Matrix
    by_columns: bool = False


@dataclass(frozen=True)
class Plan:
    """`results[n]`: the tensor that holds output n. `constants`: tensors that must be in HBM from the start."""

    stages: tuple[Stage, ...]
    results: tuple[Value, ...]
    constants: tuple[Value, ...]


def make_plan(graph: Graph, lnc: int) -> Plan:
    """Return the stages of a graph. Raises `CompileError` naming an HLO operation whose operands cannot be laid out."""
    spilled: set[Value] = set()
    while True:
        planner = _Planner(spilled)
        results = tuple(planner.result(value) for value in graph.results)
        more = _shared(planner.stages) | (_column_spills(planner.stages) if lnc > 1 else set())
        if more <= spilled:
            stages = tuple(replace(s, by_columns=lnc > 1 and _by_columns(s.term, lnc)) for s in planner.stages)
            return Plan(stages, results, tuple(planner.constants))
        spilled |= more


class _Planner:
    def __init__(self, spilled: set[Value]) -> None:
        self.spilled = spilled
        self.stages: list[Stage] = []
        self._terms: dict[Value, Term] = {}
        self._loads: dict[tuple[Value, Matrix], Term] = {}
        self._bases: set[Value] = set()
        self.constants: dict[Value, None] = {}

    def result(self, value: Value) -> Value:
        if self._is_computed(value) and value not in self._bases:
            return self._store(value)
        if value.op == "concatenate" and value not in self._bases:
            self._concatenate(value)
            return value
        # A result that is an input, a view, or given twice is a copy of its own.
        copy = replace(value)
        rows, cols = _default_domain(value.shape)
        self._write(self._operand(value, rows, cols), copy)
        return copy

    def _write(self, term: Term, base: Value) -> None:
        """Add a stage whose result is all of `base`, row-major."""
        target = contiguous(base, base.dtype, base.shape).matrix(term.rows, term.cols)
        if target is None:
            raise CompileError(f"HLO {base.op} {base.name}: result layout is not modelled")
        self.stages.append(Stage(term, target))

    def _store(self, value: Value) -> Value:
        if value not in self._bases:
            term = self._compute(value)
            self._bases.add(value)
            self._write(term, value)
        return value

    def _concatenate(self, value: Value) -> None:
        """Add a stage for each operand, which writes its slice of the result."""
        (along,) = value.dimensions
        self._bases.add(value)
        start = 0
        for operand in value.operands:
            limits = [(0, size, 1) for size in operand.shape]
            limits[along] = (start, start + operand.shape[along], 1)
            start += operand.shape[along]
            part = contiguous(value, value.dtype, value.shape).slice(tuple(limits))
            term = self._term(operand) if self._is_computed(operand) else None
            target = part.matrix(term.rows, term.cols) if term else None
            if term is None or target is None:
                rows, cols = _default_domain(operand.shape)
                term, target = self._operand(operand, rows, cols), part.matrix(rows, cols)
            if target is None:
                raise CompileError(f"HLO concatenate {value.name}: result layout is not modelled")
            self.stages.append(Stage(term, target))

    def _is_computed(self, value: Value) -> bool:
        if value.op == "reshape":
            return value not in self._bases and self._is_computed(value.operands[0])
        return value.op in COMPUTED

    def _view(self, value: Value) -> View:
        """Return the value in HBM."""
        if value.op == "constant":
            self.constants[value] = None
        if value.op in ("parameter", "constant") or value in self._bases:
            return contiguous(value, value.dtype, value.shape)
        if value.op == "scalar":
            raise CompileError(f"HLO {value.name}: a constant as this operand is not modelled")
        if value.op in COMPUTED:
            return contiguous(self._store(value), value.dtype, value.shape)
        if value.op == "concatenate":
            self._concatenate(value)
            return contiguous(value, value.dtype, value.shape)
        source = self._view(value.operands[0])
        if value.op == "transpose":
            return source.permute(value.dimensions)
        if value.op == "broadcast":
            return source.broadcast(value.shape, value.dimensions)
        if value.op == "slice":
            return source.slice(value.slices)
        return source.reshape(value.shape) or self._copy(value.operands[0]).reshape(value.shape) or source

    def _copy(self, value: Value) -> View:
        """Return a view that cannot be reshaped, written out in row-major order."""
        if value not in self._bases:
            rows, cols = _default_domain(value.shape)
            term = self._load(value, self._view(value), rows, cols)
            self._bases.add(value)
            self._write(term, value)
        return contiguous(value, value.dtype, value.shape)

    def _term(self, value: Value) -> Term:
        """Return the value as a term of the stage that uses it."""
        if value in self._bases or value in self.spilled:
            rows, cols = _default_domain(value.shape)
            return self._load(value, self._view(value), rows, cols)
        return self._compute(value)

    def _compute(self, value: Value) -> Term:
        if value not in self._terms:
            build = {"reshape": self._reshape, "dot": self._dot, "reduce": self._reduce}
            self._terms[value] = build.get(value.op, self._elementwise)(value)
        return self._terms[value]

    def _operand(self, value: Value, rows: int, cols: int) -> Term:
        """Return the value as a matrix of rows x cols, through HBM where it has another layout."""
        if value.op == "scalar":
            return Term("scalar", value, value.dtype, rows, cols, number=value.number)
        if value.op == "broadcast":
            column = self._column(value, rows, cols)
            if column is not None:
                return column
        if self._is_computed(value) and value not in self.spilled:
            term = self._term(value)
            if (term.rows, term.cols) == (rows, cols):
                return term
        return self._load(value, self._view(value), rows, cols)

    def _load(self, value: Value, view: View, rows: int, cols: int) -> Term:
        matrix = view.matrix(rows, cols) or self._copy(value).matrix(rows, cols)
        if matrix is None:
            raise CompileError(f"HLO {value.op} {value.name}: operand layout is not modelled")
        return self._read(value, matrix, rows, cols)

    def _read(self, value: Value, matrix: Matrix, rows: int, cols: int) -> Term:
        if (value, matrix) not in self._loads:
            self._loads[value, matrix] = Term("load", value, value.dtype, rows, cols, matrix=matrix)
        return self._loads[value, matrix]

    def _column(self, value: Value, rows: int, cols: int) -> Term | None:
        """Return a broadcast of one number per row along the columns, which engines do for free."""
        source = value.operands[0]
        mapped = [target for own, target in enumerate(value.dimensions) if source.shape[own] > 1]
        leading = mapped[-1] + 1 if mapped else 0
        if source.size != rows or math.prod(value.shape[:leading]) != rows or not self._is_computed(source):
            return None
        inner = self._operand(source, rows, 1)
        return Term("column", value, value.dtype, rows, cols, (inner,))

    def _reshape(self, value: Value) -> Term:
        return self._term(value.operands[0])

    def _elementwise(self, value: Value) -> Term:
        rows, cols = self._domain(value)
        terms = tuple(self._operand(operand, rows, cols) for operand in value.operands)
        return Term(value.op, value, value.dtype, rows, cols, terms, value.function)

    def _domain(self, value: Value) -> tuple[int, int]:
        for operand in value.operands:
            if self._is_computed(operand) and operand not in self.spilled:
                term = self._term(operand)
                return term.rows, term.cols
        return _default_domain(value.shape)

    def _reduce(self, value: Value) -> Term:
        (source,) = value.operands
        kept = tuple(d for d in range(len(source.shape)) if d not in value.dimensions)
        order = kept + tuple(value.dimensions)
        rows = math.prod(source.shape[d] for d in kept)
        cols = source.size // rows
        operand = self._ordered(source, order, rows, cols)
        return Term("reduce", value, value.dtype, rows, 1, (operand,), value.function)

    def _ordered(self, value: Value, order: tuple[int, ...], rows: int, cols: int) -> Term:
        """Return the value with its dimensions in an order, as a matrix."""
        if _in_order(order, value.shape):
            return self._operand(value, rows, cols)
        return self._read(value, self._as_matrix(value, order, rows, cols), rows, cols)

    def _dot(self, value: Value) -> Term:
        lhs, rhs = value.operands
        numbers = value.dot
        if numbers is None:
            raise CompileError(f"HLO dot {value.name} has no dimension numbers")
        k = math.prod(lhs.shape[d] for d in numbers.lhs_contracting)
        batch = math.prod(lhs.shape[d] for d in numbers.lhs_batch)
        rows, cols = lhs.size // k, rhs.size // k // batch
        left = _free(lhs, numbers.lhs_batch, numbers.lhs_contracting)
        lhs_order = numbers.lhs_batch + left + numbers.lhs_contracting
        right = _free(rhs, numbers.rhs_batch, numbers.rhs_contracting)
        rhs_order = numbers.rhs_batch + numbers.rhs_contracting + right
        matrix = self._as_matrix(rhs, rhs_order, batch * k, cols)
        operand = self._ordered(lhs, lhs_order, rows, k)
        limit = MAX_CONTRACTION_BYTES // SIZE_BYTES[rhs.dtype]
        if k <= limit:
            return Term("dot", value, value.dtype, rows, cols, (operand,), matrix=matrix, batch=batch)
        return self._long_dot(value, operand, matrix, batch, limit)

    def _long_dot(self, value: Value, operand: Term, matrix: Matrix, batch: int, limit: int) -> Term:
        """Return the sum of products over parts of a long contraction; partial sums pass through HBM in float32."""
        if batch > 1 or operand.kind != "load" or operand.matrix is None:
            operand = self._load(value.operands[0], self._view(value.operands[0]), operand.rows, operand.cols)
        lhs = operand.matrix
        if batch > 1 or lhs is None or len(lhs.cols) > 1 or len(matrix.rows) > 1:
            raise CompileError(f"HLO dot {value.name}: a contraction of {operand.cols} in this layout is not modelled")
        total: Term | None = None
        for start in range(0, operand.cols, limit):
            k = min(limit, operand.cols - start)
            left = replace(lhs, offset=lhs.offset + start * lhs.col_stride, cols=((k, lhs.col_stride),))
            right = replace(matrix, offset=matrix.offset + start * matrix.row_stride, rows=((k, matrix.row_stride),))
            source = replace(operand, matrix=left, cols=k)
            last = start + k == operand.cols
            dtype = value.dtype if last else "float32"
            partial = replace(value, dtype=dtype)
            term = Term("dot", partial, "float32", operand.rows, matrix.width, (source,), matrix=right)
            if total is not None:
                term = Term("binary", partial, dtype, term.rows, term.cols, (term, total), "add")
            if last:
                return term
            self._bases.add(partial)
            self._write(term, partial)
            total = self._load(partial, contiguous(partial, "float32", value.shape), term.rows, term.cols)
        raise AssertionError("unreachable: a contraction has at least one part")

    def _as_matrix(self, value: Value, order: tuple[int, ...], rows: int, cols: int) -> Matrix:
        view = self._view(value).permute(order)
        matrix = view.matrix(rows, cols)
        if matrix is None:
            raise CompileError(f"HLO {value.op} {value.name}: operand layout is not modelled")
        return matrix


def inside(term: Term) -> Iterator[Term]:
    """Yield the term and all below it, operands before users, each once."""
    seen: set[Term] = set()

    def walk(t: Term) -> Iterator[Term]:
        if t not in seen:
            seen.add(t)
            for operand in t.terms:
                yield from walk(operand)
            yield t

    return walk(term)


def has_dot(term: Term) -> bool:
    """Return whether a term contains a product."""
    return any(t.kind == "dot" for t in inside(term))


def _by_columns(term: Term, lnc: int) -> bool:
    nested = any(t.kind in ("dot", "reduce") and has_dot(t.terms[0]) for t in inside(term))
    return has_dot(term) and not nested and term.rows < FEW_ROWS and term.cols >= 2 * lnc * 32


def _column_spills(stages: list[Stage]) -> set[Value]:
    """Return the left operands to pass through HBM, so that cores can share products of few rows by columns."""
    spills: set[Value] = set()
    for stage in stages:
        dots = [t for t in inside(stage.term) if t.kind == "dot"]
        weights = sum(t.terms[0].cols * t.batch * t.cols * SIZE_BYTES[t.matrix.dtype] for t in dots if t.matrix)
        if stage.term.rows < FEW_ROWS and weights >= SPLIT_WEIGHT_BYTES:
            spills |= {t.terms[0].value for t in dots if has_dot(t.terms[0])}
    return spills


def _shared(stages: list[Stage]) -> set[Value]:
    """Return values with a product that more than one stage would compute again."""
    users: dict[Value, set[int]] = {}
    for number, stage in enumerate(stages):
        for term in inside(stage.term):
            users.setdefault(term.value, set()).add(number)
    again: set[Value] = set()
    for stage in stages:
        for term in inside(stage.term):
            for operand in term.terms:
                mine = users[operand.value]
                if len(mine) > 1 and mine != users[term.value] and operand.kind != "load" and has_dot(operand):
                    again.add(operand.value)
    return again


def _free(value: Value, batch: tuple[int, ...], contracting: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(d for d in range(len(value.shape)) if d not in batch and d not in contracting)


def _in_order(order: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    wide = [d for d in order if shape[d] > 1]
    return wide == sorted(wide)


def _default_domain(shape: tuple[int, ...]) -> tuple[int, int]:
    return math.prod(shape[:-1]), shape[-1] if shape else 1
