"""Declares the rules of Python forms inside a kernel. NKI 0.3 to 0.6 (SDK 2.29 to 2.32) parse a kernel's source; 0.7 runs it."""

# fmt: off
import ast
import builtins
from collections.abc import Callable, Iterator

from neff_bench.rules.judges import refusal, source, syntax
from neff_bench.rules.rule import OfSource, Place, rule
from neff_bench.rules.source import Source

PARSER = "2.32"
_DYNAMIC = ("nki.language.dynamic_range",)
_LOOPS = (*_DYNAMIC, "nki.language.fori_loop", "nki.language.while_loop")
_ENUMS = ("engine", "dge_mode", "oob_mode", "perf_mode", "dma_engine")
_TILES = frozenset("load zeros ones full ndarray copy exp log sqrt rsqrt reciprocal sigmoid tanh relu silu gelu sin cos abs square negative add subtract multiply divide maximum minimum power sum max min mean var softmax matmul transpose where broadcast_to rmsnorm nc_matmul nc_transpose activation tensor_reduce tensor_tensor tensor_scalar tensor_copy reciprocal iota affine_select memset tensor_partition_reduce bn_stats bn_aggr activation_reduce tensor_tensor_scan scalar_tensor_tensor".split())
"""Functions of nki.language, and of nki.isa in the old dialect, that give a tile."""
_FUNCTIONS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Pow: "power", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor",
    ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal", ast.Eq: "equal", ast.NotEq: "not_equal",
}
"""What nki.language calls an operator."""
_BUILTINS = ("hasattr", "getattr", "isinstance", "type", "slice", "print", "min", "max", "abs", "str", "bool", "int", "float", "divmod", "tuple", "list", "dict", "len")
_METHODS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.List: ("append", "clear", "copy", "count", "extend", "index", "pop", "remove", "reverse"),
    ast.Dict: ("clear", "copy", "get", "items", "keys", "pop", "setdefault", "values"),
}
_MATH = ("ceil", "floor", "gcd", "log2", "log10", "pow", "sqrt")
"""What the parser knows of Python's own functions, of the methods of lists and dictionaries, and of math."""
_MAKES = ("nki.language.ndarray", "nki.language.zeros", "nki.language.full")


def nodes(given: Source, kind: type[ast.AST], test: Callable[..., object]) -> Iterator[ast.AST]:
    """Return nodes of a type in the bodies of device functions."""
    return (node for node in given.inside.get(kind, ()) if test(node))


def _of(kind: type[ast.AST], test: Callable[..., object]) -> OfSource:
    return source(lambda given: nodes(given, kind, test))


def of_constant(value: ast.AST, kind: type) -> bool:
    """Return whether a node is a constant of a type."""
    return isinstance(value, ast.Constant) and type(value.value) is kind


def _arguments(words: tuple[str, ...], *kinds: type) -> OfSource:
    """Return keyword arguments with a constant of a wrong type, in calls of nki."""
    return source(lambda given: (node for full, nodes in given.calls.items() if full.startswith("nki.") for node in nodes for word in node.keywords if word.arg in words and any(of_constant(word.value, kind) for kind in kinds)))


def _loops(given: Source) -> Iterator[ast.For]:
    for node in given.inside.get(ast.For, ()):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and given.full(node.iter.func) in _DYNAMIC:
            yield node


def within(given: Source, test: Callable[..., object]) -> Iterator[ast.AST]:
    """Return nodes of the bodies of dynamic loops for which `test(node, loop)` holds."""
    return (node for loop in _loops(given) for statement in loop.body for node in given.below(statement) if test(node, loop))


def _is_variable(node: ast.AST, loop: ast.For, context: type[ast.expr_context]) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, context) and isinstance(loop.target, ast.Name) and node.id == loop.target.id


def _assigned(given: Source) -> Iterator[ast.AST]:
    return within(given, lambda node, loop: _is_variable(node, loop, ast.Store))


def _in_arithmetic(given: Source) -> Iterator[ast.AST]:
    return within(given, lambda node, loop: isinstance(node, ast.BinOp) and any(_is_variable(one, loop, ast.Load) for one in (node.left, node.right)))


