"""The mutants of a file: one wrong thing each, of the kind that somebody writes by mistake."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "*", ast.LShift: ">>", ast.RShift: "<<",
    ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip
_OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}


class Mutant(NamedTuple):
    """What stands at `start` to `end` (bytes of the file) becomes `new`. `first`, `last`: the lines of the statement. `once`: it runs once in a process, at import or in a
    function whose results are kept, so that other tests than the one that ran it may notice."""

    path: str
    kind: str
    start: int
    end: int
    old: str
    new: str
    line: int
    first: int
    last: int
    once: bool

    def place(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]

    def text(self, root: Path) -> str:
        """Return the line as it stands in the file."""
        return (root / self.path).read_text(encoding="utf-8").splitlines()[self.line - 1].strip()

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {one_line(self.old)} -> {one_line(self.new)}"


def one_line(text: str) -> str:
    return " ".join(text.split())


def mutants(path: str, source: bytes) -> list[Mutant]:
    """Return all mutants of a Python file, in the order of the file."""
    return list(_Finder(path, source).found())


class _Finder:
    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source = path, source
        self.begins = [0]
        for line in source.splitlines(keepends=True):
            self.begins.append(self.begins[-1] + len(line))

    def found(self) -> Iterator[Mutant]:
        yield from self._inside(ast.parse(self.source), 1, 1, True)

    def _inside(self, node: ast.AST, first: int, last: int, once: bool) -> Iterator[Mutant]:
        """Yield the mutants of a node. `first`, `last`: the lines of the simple statement, or of the head of the compound one, around the node."""
        if isinstance(node, ast.stmt):
            first, last = node.lineno, _end_of_head(node)
        if isinstance(node, ast.expr):
            for kind, part, new in self._changes(node):
                start, end = self._span(part)
                old = self.source[start:end].decode()
                if old != new:
                    yield Mutant(self.path, kind, start, end, old, new, part.lineno, first, last, once)
        for child in _mutable(node):
            yield from self._inside(child, first, last, once and not _is_repeated(node, child))

    def _changes(self, node: ast.expr) -> Iterator[tuple[str, ast.expr, str]]:
        """Yield (kind, the expression that is replaced, by what)."""
        text = self._text
        match node:
            case ast.Constant(value=bool() as value):
                yield "constant", node, str(not value)
            case ast.Constant(value=int() as value):
                yield "constant", node, str(value + 1)
            case ast.Constant(value=float() as value):
                yield "constant", node, repr(value * 1.1 if value else 1.0)
            case ast.Compare(left=left, ops=ops, comparators=rights):
                for before, op, after in zip([left, *rights], ops, rights, strict=False):
                    for new in _COMPARISONS[type(op)]:
                        yield "comparison", node, self._with_sign(node, before, after, _sign(op), new)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS and not _is_text(left, right):
                yield "operator", node, self._with_sign(node, left, right, _operator(op), _OPERATORS[type(op)])
            case ast.BoolOp(op=op, values=values):
                word = " and " if isinstance(op, ast.And) else " or "
                for dropped in values:
                    rest = (f"({text(value)})" for value in values if value is not dropped)
                    yield "dropped condition", node, f"({word.join(rest)})"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield "dropped condition", node, f"bool({text(operand)})"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                yield "operator", node, f"({text(operand)})"
            case ast.IfExp(body=body, orelse=other):
                yield "dropped condition", node, f"({text(body)})"
                yield "dropped condition", node, f"({text(other)})"
            case ast.Call(func=ast.Name(id=name) as func) if name in _OPPOSITES:
                yield "swapped function", func, _OPPOSITES[name]
            case ast.Call(args=[one, two, *_]) if not any(isinstance(argument, ast.Starred) for argument in (one, two)):
                (start, after_one), (two_at, after_two) = self._span(one), self._span(two)
                parts = (self._span(node)[0], start), (two_at, after_two), (after_one, two_at), (start, after_one)
                parts += ((after_two, self._span(node)[1]),)
                yield "swapped arguments", node, "".join(self.source[at:end].decode() for at, end in parts)

    def _with_sign(self, node: ast.expr, left: ast.expr, right: ast.expr, sign: str, new: str) -> str:
        """Return the text of a node whose operator between two operands is another. Parentheses around the operands stay."""
        (begin, end), at, to = self._span(node), self._span(left)[1], self._span(right)[0]
        between = self.source[at:to].decode().replace(sign, new, 1)
        return self.source[begin:at].decode() + between + self.source[to:end].decode()

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None  # noqa: S101 - of a parsed file they are there
        return self.begins[node.lineno - 1] + node.col_offset, self.begins[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr) -> str:
        start, end = self._span(node)
        return self.source[start:end].decode()


def _mutable(node: ast.AST) -> Iterator[ast.AST]:
    """Children whose change changes what the program does: no annotations, no text, no decorators."""
    if isinstance(node, ast.JoinedStr):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_silent(node, child):
                yield child


def _is_silent(node: ast.AST, child: ast.AST) -> bool:
    """Return whether no run shows a change: whether the garbage collector looks at rows, whether somebody could change one, whether zip counts what is
    equally long."""
    if not isinstance(child, ast.keyword):
        return False
    if isinstance(node, ast.ClassDef):
        return child.arg in ("gc", "frozen")
    return child.arg == "strict" and isinstance(node, ast.Call) and ast.unparse(node.func) == "zip"


def _is_repeated(node: ast.AST, child: ast.AST) -> bool:
    """Return whether a child is what a function does each time. Its defaults are computed where it is made."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or child is node.args:
        return False
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return not any(ast.unparse(one).split("(")[0] in ("cache", "lru_cache") for one in decorators)


def _end_of_head(node: ast.stmt) -> int:
    body = getattr(node, "body", None)
    if body and isinstance(body, list):
        return max(node.lineno, body[0].lineno - 1)
    return node.end_lineno or node.lineno


def _sign(op: ast.cmpop) -> str:
    return ast.unparse(ast.Compare(ast.Name("a"), [op], [ast.Name("b")]))[2:-2]


def _operator(op: ast.operator) -> str:
    return ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b")))[2:-2]


def _is_text(*nodes: ast.expr) -> bool:
    """Return whether one of them is written as text."""
    return any(
        isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str | bytes) for node in nodes
    )
