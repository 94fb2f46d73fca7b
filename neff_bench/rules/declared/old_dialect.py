"""Declares what the compiler of the old dialect refuses beside what the chip refuses: AWS's list of its errors has it."""

# fmt: off
import ast
from collections import Counter
from collections.abc import Callable, Iterator

from neff_bench.rules.declared.python_forms import negated, tile_names
from neff_bench.rules.judges import refusal, source
from neff_bench.rules.rule import OfSource, rule
from neff_bench.rules.source import Source

_AFFINE = "nki.language.affine_range"
_COMPILED = (_AFFINE, "nki.language.sequential_range")
"""The loops that the compiler keeps: Python does not know their index."""
_GRIDS = ("nki.language.arange", "nki.language.mgrid")
_MADE = ("ndarray", "zeros", "ones", "full", "zeros_like", "empty_like")
_FILLED = ("nki.language.full", "nki.language.zeros", "nki.language.ones")
_ACTIVATIONS = tuple(f"nki.language.{one}" for one in "exp log sqrt rsqrt tanh sigmoid relu gelu silu square sin cos erf softplus".split())


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
    """Yield tiles that are made inside of a loop alone that the compiler keeps, or below an `if` on its index, and are read behind it."""
    loops = [loop for loop, _ in _loops(given, function, *_COMPILED)]
    chosen = [node for loop, turn in _turns(given, function, *_COMPILED) for node in given.held(loop, ast.If) if _names(node.test) & turn]
    scopes = [*loops, *chosen]
    names = [(node, {id(one) for one in scopes if one.lineno <= node.lineno <= (one.end_lineno or 0)}) for node in given.held(function, ast.Name)]
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
        if given.full(node.func) in _FILLED and any(given.full(word).endswith("hbm") for word in words):
            yield node, ""


