"""Holds the kernel of a stage, in the NKI dialect: it evaluates the stage's term tile by tile on one core."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.errors import CompileError
from neff_bench.simulator.hlo.core import Core
from neff_bench.simulator.hlo.dot import K_TILE, Span, multiply
from neff_bench.simulator.hlo.matrix import Matrix
from neff_bench.simulator.hlo.plan import Stage, Term, inside
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.program import PARTITIONS
from neff_bench.simulator.recording.recorder import recorder

MOVING = 512
"""Columns of the moving operand that one matmul takes."""
WIDE = 1024
"""Columns of a tile where no product limits it."""
BLOCK = 2048
"""Columns that are loaded, and stored, at once."""
WEIGHT_BLOCK_BYTES = 32 << 10
"""Bytes per partition of one block of weights."""
WORK_BYTES = 24 << 10
"""Bytes per partition for temporaries and for results on their way to HBM."""
ACTIVATIONS = ("exp", "log", "tanh", "sigmoid", "silu", "sqrt", "rsqrt", "sin", "erf", "abs", "sign")


class StageKernel:
    """Run once for each core with its share of rows and columns."""

    def __init__(self, stage: Stage, core: Core, rows: Span, cols: Span) -> None:
        self.root, self.target = stage.term, stage.target
        self.core, self.rows, self.cols = core, rows, cols
        self.hbm, self.pool = core.hbm, core.pool
        pool = core.pool
        terms = list(inside(stage.term))
        self.keep = _kept(terms, stage.term, pool.sbuf_bytes // 4)
        self.unit = min((t.rows // t.batch for t in terms if t.kind == "dot" and t.batch > 1), default=stage.term.rows)
        dots = len({t.matrix for t in terms if t.kind == "dot"})
        # Two blocks of each product's weights, one in use and one being loaded, take half of SBUF at most.
        self.block_bytes = min(WEIGHT_BLOCK_BYTES, pool.sbuf_bytes // (4 * max(1, dots)))
        self.weights_stay = _weight_bytes(terms) <= pool.sbuf_bytes // 2
        self.group = _group(
            terms,
            self.keep,
            pool.sbuf_bytes,
            _weight_bytes(terms) if self.weights_stay else 2 * self.block_bytes * dots,
        )
        self.kept: dict[tuple[Term, int], Any] = {}
        self.stationaries: dict[tuple[Term, int], Any] = {}
        self.columns: dict[tuple[Term, int], Any] = {}
        self.weights: dict[tuple[Matrix, int, int, int], Any] = {}
        self.step: dict[tuple[Term, int, int], Any] = {}
        self.temporaries: list[Any] = []
        self.block: Span = (0, 0)

    def run(self) -> None:
        """Record the instructions of the core's share of the stage, each under the name of its HLO instruction."""
        with self._named(self.root):
            self._run()

    def _named(self, term: Term) -> AbstractContextManager[None]:
        return recorder().at(self.core.texts.get(term.value.name, ""))

    def _run(self) -> None:
        tiles = list(_row_tiles(*self.rows, self.unit))
        for start in range(0, len(tiles), self.group):
            group = tiles[start : start + self.group]
            for term in self.keep:
                for row in group:
                    self.kept[term, row[0]] = self.pool.sbuf((term.cols,), term.dtype)
                for block in spans(0, term.cols, self.block_width(term)):
                    for row in group:
                        self._fill(term, row, block, self.kept[term, row[0]], block[0])
            width = self.block_width(self.root)
            for block in spans(*self.cols, width):
                for row in group:
                    self._store(row, block, width)
            self._release(self.kept, self.stationaries, self.columns)
        self._release(self.weights)

    def _release(self, *memos: dict[Any, Any]) -> None:
        for memo in memos:
            for tile in memo.values():
                self.pool.release(tile)
            memo.clear()

    def _store(self, row: Span, block: Span, width: int) -> None:
        (r, height), (c, columns) = row, block
        buffer = self.pool.sbuf((width,), "float32" if self._is_one_tile else self.root.dtype)
        self._fill(self.root, row, block, buffer, 0)
        target, tensor = self.target, self.hbm[self.target.base]
        for at, part, place, width, offset in target.pieces(r, height, c, columns):
            destination = tensor.ap(pattern=[[target.row_stride, part], [target.col_stride, width]], offset=offset)
            self.core.store(destination, buffer[at : at + part, place : place + width])
        self.pool.release(buffer)

    @property
    def _is_one_tile(self) -> bool:
        """A product of one tile leaves PSUM in float32 and is rounded by the store (inf2 up to N=512, and the NEFF of trn2)."""
        return self.root.kind == "dot" and self.root.rows <= PARTITIONS and self.root.cols <= MOVING

    def _fill(self, term: Term, row: Span, block: Span, buffer: Any, at: int) -> None:
        self.block = block
        for c, width in spans(*block, self._tile_width(term)):
            place = at + c - block[0]
            self.tile(term, row, (c, width), buffer[: row[1], place : place + width])
            self._forget(0, set())

    def block_width(self, term: Term) -> int:
        """Return the columns of `term` to evaluate before moving on to the next ones: as many as its blocks of weights hold."""
        return min((self._weight_block(t) for t in _near(term) if t.kind == "dot"), default=BLOCK)

    def _tile_width(self, term: Term) -> int:
        return min(MOVING, self.block_width(term)) if any(t.kind == "dot" for t in _near(term)) else WIDE

    def _weight_block(self, term: Term) -> int:
        dtype = term.matrix.dtype if term.matrix else term.dtype
        bytes_per_column = -(-term.terms[0].cols // K_TILE) * SIZE_BYTES[dtype]
        return max(K_TILE, min(BLOCK, self.block_bytes // bytes_per_column // K_TILE * K_TILE))

    def _forget(self, temporaries: int, known: set[tuple[Term, int, int]]) -> None:
        """Release the temporaries after the first `temporaries`, and all tiles found but `known`."""
        for tile in self.temporaries[temporaries:]:
            self.pool.release(tile)
        del self.temporaries[temporaries:]
        for key in self.step.keys() - known:
            del self.step[key]

    def tile(self, term: Term, row: Span, col: Span, into: Any = None) -> Any:
        """Return the tile [rows, cols] of a term, in `into` where that is given; else in SBUF or PSUM."""
        (r, height), (c, width) = row, col
        found = self.step.get((term, r, c))
        if found is None and into is None and (term, r) in self.kept and term.cols >= c + width:
            found = self.kept[term, r][:height, c : c + width]
        if found is None or (into is not None and term.kind == "load" and (term, r) not in self.kept):
            found = self._evaluate(term, row, col, into)
            self.step[term, r, c] = found
        if into is not None and found is not into:
            nisa.tensor_copy(dst=into, src=found)
            return into
        return found

    def _evaluate(self, term: Term, row: Span, col: Span, into: Any) -> Any:
        if term.kind == "load":
            # Its DMAs belong to the HLO instruction that uses it.
            return self.load(term, row, col, into if into is not None else self.temporary(term.dtype, row, col))
        with self._named(term):
            return self._product(term, row, col, into) if term.kind == "dot" else self._result(term, row, col, into)

    def _product(self, term: Term, row: Span, col: Span, into: Any) -> Any:
        product = multiply(self, term, row, col)
        if into is None and term.dtype != "float32":
            into = self.temporary(term.dtype, row, col)
        if into is None:
            return product
        self.core.evict(into, product)
        return into

    def _result(self, term: Term, row: Span, col: Span, into: Any) -> Any:
        out = into if into is not None else self.temporary(term.dtype, row, col)
        if term.kind == "column":
            nisa.tensor_copy(dst=out, src=self.column(term, row).broadcast(1, col[1]))
        elif term.kind == "scalar":
            nisa.memset(dst=out, value=term.number)
        elif term.kind == "convert":
            nisa.tensor_copy(dst=out, src=self.tile(term.terms[0], row, col))
        elif term.kind == "unary":
            self._unary(term, row, col, out)
        elif term.kind == "binary":
            self._binary(term, row, col, out)
        elif term.kind == "select":
            self._select(term, row, col, out)
        else:
            self._reduce(term, row, out)
        return out

    def temporary(self, dtype: str, row: Span, col: Span) -> Any:
        """Return an SBUF tile that lives until the current tile of the result is done."""
        # One size for all widths up to a full tile, so that edge tiles reuse the memory of whole ones.
        width = MOVING if col[1] <= MOVING else WIDE
        tile = self.pool.sbuf((width,), dtype)
        self.temporaries.append(tile)
        return tile[: row[1], : col[1]]

    def column(self, term: Term, row: Span) -> Any:
        """Return the float32 column [rows, 1] that a column term repeats."""
        key = (term.terms[0], row[0])
        if key not in self.columns:
            tile = self.pool.sbuf((1,), "float32")
            source = self.tile(term.terms[0], row, (0, 1))
            nisa.tensor_copy(dst=tile[: row[1], :], src=source)
            self.columns[key] = tile
        return self.columns[key][: row[1], :]

    def load(self, term: Term, row: Span, col: Span, out: Any) -> Any:
        """Record the DMAs that bring rows and columns of a load term from HBM into `out`, which is returned."""
        matrix = term.matrix
        if matrix is None:
            raise CompileError(f"HLO {term.value.name}: a load without a place in HBM")
        for r, height, c, width, offset in matrix.pieces(*row, *col):
            pattern = [[matrix.row_stride, height], [matrix.col_stride, width]]
            source = self.hbm[matrix.base].ap(pattern=pattern, offset=offset)
            self.core.load(out[r : r + height, c : c + width], source)
        return out

    def _unary(self, term: Term, row: Span, col: Span, out: Any) -> None:
        data = self.tile(term.terms[0], row, col)
        if term.function == "negative":
            nisa.tensor_scalar(dst=out, data=data, op0="multiply", operand0=-1.0)
        elif term.function == "not":
            nisa.tensor_scalar(dst=out, data=data, op0="equal", operand0=0.0)
        elif term.function in ACTIVATIONS:
            nisa.activation(dst=out, op=term.function, data=data)
        else:
            raise CompileError(f"HLO {term.value.name}: {term.function} is not modelled")

    def _binary(self, term: Term, row: Span, col: Span, out: Any) -> None:
        first, second = term.terms
        if first.kind in ("scalar", "column") and second.kind not in ("scalar", "column"):
            data, operand, reverse = second, first, True
        elif second.kind in ("scalar", "column"):
            data, operand, reverse = first, second, False
        else:
            data1, data2 = self.tile(first, row, col), self.tile(second, row, col)
            nisa.tensor_tensor(dst=out, data1=self._from_sbuf(data1, data2, row, col), data2=data2, op=term.function)
            return
        number = operand.number if operand.kind == "scalar" else self.column(operand, row)
        tile = self.tile(data, row, col)
        nisa.tensor_scalar(dst=out, data=tile, op0=term.function, operand0=number, reverse0=reverse)

    def _from_sbuf(self, data1: Any, data2: Any, row: Span, col: Span) -> Any:
        """Return `data1`, copied where both operands are in PSUM, which the vector engine cannot read at once."""
        if not (_in_psum(data1) and _in_psum(data2)):
            return data1
        copy = self.temporary(data1.dtype, row, col)
        nisa.tensor_copy(dst=copy, src=data1)
        return copy

    def _select(self, term: Term, row: Span, col: Span, out: Any) -> None:
        predicate, on_true, on_false = term.terms
        if on_false.kind == "scalar":
            nisa.memset(dst=out, value=on_false.number)
        else:
            nisa.tensor_copy(dst=out, src=self.tile(on_false, row, col))
        source = on_true.number if on_true.kind == "scalar" else self.tile(on_true, row, col)
        nisa.tensor_copy_predicated(dst=out, src=source, predicate=self.tile(predicate, row, col))

    def _reduce(self, term: Term, row: Span, out: Any) -> None:
        (source,) = term.terms
        if (source, row[0]) in self.kept:
            data = self.tile(source, row, (0, source.cols))
            nisa.tensor_reduce(dst=out, op=term.function, data=data, axis=1)
            return
        partial = self.pool.sbuf((-(-source.cols // K_TILE),), "float32")
        self.temporaries.append(partial)
        held, known, outer, count = len(self.temporaries), set(self.step), self.block, 0
        for block in spans(0, source.cols, self.block_width(source)):
            self.block = block
            for part in spans(*self.block, self._tile_width(source)):
                data = self.tile(source, row, part)
                nisa.tensor_reduce(dst=partial[: row[1], count : count + 1], op=term.function, data=data, axis=1)
                self._forget(held, known)
                count += 1
        self.block = outer
        nisa.tensor_reduce(dst=out, op=term.function, data=partial[: row[1], :count], axis=1)


def spans(start: int, size: int, width: int) -> Iterator[Span]:
    """Yield the range in parts of at most `width`."""
    for at in range(start, start + size, width):
        yield at, min(width, start + size - at)


def _row_tiles(start: int, size: int, unit: int) -> Iterator[Span]:
    """Yield rows in tiles of at most 128 that do not cross a multiple of `unit`."""
    end = start + size
    while start < end:
        height = min(PARTITIONS, end - start, unit - start % unit)
        yield start, height
        start += height


def _near(term: Term) -> set[Term]:
    """Return the terms evaluated with the same columns as `term`: not below a product's left operand or a reduction."""
    found: set[Term] = set()
    waiting = [term]
    while waiting:
        t = waiting.pop()
        if t not in found:
            found.add(t)
            waiting += t.terms if t.kind not in ("dot", "reduce", "column") else ()
    return found


def _weight_bytes(terms: list[Term]) -> int:
    """Return the bytes per partition of all weights of a stage."""
    total = 0
    for matrix, term in {t.matrix: t for t in terms if t.kind == "dot" and t.matrix}.items():
        total += (
            -(-term.terms[0].cols // K_TILE) * -(-term.cols // K_TILE) * K_TILE * term.batch * SIZE_BYTES[matrix.dtype]
        )
    return total


def _kept(terms: list[Term], root: Term, longest_bytes: int) -> list[Term]:
    """Return the terms whose rows, up to `longest_bytes`, stay in SBUF: left operands of products, and what a reduction and something else both use."""
    uses: dict[Term, list[str]] = {}
    for term in terms:
        for operand in term.terms:
            uses.setdefault(operand, []).append(term.kind)
    kept = []
    for term, kinds in uses.items():
        across = [kind for kind in kinds if kind in ("dot", "reduce")]
        shared = len(set(kinds)) > 1 or (len(kinds) > 1 and "reduce" in kinds)
        if term is root or term.kind in ("scalar", "column"):
            continue
        fits = term.cols * SIZE_BYTES[term.dtype] <= longest_bytes
        if (across and shared and fits) or ("dot" in kinds and term.kind != "load"):
            kept.append(term)
    return [term for term in terms if term in kept]


def _group(terms: list[Term], keep: list[Term], sbuf_bytes: int, weights: int) -> int:
    """Return the row tiles evaluated together, so that a block of weights is loaded once for all of them."""
    each = sum(t.cols * SIZE_BYTES[t.dtype] for t in keep)
    left = {t.terms[0] for t in terms if t.kind == "dot"}
    each += sum(-(-t.cols // K_TILE) * PARTITIONS * SIZE_BYTES[t.dtype] for t in left)
    passing = 2 * max((t.cols * SIZE_BYTES[t.dtype] for t in left), default=0) + WORK_BYTES
    free = sbuf_bytes - weights - passing
    return max(1, min(64, free // each)) if each else 4


def _in_psum(tile: Any) -> bool:
    return str(tile.storage.memory) == "psum"
