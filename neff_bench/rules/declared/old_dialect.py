"""Declares what the compiler of the old dialect refuses beside what the chip refuses: AWS's list of its errors has it."""

# fmt: off
import ast
from collections.abc import Callable, Iterator

from neff_bench.rules.declared.python_forms import tile_names
from neff_bench.rules.judges import refusal
from neff_bench.rules.rule import OfSource, rule
from neff_bench.rules.source import Source


def _in_each(find: Callable[[Source, ast.FunctionDef], Iterator[tuple[ast.AST, str]]]) -> OfSource:
    return OfSource(lambda given: (found for function in given.device for found in find(given, function)))


def _flat_indices(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """Yield `tile[i, 0]` where `i` is nl.arange(...) of one dimension."""
    made = [node for node in given.held(function, ast.Assign) if isinstance(node.value, ast.Call) and given.full(node.value.func) == "nki.language.arange"]
    flat = {one.id for node in made for one in node.targets if isinstance(one, ast.Name)}
    for node in given.held(function, ast.Subscript):
        words = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if not (isinstance(node.value, ast.Name) and node.value.id in flat):
            yield from ((word, word.id) for word in words if isinstance(word, ast.Name) and word.id in flat)


def _out_of_scope(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """Yield tiles that are made inside of a loop of nki alone, and are read behind it."""
    loops = [node for node in given.held(function, ast.For) if isinstance(node.iter, ast.Call) and given.full(node.iter.func).startswith("nki.language.")]
    names = [(node, {id(loop) for loop in loops if loop.lineno <= node.lineno <= (loop.end_lineno or 0)}) for node in given.held(function, ast.Name)]
    for name in sorted(tile_names(given, function)):
        made = [(node.lineno, around) for node, around in names if node.id == name and isinstance(node.ctx, ast.Store)]
        for node, around in names:
            before = [one for line, one in made if line <= node.lineno]
            if node.id == name and isinstance(node.ctx, ast.Load) and before and not any(one <= around for one in before):
                yield node, name
                break


def _filled_hbm(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    for node in given.held(function, ast.Call):
        words = (*node.args, *(one.value for one in node.keywords))
        if given.full(node.func) in ("nki.language.full", "nki.language.zeros", "nki.language.ones") and any(given.full(word).endswith("hbm") for word in words):
            yield node, ""


rule("B101", "a tile takes no index of one dimension", "an index of two dimensions, or a slice", "errors", "E", _in_each(_flat_indices), says="err_1d_arange_not_supported")
rule("B102", "slices and indices of nl.arange do not stand in one subscript", "the one or the other", "errors", "E", refusal("^a slice beside indices of"), says="err_unsupported_mixing_basic_advanced_tensor_indexing")
rule("B103", "a tensor with a block dimension is no tile", "an index for the block", "errors", "E", refusal("works on tiles, not on Blocks"), says="err_failed_to_infer_tile_from_local_tensor")
rule("B104", "a tile that a loop makes ends with the loop", "make it before the loop", "errors", "E", _in_each(_out_of_scope), says="err_local_variable_used_out_of_scope")
rule("B105", "a tensor in HBM is made without values", "a tensor without values, and a store into it", "errors", "E", _in_each(_filled_hbm), says="err_hbm_tensor_with_init_value_not_supported")