def _nested(given: Source) -> Iterator[ast.AST]:
    inner = {id(loop) for loop in _loops(given)}
    return within(given, lambda node, loop: id(node) in inner)


def _steps(given: Source) -> Iterator[ast.AST]:
    for full, place in ((_LOOPS[0], 2), (_LOOPS[1], 3)):
        for node in given.calls.get(full, ()):
            if len(node.args) > place and ast.unparse(node.args[place]).lstrip("-").isdigit() and int(ast.unparse(node.args[place])) <= 0:
                yield node


def _returning_bodies(given: Source) -> Iterator[ast.AST]:
    bodies = {given_name.id for node in given.calls.get(_LOOPS[1], ()) for given_name in node.args if isinstance(given_name, ast.Name)}
    for node in given.inside.get(ast.FunctionDef, ()):
        if isinstance(node, ast.FunctionDef) and node.name in bodies:
            yield from (one for one in given.below(node) if isinstance(one, ast.Return) and one.value is not None)


def _used_after(given: Source) -> Iterator[ast.AST]:
    """Yield tiles that a dynamic loop makes, and that later lines of the function read."""
    for function in given.device:
        for loop in _loops(given):
            made = {one.id for node in given.below(loop) if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) for one in node.targets if isinstance(one, ast.Name) and given.full(node.value.func) in _MAKES}
            end = loop.end_lineno or 0
            yield from (node for node in given.below(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in made and node.lineno > end and (function.end_lineno or 0) >= end >= function.lineno)


def _in_no_reorder(given: Source) -> Iterator[ast.AST]:
    for node in given.inside.get(ast.With, ()):
        if isinstance(node, ast.With) and any("no_reorder" in ast.unparse(item.context_expr) for item in node.items):
            yield from (one for one in given.below(node) if isinstance(one, ast.Call) and given.full(one.func) in _LOOPS)


def _is_number(node: ast.AST, numbers: set[str]) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_number(node.left, numbers) and _is_number(node.right, numbers)
    return of_constant(node, int) or (isinstance(node, ast.Name) and node.id in numbers)


def _number_keys(given: Source) -> Iterator[ast.AST]:
    """Yield keys of dictionaries that are numbers: in a display, or under a name that is one in the same function."""
    yield from nodes(given, ast.Dict, lambda node: any(isinstance(key, ast.Constant) and not isinstance(key.value, str) for key in node.keys))
    for function in given.device:
        if not given.held(function, ast.Dict) and not any(ast.unparse(node.func) == "dict" for node in given.held(function, ast.Call)):
            continue
        numbers, tables = set(), set()
        for node in given.below(function):
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                of = node.iter
                if (isinstance(of, ast.Call) and ast.unparse(of.func).endswith("range")) or (isinstance(of, (ast.Tuple, ast.List)) and all(of_constant(one, int) for one in of.elts)):
                    numbers.add(node.target.id)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                if isinstance(node.value, ast.Dict) or ast.unparse(node.value) == "dict()":
                    tables.add(node.targets[0].id)
                elif _is_number(node.value, numbers):
                    numbers.add(node.targets[0].id)
            elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in tables and _is_number(node.slice, numbers):
                yield node


def _ranges(given: Source) -> Iterator[ast.AST]:
    """Yield calls of range that no for loop runs over."""
    looped = {id(node.iter) for node in given.inside.get(ast.For, ()) if isinstance(node, ast.For)}
    return nodes(given, ast.Call, lambda node: isinstance(node.func, ast.Name) and node.func.id == "range" and id(node) not in looped)


def _sets(given: Source) -> Iterator[ast.AST]:
    """Yield sets that a kernel makes, and names of those that the file makes."""
    made = {one.id for line in given.tree.body if isinstance(line, ast.Assign) and _is_set(line.value) for one in line.targets if isinstance(one, ast.Name)}
    yield from nodes(given, ast.Call, _is_set)
    yield from nodes(given, ast.Name, lambda node: node.id in made)


def _is_set(node: ast.AST) -> bool:
    return isinstance(node, ast.Set) or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset"))


def _stars(given: Source) -> Iterator[ast.AST]:
    yield from given.inside.get(ast.Starred, ())
    yield from nodes(given, ast.Call, lambda node: any(word.arg is None for word in node.keywords))
    yield from (function for function in given.device if function.args.vararg)


def _of_modules(given: Source) -> Iterator[ast.AST]:
    """Yield calls of Python's modules for files, time and chance."""
    return nodes(given, ast.Call, lambda node: given.full(node.func).partition(".")[0] in ("os", "sys", "time", "random", "logging", "pathlib", "itertools", "functools"))


def _on_registers(given: Source) -> Iterator[ast.AST]:
    """Yield arithmetic on what nl.fori_loop gives its body."""
    bodies = {one.id for node in given.calls.get(_LOOPS[1], ()) for one in node.args if isinstance(one, ast.Name)}
    for function in given.inside.get(ast.FunctionDef, ()):
        if isinstance(function, ast.FunctionDef) and function.name in bodies:
            registers = {one.arg for one in function.args.args}
            yield from (node for node in given.below(function) if isinstance(node, ast.BinOp) and any(isinstance(one, ast.Name) and one.id in registers for one in (node.left, node.right)))


def _unknown_builtins(given: Source) -> Iterator[ast.AST]:
    """Yield calls of Python's own functions that the parser does not know; it says of classes, such as set and frozenset, something else."""
    own = {one.name for one in given.of(ast.FunctionDef)} | set(given.names)
    unknown = {name for name in dir(builtins) if name.islower()} - {"range", "set", "frozenset", *_BUILTINS} - own
    return nodes(given, ast.Call, lambda node: isinstance(node.func, ast.Name) and node.func.id in unknown)


def _unknown_methods(given: Source) -> Iterator[ast.AST]:
    """Yield methods of texts, methods of lists and dictionaries that the parser does not know, and such functions of math."""
    for function in given.device:
        made: dict[str, type[ast.AST]] = {one.id: type(node.value) for node in given.held(function, ast.Assign) for one in node.targets if isinstance(one, ast.Name)}
        for node in given.held(function, ast.Call):
            if isinstance(node.func, ast.Attribute) and not given.full(node.func):
                of, text = node.func.value, isinstance(node.func.value, ast.JoinedStr) or of_constant(node.func.value, str)
                if text or (isinstance(of, ast.Name) and node.func.attr not in _METHODS.get(made.get(of.id, ast.Name), (node.func.attr,))):
                    yield node
            elif given.full(node.func).startswith("math.") and given.full(node.func)[5:] not in _MATH:
                yield node


def _bodies(given: Source) -> list[ast.AST]:
    """Return what nl.fori_loop and nl.while_loop are called with."""
    return [one for full in _LOOPS[1:] for node in given.calls.get(full, ()) for one in (*node.args, *(word.value for word in node.keywords))]


def _lambdas(given: Source) -> Iterator[ast.AST]:
    bodies = {id(one) for one in _bodies(given)}
    return nodes(given, ast.Lambda, lambda node: id(node) not in bodies)


def _inner_functions(given: Source) -> Iterator[ast.AST]:
    bodies = {one.id for one in _bodies(given) if isinstance(one, ast.Name)}
    return nodes(given, ast.FunctionDef, lambda node: node.name not in bodies)


def _leaving(given: Source) -> Iterator[ast.AST]:
    """Yield what leaves a dynamic loop; not what leaves another loop inside of it."""
    for loop in _loops(given):
        inner = {id(one) for kind in (ast.For, ast.While) for other in given.held(loop, kind) if other is not loop for one in given.below(other)}
        for kind in (ast.Break, ast.Continue, ast.Return):
            yield from (node for node in given.held(loop, kind) if kind is ast.Return or id(node) not in inner)


def _keyword_only(given: Source) -> Iterator[ast.AST]:
    return (function for function in given.device if function.args.kwonlyargs and given.kernels_of(function))


def _list_defaults(given: Source) -> Iterator[ast.AST]:
    return (function for function in given.device if given.kernels_of(function) and any(isinstance(one, (ast.List, ast.ListComp)) for one in function.args.defaults))


def _plain_classes(given: Source) -> Iterator[ast.AST]:
    plain = {node.name for node in given.tree.body if isinstance(node, ast.ClassDef) and not node.bases and not node.decorator_list}
    return (node for node in given.inside.get(ast.Call, ()) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in plain)


def _closures(given: Source) -> Iterator[ast.AST]:
    """Yield names of an enclosing function that a kernel reads."""
    for outer in given.of(ast.FunctionDef):
        if isinstance(outer, ast.FunctionDef) and not given.kernels_of(outer):
            cells = {one.arg for one in outer.args.args} | {one.id for node in outer.body if isinstance(node, ast.Assign) for one in given.held(node, ast.Name) if isinstance(one.ctx, ast.Store)}
            cells |= {alias.asname or alias.name.partition(".")[0] for node in outer.body if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names} - given.of_module
            for kernel in outer.body:
                if isinstance(kernel, ast.FunctionDef) and given.kernels_of(kernel):
                    own = {one.arg for one in kernel.args.args} | {node.id for node in given.below(kernel) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
                    yield from (node for line in kernel.body for node in given.held(line, ast.Name) if node.id in cells - own)


def _same_names(given: Source) -> Iterator[ast.AST]:
    for function in given.device:
        seen = set()
        for node in given.held(function, ast.Call):
            if given.full(node.func).startswith("nki.isa."):
                for word in node.keywords:
                    if word.arg == "name" and isinstance(word.value, ast.Constant):
                        if word.value.value in seen:
                            yield node
                        seen.add(word.value.value)


def tile_names(given: Source, function: ast.FunctionDef) -> set[str]:
    """Return the names of a function that hold tiles: results of nl and nisa, and of operators on them."""
    tiles: set[str] = set()
    for node in given.held(function, ast.Assign):
        if _is_tile(node.value, tiles, given):
            tiles |= {one.id for one in node.targets if isinstance(one, ast.Name)}
    return tiles


def _is_tile(node: ast.AST, tiles: set[str], given: Source) -> bool:
    if isinstance(node, ast.Call):
        full = given.full(node.func)
        return (full.startswith("nki.language.") and full[13:] in _TILES) or (full.startswith("nki.isa.") and full[8:] in _TILES)
    if isinstance(node, ast.BinOp) and not isinstance(node.right, (ast.Tuple, ast.List)):
        return _is_tile(node.left, tiles, given) or _is_tile(node.right, tiles, given)
    if isinstance(node, (ast.Subscript, ast.UnaryOp)):
        return _is_tile(node.value if isinstance(node, ast.Subscript) else node.operand, tiles, given)
    return isinstance(node, ast.Name) and node.id in tiles


def _called(node: ast.AST, tiles: set[str], given: Source) -> ast.AST:
    """Return an expression with calls in place of the operators on tiles. Raises KeyError for an operator that has none."""
    nl = next(name for name, full in given.names.items() if full.removeprefix("neuronxcc.") == "nki.language")

    def made(function: str, *arguments: ast.AST) -> ast.Call:
        return ast.Call(ast.Attribute(ast.Name(nl), function), list(arguments), [])  # type: ignore[arg-type]

    class Calls(ast.NodeTransformer):
        def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
            left, right = self.visit(node.left), self.visit(node.right)
            if not _is_tile(node, tiles, given):
                return node
            if isinstance(node.op, ast.Div):
                return made("multiply", left, made("reciprocal", right) if _is_tile(node.right, tiles, given) else ast.BinOp(ast.Constant(1.0), ast.Div(), right))
            return made(_FUNCTIONS[type(node.op)], left, right)

        def visit_Compare(self, node: ast.Compare) -> ast.AST:
            (second,) = node.comparators
            return made(_FUNCTIONS[type(node.ops[0])], self.visit(node.left), self.visit(second))

        def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
            return made("negative", self.visit(node.operand)) if isinstance(node.op, ast.USub) and _is_tile(node.operand, tiles, given) else node

    found: ast.AST = Calls().visit(ast.parse(ast.unparse(node), mode="eval").body)
    return found


def _in_calls(node: ast.AST, given: Source) -> str:
    """Return an expression with calls in place of its operators on tiles; "" where that is not known."""
    tiles = next((tile_names(given, function) for function in given.device if node in given.below(function)), set())
    try:
        if isinstance(node, ast.AugAssign):
            return f"{ast.unparse(node.target)} = {ast.unparse(_called(ast.BinOp(node.target, node.op, node.value), tiles, given))}"
        return ast.unparse(_called(node, tiles, given))
    except (KeyError, StopIteration, ValueError):
        return ""


def _to_calls(node: ast.AST, given: Source) -> Iterator[tuple[Place, Place, str]]:
    """Call in place of operators; a division, whose rounding differs, and a sum of products are left to people."""
    if isinstance(node, (ast.expr, ast.AugAssign)) and not any(isinstance(one, (ast.Div, ast.AugAssign)) for one in given.below(node)) and (text := _in_calls(node, given)):
        yield (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0), text


def _told(nodes: Callable[[Source], Iterator[ast.AST]]) -> OfSource:
    """Return expressions, each with what takes its place."""
    return OfSource(lambda given: ((node, f"{ast.unparse(node)} -> {text}" if (text := _in_calls(node, given)) else "") for node in nodes(given)))


def _operators(given: Source) -> Iterator[ast.AST]:
    """Yield operators on tiles; of several in an expression the outermost."""
    for function in given.device:
        tiles, inner = tile_names(given, function), set()
        for node in given.below(function):
            if isinstance(node, (ast.BinOp, ast.Compare, ast.AugAssign)) and id(node) not in inner:
                sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value) if isinstance(node, ast.AugAssign) else (node.left, *node.comparators)
                identity = isinstance(node, ast.Compare) and (isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)) or any(of_constant(one, type(None)) for one in node.comparators))
                joined = any(isinstance(side, (ast.Tuple, ast.List)) for side in sides)
                if not identity and not joined and any(_is_tile(side, tiles, given) for side in sides):
                    inner |= {id(one) for one in given.below(node)}
                    yield node


