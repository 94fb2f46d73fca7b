"""Declares the rules of launches, of what a kernel is called with, and of collectives."""

# fmt: off
import ast
from collections.abc import Callable, Iterator

from neff_bench.rules.declared.python_forms import PARSER, nodes, of_constant, within
from neff_bench.rules.judges import refusal, source
from neff_bench.rules.rule import rule
from neff_bench.rules.source import Source


def _grids(given: Source, dimensions: range) -> Iterator[ast.AST]:
    """Yield launches `kernel[...]` of a kernel of this file with a tuple of so many sizes."""
    kernels = {function.name for function in given.device}
    for node in given.of(ast.Call):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript) and isinstance(node.func.value, ast.Name) and node.func.value.id in kernels:
            if isinstance(node.func.slice, ast.Tuple) and len(node.func.slice.elts) in dimensions:
                yield node


def _numpy_dtypes(given: Source) -> Iterator[ast.AST]:
    """Yield arguments of launches of this file's kernels that are dtypes of numpy."""
    kernels = {function.name for function in given.device}
    for node in given.of(ast.Call):
        kernel = node.func.value if isinstance(node.func, ast.Subscript) else node.func
        if isinstance(kernel, ast.Name) and kernel.id in kernels:
            yield from (one for one in (*node.args, *(word.value for word in node.keywords)) if given.full(one).startswith(("numpy.float", "numpy.int", "numpy.uint", "numpy.bool")))


def _collective_tensors(given: Source, wrong: Callable[[ast.Call], bool]) -> Iterator[ast.AST]:
    """Yield Tensors that a function makes in a wrong way and hands to a collective."""
    if not any(full.startswith("nki.collectives.") for full in given.calls):
        return
    for function in given.device:
        made = {one.id: node.value for node in given.held(function, ast.Assign) if isinstance(node.value, ast.Call) and given.full(node.value.func) == "nki.language.ndarray" for one in node.targets if isinstance(one, ast.Name)}
        for node in given.held(function, ast.Call):
            if given.full(node.func).startswith("nki.collectives.") and not given.full(node.func).endswith("ReplicaGroup"):
                given_names = {one.id for word in (*node.args, *(one.value for one in node.keywords)) for one in ast.walk(word) if isinstance(one, ast.Name)}
                yield from (made[name] for name in sorted(given_names & made.keys()) if wrong(made[name]))


def _nameless(made: ast.Call) -> bool:
    return "hbm" in ast.unparse(made) and not any(word.arg == "name" for word in made.keywords)


def _in_private_hbm(made: ast.Call) -> bool:
    return any(ast.unparse(word).endswith((".hbm", ".private_hbm")) for word in (*made.args, *(one.value for one in made.keywords)))


rule("S450", "nl.matmul needs transpose_x=True", "transpose x, or nisa.nc_matmul", "notes", "D", source(lambda given: (node for node in given.calls.get("nki.language.matmul", ()) if not any(word.arg == "transpose_x" for word in node.keywords) and len(node.args) < 3)), since="2.29")
rule("D339", "this release knows no dtype of jax", "nl.float32 and the like", "notes", "D", source(lambda given: nodes(given, ast.Attribute, lambda node: given.full(node) in ("jax.numpy.float32", "jax.numpy.bfloat16", "jax.numpy.float16", "jax.numpy.int32"))), until="2.29")
rule("D342", "a kernel takes no dtype of numpy as an argument", "nl.float32 and the like", "parser nkilib", "FM", source(_numpy_dtypes), until=PARSER, says="numpy dtypes are not supported as arguments")
rule("L901", "a launch takes the number 1 or 2, not a tuple", "kernel[2]", "lnc harness", "DM", source(lambda given: _grids(given, range(2))), since="2.29", says="NKI only supports LNC 1 or 2, but got (2,)")
rule("L902", "a launch has one or two cores", "kernel[2], and a loop", "lnc", "DM", source(lambda given: (node for node in given.of(ast.Call) if isinstance(node.func, ast.Subscript) and isinstance(node.func.value, ast.Name) and node.func.value.id in {one.name for one in given.device} and of_constant(node.func.slice, int) and ast.unparse(node.func.slice) not in "12")), refusal(r"^lnc [3-9]\d* does not exist"), since="2.29", says="NKI only supports LNC 1 or 2")
rule("L903", "trn1 has launches of one core alone", "kernel[1]", "lnc codes", "D", refusal(r"^lnc 2 does not exist on (trn1|inf2)"), chips="trn1", says="NCC_EARG001")
rule("L906", "a launch has one dimension", "kernel[2]", "migration notes", "D", source(lambda given: _grids(given, range(2, 9))), since="2.29", says="NKI only supports LNC 1 or 2")
rule("C915", "nki.collectives.ReplicaGroup is made outside of the kernel", "make it at the top of the file", "collectives nkilib", "MC", source(lambda given: nodes(given, ast.Call, lambda node: given.full(node.func) == "nki.collectives.ReplicaGroup")))
rule("C918", "collectives of this release take no priority=", "leave it out", "stubs", "DA", source(lambda given: (node for full, nodes in given.calls.items() if full.startswith("nki.collectives.") for node in nodes if any(word.arg == "priority" for word in node.keywords))), until="2.29", says="unexpected keyword argument")
rule("C912", "the tensors of a collective in HBM have a name", "nl.ndarray(..., name=...)", "collectives", "M", source(lambda given: _collective_tensors(given, _nameless)), chips="trn2 trn3", says="NCC_IBIR440")
rule("C919", "no collective inside of a dynamic loop", "a loop of range", "loopcoll", "M", source(lambda given: within(given, lambda node, loop: isinstance(node, ast.Call) and given.full(node.func).startswith("nki.collectives."))), since="2.32")
rule("C914", "the tensors of a collective lie in nl.shared_hbm", "buffer=nl.shared_hbm", "collectives isa", "M", source(lambda given: _collective_tensors(given, _in_private_hbm)), chips="trn2 trn3", since="2.29")