def _loops(given: Source, function: ast.FunctionDef, *over: str) -> Iterator[tuple[ast.For, ast.Call]]:
    """Yield the loops over a call of one of these functions, each with the call."""
    return ((loop, loop.iter) for loop in given.held(function, ast.For) if isinstance(loop.iter, ast.Call) and given.full(loop.iter.func) in over)


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _following(given: Source, within: ast.AST, first: set[str]) -> set[str]:
    """Return `first`, and the names that are assigned from them."""
    names = set(first)
    for node in given.held(within, ast.Assign):
        if _names(node.value) & names:
            names |= {one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return names


def _turns(given: Source, function: ast.FunctionDef, *over: str) -> Iterator[tuple[ast.For, set[str]]]:
    """Yield the loops over a call of one of these functions, each with its index and the numbers that are computed from it."""
    tiles = tile_names(given, function)
    return ((loop, _following(given, loop, _names(loop.target)) - tiles) for loop, _ in _loops(given, function, *over))


def _grid_names(given: Source, function: ast.FunctionDef) -> set[str]:
    """Return the names that hold indices of nl.arange and nl.mgrid."""
    tiles, grids = tile_names(given, function), set[str]()
    for node in given.held(function, ast.Assign):
        made = any(given.full(one.func if isinstance(one, ast.Call) else one.value if isinstance(one, ast.Subscript) else None) in _GRIDS for one in given.below(node.value))
        if made or (isinstance(node.value, (ast.BinOp, ast.Subscript)) and _names(node.value) & grids):
            grids |= {one.id for target in node.targets for one in (target.elts if isinstance(target, ast.Tuple) else [target]) if isinstance(one, ast.Name)}
    return grids - tiles


def _base(node: ast.AST) -> tuple[str, set[str]]:
    """Return the name that is indexed, as `x` of `x[i][j]`, and the names of its indices."""
    indices: set[str] = set()
    while isinstance(node, ast.Subscript):
        indices |= _names(node.slice)
        node = node.value
    return (node.id if isinstance(node, ast.Name) else ""), indices


def _same_place(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """Yield what each turn of an affine_range writes into one place: an index of the loop is missing."""
    makes = [node for node in given.held(function, ast.Assign) if isinstance(node.value, ast.Call) and given.full(node.value.func).removeprefix("nki.language.") in _MADE]
    for loop, call in _loops(given, function, _AFFINE):
        if not isinstance(loop.target, ast.Name) or ast.unparse(call.args[-1]) == "1":
            continue
        outside = {one.id for node in makes if not loop.lineno <= node.lineno <= (loop.end_lineno or 0) for one in node.targets if isinstance(one, ast.Name)}
        inside = {one.id for line in loop.body for one in given.held(line, ast.Name) if isinstance(one.ctx, ast.Store)}
        turn = _following(given, loop, {loop.target.id})
        chosen = {id(one) for node in given.held(loop, ast.If) for one in given.below(node)}
        written = [(node, target) for node in given.held(loop, ast.Assign) for target in node.targets if isinstance(target, ast.Subscript)]
        for node, target in written:
            name, indices = _base(target)
            reduced = any(given.full(one.func) == "nki.language.loop_reduce" for one in given.held(node, ast.Call))
            moved = isinstance(node.value, ast.Subscript) and _base(node.value)[0] == name
            if name in outside - inside and not indices & turn and id(node) not in chosen and not reduced and not moved:
                yield node, f"{name}, {loop.target.id}"


def _allocated(given: Source, function: ast.FunctionDef) -> bool:
    return any(given.full(node.func).startswith(("nki.compiler.sbuf.", "nki.compiler.psum.")) for node in given.held(function, ast.Call))


def _decorated(given: Source, function: ast.FunctionDef, name: str) -> bool:
    return any(given.full(one).endswith(name) for one in function.decorator_list)


def _given(node: ast.Call, word: str, place: int) -> ast.AST | None:
    """Return an argument of a call, by its name or its place."""
    return next((one.value for one in node.keywords if one.arg == word), node.args[place] if len(node.args) > place else None)


def _transposes(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    allocated, skips = _allocated(given, function), _decorated(given, function, "skip_middle_end_transformations")
    for node in given.held(function, ast.Call) if allocated or skips else ():
        full = given.full(node.func)
        if full == "nki.language.matmul" and (skips or _given(node, "transpose_x", 2) is None):
            yield node, "nl.matmul"
        elif full == "nki.isa.nc_transpose" and allocated and _given(node, "engine", 3) is None:
            yield node, "nisa.nc_transpose"


def _without_bias(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    for node in given.held(function, ast.Call) if _allocated(given, function) else ():
        full = given.full(node.func)
        if full in _ACTIVATIONS or (full in ("nki.isa.activation", "nki.isa.activation_reduce") and _given(node, "bias", 9) is None):
            yield node, ""


def _filled_places(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    for node in given.held(function, ast.Call):
        if given.full(node.func) in _FILLED and any(given.full(one.func).startswith(("nki.compiler.sbuf.", "nki.compiler.psum.")) for one in given.held(node, ast.Call)):
            yield node, ""


def _shared_below(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """Yield tensors in nl.shared_hbm that are made in a loop of a kernel."""
    if given.kernels_of(function):
        below = {id(one) for kind in (ast.For, ast.While) for node in given.held(function, kind) for one in given.below(node)}
        for node in given.held(function, ast.Call):
            if id(node) in below and given.full(node.func).startswith("nki.language.") and given.full(_given(node, "buffer", 2)) == "nki.language.shared_hbm":
                yield node, ""


def _written_indices(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    grids = _grid_names(given, function)
    for node in given.held(function, ast.Assign):
        yield from ((node, one.value.id) for one in node.targets if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name) and one.value.id in grids)


def _steering_indices(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    grids = _grid_names(given, function)
    for node in given.held(function, ast.If):
        if isinstance(node.test, ast.Compare):
            yield from ((node, one.id) for one in (node.test.left, *node.test.comparators) if isinstance(one, ast.Name) and one.id in grids)


def _joined_masks(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """Yield `and`, `or` and `not` of comparisons of tiles and indices."""
    names = _grid_names(given, function) | tile_names(given, function)
    joined = [(node, node.values) for node in given.held(function, ast.BoolOp)]
    turned = [(node, [node.operand]) for node in given.held(function, ast.UnaryOp) if isinstance(node.op, ast.Not)]
    for node, sides in (*joined, *turned):
        if any(isinstance(one, ast.Compare) and not isinstance(one.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)) and any(isinstance(side, ast.Name) and side.id in names for side in (one.left, *one.comparators)) for one in sides):
            yield node, ast.unparse(node)


def _bent_masks(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """Yield masks with the rest or the quotient of an index."""
    grids = _grid_names(given, function)
    for node in given.held(function, ast.Call):
        mask = _given(node, "mask", 99)
        if mask is not None and given.full(node.func).startswith("nki."):
            yield from ((node, ast.unparse(one)) for one in given.held(mask, ast.BinOp) if isinstance(one.op, (ast.Mod, ast.FloorDiv)) and _names(one.left) & grids)


def _kept_parameters(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """Yield mutable parameters that a kernel does not return."""
    if given.kernels_of(function):
        returned = {name for node in given.held(function, ast.Return) for name in _names(node)}
        for one in function.args.args:
            if one.annotation is not None and ast.unparse(one.annotation).endswith("mutable_tensor") and one.arg not in returned:
                yield one, one.arg


def _launches_inside(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    kernels = {one.name for one in given.of(ast.FunctionDef) if given.kernels_of(one)}
    for node in given.held(function, ast.Call) if given.kernels_of(function) else ():
        if isinstance(node.func, ast.Subscript) and isinstance(node.func.value, ast.Name) and node.func.value.id in kernels:
            yield node, node.func.value.id


def _one_dimension(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """Yield tiles of one dimension; not one whose name gets another tile before it is used."""
    stored = Counter(one.id for one in given.held(function, ast.Name) if isinstance(one.ctx, ast.Store))
    for line in given.held(function, ast.Assign):
        node, name = line.value, ast.unparse(line.targets[0])
        if isinstance(node, ast.Call) and given.full(node.func).removeprefix("nki.language.") in _MADE and stored[name] == 1:
            shape, buffer = _given(node, "shape", 0), given.full(_given(node, "buffer", 2))
            on_chip = buffer in ("nki.language.sbuf", "nki.language.psum") or (not buffer and given.full(node.func) in _FILLED)
            if isinstance(shape, ast.Tuple) and len(shape.elts) == 1 and on_chip:
                yield node, name


def _indirect_transposes(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    tiles = tile_names(given, function)
    for node in given.held(function, ast.Call):
        if given.full(node.func) in ("nki.language.load_transpose2d", "nki.isa.dma_transpose") and node.args and _base(node.args[0])[1] & tiles:
            yield node, ""


def _loops_over_grids(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    return ((call, "") for _, call in _loops(given, function, *_GRIDS))


def _compared_indices(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """Yield Python's min and max of the index of an affine_range, or of what is computed from it."""
    for loop, turn in _turns(given, function, _AFFINE):
        for node in given.held(loop, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in ("min", "max") and any(_names(one) & turn for one in node.args):
                yield node, ""


def _repeated_rows(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """Yield DMAs whose source has an index times zero, so that many rows read one."""
    for node in given.held(function, ast.Call):
        if given.full(node.func) in ("nki.isa.dma_copy", "nki.isa.dma_transpose") and (read := _given(node, "src", 1)) is not None:
            yield from ((node, ast.unparse(one)) for one in given.held(read, ast.BinOp) if isinstance(one.op, ast.Mult) and "0" in (ast.unparse(one.left), ast.unparse(one.right)))


def _number_as_bias(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """Yield activations with a number as their bias: one that stands there, or that numpy or Python makes."""
    for node in given.held(function, ast.Call):
        if given.full(node.func) not in ("nki.isa.activation", "nki.isa.activation_reduce") or (bias := _given(node, "bias", 2)) is None:
            continue
        made = isinstance(bias, ast.Call) and (given.full(bias.func).startswith("numpy.") or ast.unparse(bias.func) in ("float", "int"))
        if made or (isinstance(bias, ast.Constant) and bias.value is not None):
            yield node, f"bias={ast.unparse(bias)}"


def _written_inputs(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """Yield stores into parameters of a kernel that are not annotated as mutable, and that a caller has to give."""
    if not given.kernels_of(function) or any(one is not function and function.name in _names(one) for one in given.device):
        return  # What a kernel hands to another one may be a tensor that it made.
    needed = [*function.args.posonlyargs, *function.args.args]
    needed = needed[: len(needed) - len(function.args.defaults)]
    immutable = {one.arg for one in needed if one.annotation is None or "mutable" not in ast.unparse(one.annotation)}
    immutable -= {one.id for one in given.held(function, ast.Name) if isinstance(one.ctx, ast.Store)}
    for node in given.held(function, ast.Call):
        if given.full(node.func) == "nki.language.store" and (written := _given(node, "dst", 0)) is not None and _base(written)[0] in immutable:
            yield node, _base(written)[0]


def _subtracted_products(given: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    for loop, _ in _loops(given, function, _AFFINE):
        for node in given.held(loop, ast.AugAssign):
            if isinstance(node.op, ast.Sub) and isinstance(node.value, ast.Call) and given.full(node.value.func) in ("nki.isa.nc_matmul", "nki.language.matmul"):
                yield node, ""


rule("B101", "a tile takes no index of one dimension", "an index of two dimensions, or a slice", "errors", "E", _in_each(_flat_indices), says="err_1d_arange_not_supported")
rule("B102", "slices and indices of nl.arange do not stand in one subscript", "the one or the other", "errors", "E", refusal("^a slice beside indices of"), says="err_unsupported_mixing_basic_advanced_tensor_indexing")
rule("B103", "a tensor with a block dimension is no tile", "an index for the block", "errors", "E", refusal("works on tiles, not on Blocks"), says="err_failed_to_infer_tile_from_local_tensor")
rule("B104", "a tile that a loop makes ends with the loop", "make it before the loop", "errors", "E", _in_each(_out_of_scope), says="err_local_variable_used_out_of_scope")
rule("B105", "a tensor in HBM is made without values", "a tensor without values, and a store into it", "errors", "E", _in_each(_filled_hbm), says="err_hbm_tensor_with_init_value_not_supported")
rule("B106", "the turns of an affine_range write places of their own", "the index of the loop in the subscript, or a sequential range", "errors", "E", _in_each(_same_place), says="err_unexpected_output_dependencies; Unexpected output dependencies, missing indices in the dst access")
rule("B107", "a kernel that places its tiles or skips the middle end has no nl.matmul that transposes, and no nc_transpose on the Tensor Engine", "a product with an identity matrix", "errors samples91", "E", _in_each(_transposes), says="err_transpose_on_tensor_engine_not_allowed_in_allocated_kernel; [DVR002] Internal transformation failed")
rule("B108", "an activation of a kernel that places its tiles names its bias", "bias= with a tile", "errors", "E", _in_each(_without_bias), says="err_bias_tensor_must_be_specified_in_allocation")
rule("B109", "a tile that the kernel places has no first value", "a tile without values, and a write into it", "errors", "E", _in_each(_filled_places), says="err_tensor_creation_on_scratchpad_with_init_value_not_supported")
rule("B110", "a tensor in nl.shared_hbm is made by the kernel itself, in no loop", "make it at the top of the kernel", "errors", "E", _in_each(_shared_below), says="err_shared_hbm_must_in_kernel_level")
rule("B111", "nothing is assigned into an index", "a tile made of the index by iota", "errors", "E", _in_each(_written_indices), says="err_cannot_assign_to_index")
rule("B112", "an index of nl.arange or nl.mgrid is no condition", "mask=", "errors", "E", _in_each(_steering_indices), says="err_control_flow_condition_depending_on_arange")
rule("B113", "a mutable parameter is returned", "return it", "errors", "E", _in_each(_kept_parameters), says="err_mutable_parameter_not_returned")
rule("B114", "a kernel launches no kernel with a grid", "call its function", "errors", "E", _in_each(_launches_inside), says="err_nested_kernel_with_spmd_grid")
rule("B115", "a mask is an affine expression of indices", "a loop for each part", "errors", "E", _in_each(_bent_masks), says="err_unsupported_expression_in_mask")
rule("B116", "and, or and not do not combine comparisons of tiles and indices", "&, | and ~", "errors known", "E", _in_each(_joined_masks), says="err_ambiguous_tensor_truth_value")
rule("B117", "tiles have no unary minus", "the function negative", "trnsolver", "M", source(negated), says="TypeError: bad operand type for unary -")
rule("B118", "a tile in SBUF or PSUM has two dimensions", "(rows, 1)", "known", "DM", _in_each(_one_dimension), says="Insufficient rank")
rule("B119", "nl.load_transpose2d and nisa.dma_transpose take no tile as an index", "a load, then a transpose", "errors", "E", _in_each(_indirect_transposes), says="err_indirect_indices_are_not_supported_with_nki_api")
rule("B120", "no loop runs over nl.arange or nl.mgrid", "affine_range, or the whole tile at once", "torch2nki", "M", _in_each(_loops_over_grids), says="RuntimeError: Only support multi-dimensional subscript to arange!")
rule("B121", "Python's min and max do not know the index of an affine_range", "sizes that divide evenly, mask=, or static_range", "trnfft", "M", _in_each(_compared_indices))
rule("B122", "a DMA does not repeat one row by an index times zero", "load the row once, and broadcast the tile", "kda", "M", _in_each(_repeated_rows), says="NCC_IBCG901 BIRCodegen does not support broadcast patterns")
rule("B123", "a product is not subtracted from PSUM in an affine_range", "+= of the product with a negated operand", "trnfft", "M", _in_each(_subtracted_products), says="psum -= nc_matmul not supported in affine_range")
rule("B124", "the bias of an activation is a tile", "a (rows, 1) tile with the number", "autocomp", "M", _in_each(_number_as_bias), says="Expect type of operand 'bias' of 'activation' in ('tile[nki_dtype, psum|sbuf]', 'NoneType')")
rule("B125", "a kernel does not write its inputs", "a tensor of its own in nl.shared_hbm, which it returns", "errors samples44", "EM", _in_each(_written_inputs), says="err_cannot_update_immutable_parameter; Cannot update immutable parameter")
rule("B126", "an index of one row is not added to a tile of several", "as many rows as the tile has", "optimizer", "M", refusal("^an index of one row does not go with"), says="Unexpected partition broadcast!")