def negated(given: Source) -> Iterator[ast.AST]:
    """Yield the unary minus of tiles."""
    for function in given.device:
        tiles = tile_names(given, function)
        yield from (node for node in given.held(function, ast.UnaryOp) if isinstance(node.op, ast.USub) and _is_tile(node.operand, tiles, given))


def _stored(given: Source) -> Iterator[ast.AST]:
    """Yield each `tile[...] = ...`."""
    for function in given.device:
        tiles = tile_names(given, function)
        for node in given.held(function, ast.Assign):
            if any(isinstance(one, ast.Subscript) and _is_tile(one.value, tiles, given) for one in node.targets):
                yield node


def _decorated_parts(given: Source) -> Iterator[ast.AST]:
    kernels = {function.name for function in given.of(ast.FunctionDef) if given.kernels_of(function)}
    return nodes(given, ast.Call, lambda node: isinstance(node.func, ast.Name) and node.func.id in kernels)


def _impure(given: Source) -> Iterator[ast.AST]:
    """Yield names of the file that a kernel binds, and what differs from call to call."""
    for function in given.device:
        if given.kernels_of(function):
            yield from given.held(function, ast.Global)
            yield from (node for node in given.held(function, ast.Call) if given.full(node.func).startswith(("random.", "time.", "numpy.random.")))


rule("P201", "the parser refuses `is` and `is not`", "==", "migration nkilib", "DC", _of(ast.Compare, lambda node: any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)), since="2.29", until=PARSER)
rule("P202", "a kernel has no keyword-only parameters", "leave out the *", "migration", "D", source(_keyword_only), since="2.29", until=PARSER)
rule("P203", "a kernel takes no list", "a tuple", "migration", "D", source(_list_defaults), since="2.29")
rule("P204", "keys of a dictionary are strings", "str(key)", "migration parser kiln", "DFM", source(_number_keys), until=PARSER, says="expecting string")
rule("P205", "the parser refuses a comprehension", "a loop", "parser prefill kiln", "FM", syntax(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), until=PARSER, says="unsupported expression")
rule("P206", "no import inside of a kernel", "import at the top of the file", "parser prefill", "FM", syntax(ast.Import, ast.ImportFrom), until=PARSER, says="NKI does not support 'import' statements within a function")
rule("P207", "no raise inside of a kernel", "assert", "parser harness", "FM", syntax(ast.Raise), until=PARSER, says="NKI does not support raise statements")
rule("P208", "no try inside of a kernel", "test before the call", "guide parser", "DF", syntax(ast.Try), until=PARSER, says="NKI does not support 'try' statements")
rule("P209", "the parser does not know this function of Python", "a loop, or compute it outside", "parser harness prefill", "FM", source(_unknown_builtins), until=PARSER, says="failed to resolve name 'builtins.repr'")
rule("P210", "no function is defined inside of a kernel, unless it is the body of nl.fori_loop", "define it at the top of the file", "parser spectral trnsci trnrand", "FM", source(_inner_functions), since="2.29", until=PARSER, says="NKI does not support inner function definitions")
rule("P211", "no subscript among several targets of an assignment", "one assignment each", "parser trnsci trnrand", "FM", _of(ast.Tuple, lambda node: isinstance(node.ctx, ast.Store) and any(isinstance(one, ast.Subscript) for one in node.elts)), since="2.29", until=PARSER, says="expecting pattern")
rule("P212", "a class that a kernel uses inherits NKIObject", "class Name(nl.NKIObject)", "notes", "D", source(_plain_classes), until=PARSER)
rule("P213", "a kernel sees no variables and no imports of the function around it", "make them parameters; import at the top of the file", "parser collectives spectral torchneuronx", "FM", source(_closures), until=PARSER, says="name not resolved")
rule("P214", "a tile is no condition", "nisa.register_load and a dynamic loop, or arithmetic", "errors", "D", refusal("it cannot steer Python"), says="err_ambiguous_tensor_truth_value")
rule("P215", "tiles have no operators", "the nl or nisa function", "triton-viz harness", "M", refusal(r"a tensor of nki has no .*; call nl\.(?!negative)"), _told(_operators), says="binary operators on tensors not supported. Use nki.isa directly.", fix=_to_calls)
rule("P216", "tiles have no unary minus", "nl.negative (from SDK 2.29), or nisa.tensor_scalar by -1.0", "triton-viz", "M", refusal(r"call nl\.negative"), _told(negated), says="cannot negate values of this type", fix=_to_calls)
rule("P217", "no assignment into a tile", "nisa.tensor_copy, or dst=tile[...]", "triton-viz nkilib", "MC", source(_stored), until="2.28", says="mutation not supported")
rule("P218", "two instructions do not have one name", "a name of its own for each", "standalone prefill nkilib", "MC", source(_same_names), since="2.29", says="duplicate op name")
rule("P219", "a function that a kernel calls is not decorated by nki.jit", "leave out its decorator", "migration nkilib", "DC", source(_decorated_parts), until="2.28")
rule("P220", "the variable of a dynamic loop is not written", "another variable", "notes", "D", source(_assigned), since="2.30", says="AssertionError")
rule("P221", "dynamic loops do not nest", "range for the inner loop", "notes 1346", "DM", source(_nested), since="2.29", until="2.31", says="Could not find register; NCC_ICFG018 nested loops")
rule("P222", "the variable of a dynamic loop has no arithmetic", "a register of its own", "notes", "D", source(_in_arithmetic), since="2.29", until="2.29")
rule("P223", "the step of a dynamic loop is a positive number", "count up", "loops isa", "D", source(_steps), since="2.29")
rule("P224", "the body of nl.fori_loop returns nothing", "write into a tile made before", "loops", "D", source(_returning_bodies), since="2.32")
rule("P225", "a tile made inside of a dynamic loop ends with it", "make it before the loop", "loops errors", "D", source(_used_after), since="2.32", says="err_local_variable_used_out_of_scope")
rule("P226", "no dynamic loop inside of nl.no_reorder", "take the loop out", "notes", "D", source(_in_no_reorder), since="2.32")
rule("P229", "a kernel is a function of its arguments alone: its result is kept", "make what changes an argument", "notes", "D", source(_impure), since="2.29")
rule("P230", "an enumeration is neither a number nor a text", "its member, such as nisa.dge_mode.hwdge", "migration", "D", _arguments(_ENUMS, int, str), since="2.29")
rule("P231", "a buffer is no string", "nl.sbuf, nl.psum, nl.shared_hbm", "migration", "D", _arguments(("buffer",), str), since="2.29")
rule("P232", "the parser knows no functions of numpy", "compute it outside", "parser guide", "F", source(lambda given: nodes(given, ast.Call, lambda node: given.full(node.func).startswith("numpy."))), until=PARSER, says="not found")
rule("P233", "a for loop binds one name", "for pair in pairs, then pair[0] and pair[1]", "parser spectral", "FM", _of(ast.For, lambda node: not isinstance(node.target, ast.Name)), until=PARSER, says="expecting simple variable")
rule("P234", "the parser knows no del, match, global, nonlocal, class or async inside of a kernel", "if and else, a dictionary", "parser", "F", syntax(ast.Delete, ast.Match, ast.Global, ast.Nonlocal, ast.ClassDef, ast.AsyncFor, ast.AsyncWith), until=PARSER, says="NKI does not support 'del' statements")
rule("P235", "the parser expands no * and **", "name each argument", "parser", "F", source(_stars), until=PARSER, says="tuple expansion is not supported")
rule("P236", "range stands in a for loop alone", "append to a list in a loop", "parser kiln", "FM", source(_ranges), until=PARSER)
rule("P237", "a kernel knows no set", "a tuple", "guide deepseek", "DM", source(_sets), syntax(ast.Set), until=PARSER, says="'in' expected (any, list) or (any, tuple)")
rule("P238", "a kernel calls nothing of os, time or random", "ask outside, and give it as an argument", "parser megakernel", "FM", source(_of_modules), until=PARSER, says="failed to resolve name")
rule("P239", "what nl.fori_loop gives its body has no arithmetic", "put it into the bounds of the loop, or scalar_offset=", "deepseek", "M", source(_on_registers), since="2.32", until="2.32", says="'add' expected ... got (int, object)")
rule("P242", "the parser refuses lambda, :=, yield, await and @", "a function at the top of the file; an assignment of its own", "parser", "F", source(_lambdas), syntax(ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await, ast.MatMult), until=PARSER, says="unsupported expression")
rule("P243", "a text has no format specifiers", "the value alone, f\"{x}\"", "parser", "F", _of(ast.FormattedValue, lambda node: node.format_spec is not None), until=PARSER, says="NKI does no support format specifiers")
rule("P244", "a number written in a kernel has 32 bits", "an argument of the kernel, or a tensor", "parser", "F", _of(ast.Constant, lambda node: type(node.value) is int and node.value >= 1 << 31), until="2.28", says="integer value is too large")
rule("P245", "a loop has no else", "if after the loop", "parser", "F", _of(ast.For, lambda node: node.orelse), _of(ast.While, lambda node: node.orelse), until=PARSER, says="for-orelse is not supported in NKI")
rule("P246", "with stands before nl.no_reorder() alone", "the lines without with", "parser", "F", _of(ast.With, lambda node: any(item.optional_vars or not ast.unparse(item.context_expr).endswith("no_reorder()") for item in node.items)), until=PARSER, says="only no_reorder is supported")
rule("P247", "min and max take two numbers or one list", "min(a, min(b, c))", "parser", "F", _of(ast.Call, lambda node: isinstance(node.func, ast.Name) and node.func.id in ("min", "max") and (len(node.args) > 2 or node.keywords)), until=PARSER, says="invalid arguments")
rule("P248", "the parser knows no methods of texts, few of lists and dictionaries, and math alone", "compute it outside", "parser", "F", source(_unknown_methods), until=PARSER, says="insert is not an attribute of list")
rule("P249", "no break, continue and return inside of nl.dynamic_range", "a loop of range", "parser", "F", source(_leaving), until=PARSER, says="break not allowed within dynamic loop")
rule("P250", "the parser does not find the classes of Python's enum", "hasattr(x, \"name\")", "nkilib profile", "DM", source(lambda given: nodes(given, ast.Call, lambda node: isinstance(node.func, ast.Name) and node.func.id == "isinstance" and any(given.full(one).startswith("enum.") for one in ast.walk(node.args[-1])))), until=PARSER, says="failed to resolve name")
