"""Names and arguments that a release has not, or has no longer."""

# fmt: off
import ast
from collections.abc import Iterator

from neff_bench.rules.judges import called, dropped, kernel, keyword, name, refusal, renamed, replaced, source
from neff_bench.rules.rule import OfReleases, OfSource, Place, rule
from neff_bench.rules.signatures import misfits, unknown
from neff_bench.rules.source import Source

_NO_TILE = ("register_", "get_", "nc_version", "core_", "engine", "oob_mode", "dge_mode", "reduce_cmd", "matmul_perf_mode", "dma_engine")
_FUNCTIONS = tuple(f"nki.language.{one}" for one in "all arctan broadcast_to ceil copy cos dropout empty_like erf erf_dx exp expand_dims floor fmod full gather_flattened gelu gelu_apprx_tanh gelu_dx load_transpose2d log matmul max mean min mish mod negative ones prod rand random_seed relu rms_norm sigmoid sign silu silu_dx sin softmax softplus sqrt square sum tan tanh transpose trunc var where zeros_like".split())
"""What nki.language has as functions from SDK 2.29 on."""
_MASK = "take the slice that the mask lets through"


def _old(given: Source) -> Iterator[ast.AST]:
    imports = (*given.of(ast.Import), *given.of(ast.ImportFrom)) if given.old else ()
    return (node for node in imports if "neuronxcc" in ast.unparse(node))


def _mixed(given: Source) -> Iterator[ast.AST]:
    """Yield names of the old package in kernels of the current one; some private kernels of the compiler are taken."""
    for node in given.inside.get(ast.Name, ()):
        full = "" if given.old else given.full(node)
        if full.startswith("neuronxcc.nki") and "._p" not in full:
            yield node


def _to_nki(node: ast.AST, given: Source) -> Iterator[tuple[Place, Place, str]]:
    """Yield an import of the old dialect as one of the current: `from neuronxcc import nki` is `import nki`."""
    if isinstance(node, (ast.Import, ast.ImportFrom)) and "kernels" not in ast.unparse(node):
        new = ast.unparse(node).replace("neuronxcc.nki", "nki").replace("from neuronxcc import nki", "import nki").replace("import nki as nki", "import nki")
        yield (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0), new


def _to_jit(node: ast.AST, given: Source) -> Iterator[tuple[Place, Place, str]]:
    """Yield a decorator that benchmarked a kernel as nki.jit; `nki.simulate_kernel(kernel, x)` as `nki.simulate(kernel)(x)`."""
    full = given.full(node)
    for function in given.of(ast.FunctionDef):
        for one in function.decorator_list:
            if node is one or (isinstance(one, ast.Call) and node is one.func):
                prefix = ast.unparse(node).rpartition(".")[0]
                yield (one.lineno, one.col_offset), (one.end_lineno or one.lineno, one.end_col_offset or 0), f"{prefix}.jit" if prefix else "jit"
    for call in given.of(ast.Call):
        if call.func is node and full == "nki.simulate_kernel" and call.args and isinstance(node, ast.Attribute):
            first = call.args[0]
            after: list[ast.expr | ast.keyword] = [*call.args[1:], *call.keywords]
            begin = (after[0].lineno, after[0].col_offset) if after else (first.end_lineno or 0, first.end_col_offset or 0)
            text = f"{ast.unparse(node.value)}.simulate({ast.unparse(first)})("
            yield (call.lineno, call.col_offset), begin, text


def _broadcast_methods(given: Source) -> Iterator[ast.AST]:
    """Yield calls of a method broadcast_to: of a tensor, not of nki.language or numpy."""
    return (node for node in given.inside.get(ast.Call, ()) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "broadcast_to" and not given.full(node.func))


def _taken_results(given: Source) -> Iterator[ast.AST]:
    """Yield instructions whose result is assigned, added or returned, as if it were a tile."""
    taken = {id(node.value) for kind in (ast.Assign, ast.AugAssign, ast.Return) for node in given.inside.get(kind, ()) if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return))}
    for full, calls in given.calls.items():
        if full.startswith("nki.isa.") and not full[8:].startswith(_NO_TILE):
            yield from (node for node in calls if id(node) in taken and not any(word.arg == "dst" for word in node.keywords))


def _third_is_list(given: Source) -> Iterator[ast.AST]:
    return (node for node in given.calls.get("nki.isa.dma_compute", ()) if len(node.args) > 2 and isinstance(node.args[2], (ast.List, ast.Tuple)))


def _mode_in_place_of_priority(given: Source) -> Iterator[ast.AST]:
    for function, place in (("dma_copy", 2), ("dma_transpose", 3)):
        for node in given.calls.get(f"nki.isa.{function}", ()):
            if len(node.args) > place and given.full(node.args[place]).startswith(("nki.isa.oob_mode", "nki.isa.dge_mode")):
                yield node


def _package_kernels(given: Source) -> Iterator[ast.AST]:
    packages = ("nki.kernels.", "nki._private_kernels.", "nki._pre_prod_kernels.")
    return (node for full, nodes in given.uses.items() if full.startswith(packages) for node in nodes if isinstance(node, ast.ImportFrom))


def _added_products(given: Source) -> Iterator[ast.AST]:
    for node in given.of(ast.AugAssign):
        if isinstance(node.value, ast.Call) and given.full(node.value.func) in ("nki.isa.nc_matmul", "nki.language.matmul"):
            yield node


def _method(method: str, word: str = "") -> OfSource:
    return source(lambda given: (node for node in given.calls.get(f".{method}", ()) if not word or any(one.arg == word for one in node.keywords)))


def _variable(text: str) -> OfSource:
    return source(lambda given: (node for node in given.of(ast.Constant) if node.value == text))


rule("N101", "a kernel that imports nki uses nothing of neuronxcc.nki beside it", "import nki; `neff-bench migrate` names what changes with it", "parser notes", "DF", source(_mixed), since="2.30", says="beta-1 API used in kernel: APIs from neuronxcc may not be used in Beta-2 kernels")
rule("N156", "AWS's notes say that SDK 2.30 and later refuse neuronxcc.nki; two public projects compile it with SDK 2.32 all the same", "import nki; `neff-bench migrate` names what changes with it", "notes migration", "D", source(_old), since="2.30", fix=_to_nki)
rule("N102", "index grids are gone", "use slices or nl.ds(start, size); for every second or third element tile.ap([[step, count], ...]), one pair for each dimension, steps in elements", "migration stubs", "DA", name("nki.language.arange", "nki.language.mgrid"), says="attribute missing")
rule("N103", "no call takes mask=", _MASK, "migration notes", "DA", keyword("nki.isa. nki.language.", "mask"), says="unexpected keyword argument")
rule("N104", "an instruction returns no tile and has all its arguments", "make the tile first and give it as dst=", "migration old", "DA", source(_taken_results), refusal(r"^(nisa|nl)\.\w+ (missing \d+ required positional|takes .* positional arguments? but)|needs operand\d"), says="missing argument")
rule("N105", "instructions take no dtype=", "give dst the dtype", "migration nkilib", "DC", keyword("nki.isa.", "dtype"), says="unexpected keyword argument")
rule("N106", "nisa.memset takes a tile, not a shape", "nl.ndarray(...), then nisa.memset(dst=...)", "migration", "D", refusal("^memset: dst must be a tensor, not tuple"), says="missing argument")
rule("N107", "nl.par_dim and block dimensions are gone", "put the partitions first; a list of tiles stands for blocks", "migration stubs", "DA", name("nki.language.par_dim"), since="2.29")
rule("N108", "SDK 2.28 has no functions of nki.language that load, store and compute", "nisa.dma_copy, and an instruction for what is computed", "stubs notes", "DA", name("nki.language.load", "nki.language.store"), called(*_FUNCTIONS), until="2.28")
rule("N109", "nki.benchmark, nki.profile, nki.baremetal and nki.simulate_kernel are gone", "call the kernel; time it with `neff-bench run`; compute it with nki.simulate (from SDK 2.29)", "migration stubs", "DA", name("nki.benchmark", "nki.profile", "nki.baremetal", "nki.simulate_kernel"), fix=_to_jit)
rule("N110", "nki.tensor is no class of tiles", "annotate nothing, or nl.NkiTensor (from SDK 2.29)", "migration stubs", "DA", name("nki.tensor.Tensor"))
rule("N111", "nisa.affine_select takes no pred=", "pattern=, offset=, channel_multiplier= and cmp_op=", "migration stubs", "DA", keyword("nki.isa.affine_select", "pred"), says="unexpected keyword argument")
rule("N112", "nisa.iota takes no expr=", "pattern=, offset= and channel_multiplier=", "migration stubs", "DA", keyword("nki.isa.iota", "expr"), says="unexpected keyword argument")
rule("N113", "nisa.nc_matmul takes neither psumAccumulateFlag= nor is_moving_zero=", "accumulate= and is_moving_onezero=", "isa stubs", "DA", keyword("nki.isa.nc_matmul", "psumAccumulateFlag", "is_moving_zero"), says="unexpected keyword argument", fix=renamed("is_moving_zero", "is_moving_onezero"))
rule("N114", "nisa.dma_copy takes neither dst_rmw_op= nor unique_indices=", "nisa.dma_compute", "notes stubs", "DA", keyword("nki.isa.dma_copy", "dst_rmw_op", "unique_indices"), since="2.29", says="unexpected keyword argument")
rule("N115", "the third argument of nisa.dma_compute is reduce_op, not scales", "name the arguments", "migration", "D", source(_third_is_list), since="2.29")
rule("N116", "nisa.sendrecv takes no use_gpsimd_dma=", "dma_engine=nisa.dma_engine.gpsimd_dma", "migration stubs", "DA", keyword("nki.isa.sendrecv", "use_gpsimd_dma"), since="2.29", says="unexpected keyword argument")
rule("N117", "nisa.register_move takes no imm=", "src=", "migration stubs", "DA", keyword("nki.isa.register_move", "imm"), since="2.29", says="unexpected keyword argument", fix=renamed("imm", "src"))
rule("N118", "collectives take no num_channels=", "leave it out", "migration stubs", "DA", keyword("nki.collectives.", "num_channels"), since="2.29", says="unexpected keyword argument", fix=dropped("num_channels"))
rule("N119", "priority comes before oob_mode and dge_mode", "name the argument", "stubs", "DA", source(_mode_in_place_of_priority), since="2.30")
rule("N120", "nisa.tensor_copy_dynamic_src and _dst are gone", "nisa.tensor_copy of x.ap(..., scalar_offset=...)", "notes", "DA", name("nki.isa.tensor_copy_dynamic_src", "nki.isa.tensor_copy_dynamic_dst"))
rule("N121", "reshape takes no new_shape=", "reshape(shape)", "stubs", "DA", _method("reshape", "new_shape"), since="2.31", says="unexpected keyword argument", fix=renamed("new_shape", "shape"))
rule("N122", "nl.NkiTensor takes no pattern= and no offset=", "a method of the tile, such as x.ap(...)", "stubs", "DA", keyword("nki.language.NkiTensor", "pattern", "offset"), since="2.31", says="unexpected keyword argument")
rule("N123", "tiles have no vector_select", "x.ap(..., vector_offset=...)", "stubs", "DA", _method("vector_select"), until="2.30")
rule("N124", "this release has no nl.fori_loop, nl.while_loop, nisa.topk and all_gather_v", "range, or nl.dynamic_range (from SDK 2.29); nisa.max8 and nisa.nc_find_index8", "stubs notes", "DA", name("nki.language.fori_loop", "nki.language.while_loop", "nki.isa.topk", "nki.collectives.all_gather_v"), until="2.31")
rule("N125", "this release has no activate2, abs_max, abs_min, prelu, bypass and sizes in bytes", "nisa.activation; numbers of the chip", "stubs notes", "DA", name("nki.isa.activate2", "nki.language.abs_max", "nki.language.abs_min", "nki.language.prelu", "nki.language.bypass", "nki.language.tile_size.sbuf_fmax_bytes", "nki.language.tile_size.sbuf_size_bytes", "nki.language.tile_size.psum_bank_fmax_bytes"), until="2.29")
rule("N126", "the declarations of SDK 2.29 have no nl.shared_constant", "an input of the kernel", "stubs nkilib", "AC", name("nki.language.shared_constant"), since="2.29", until="2.29")
rule("N127", "nl.tile_size has no psum_fmax_bytes", "nl.tile_size.psum_bank_fmax_bytes (from SDK 2.30)", "sizes harness", "DA", name("nki.language.tile_size.psum_fmax_bytes"), fix=replaced("psum_fmax_bytes", "psum_bank_fmax_bytes"))
rule("N128", "nki.isa has no rsqrt", "nisa.activation(op=nl.rsqrt)", "isa harness", "DA", name("nki.isa.rsqrt"))
rule("N129", "total_available_sbuf_size is deprecated", "nl.tile_size.sbuf_fmax_bytes", "notes sizes", "DO", name("nki.language.tile_size.total_available_sbuf_size"), since="2.30")
rule("N130", "nki.jit takes no func=", "fn=, or the function alone", "stubs", "DA", keyword("nki.jit", "func"), since="2.30", says="unexpected keyword argument", fix=renamed("func", "fn"))
rule("N131", "nki.jit refuses platform_target=", "leave it out; NEURON_PLATFORM_TARGET_OVERRIDE names the chip", "migration harness", "DM", keyword("nki.jit", "platform_target"), since="2.29", says="ValueError: nki.jit 'platform_target' is deprecated", fix=dropped("platform_target"))
rule("N132", "NKIObject is not in nki.isa", "nl.NKIObject", "stubs", "DA", name("nki.isa.NKIObject"), since="2.30")
rule("N133", "a keyword that a function does not have is an error", "see the signature", "notes old", "D", refusal(r"^(nisa|nl)\.\w+ got an unexpected keyword argument|\w+\(\) got an unexpected keyword"), says="unexpected keyword argument")
rule("N135", "nl.zeros takes no buffer=", "nl.ndarray(..., buffer=...) and nisa.memset", "1282", "M", keyword("nki.language.zeros", "buffer"), chips="trn1", until="2.28", says="nl.zeros appears to no longer support the buffer= parameter")
rule("N158", "before SDK 2.30, dma_copy and dma_transpose take no priority=, dma_compute no oob_mode=, tensor_scalar_reduce no reduce_cmd= and reduce_init=", "leave it out", "stubs", "DA", keyword("nki.isa.dma_copy nki.isa.dma_transpose", "priority"), keyword("nki.isa.dma_compute", "oob_mode"), keyword("nki.isa.tensor_scalar_reduce", "reduce_cmd", "reduce_init"), until="2.29", says="unexpected keyword argument")
rule("N159", "collectives take no name= before SDK 2.31", "leave it out", "stubs", "DA", keyword("nki.collectives.", "name"), until="2.30", says="unexpected keyword argument")
rule("N160", "tensor_scalar_reduce takes no reduce_res_negate= before SDK 2.32", "nisa.tensor_scalar after it", "stubs", "DA", keyword("nki.isa.tensor_scalar_reduce", "reduce_res_negate"), until="2.31", says="unexpected keyword argument")
rule("N136", "this release has no float8_e8m0fnu, nl.average and nisa.get_nc_sub_version", "uint8 for scales; add and multiply", "stubs", "DA", name("nki.language.float8_e8m0fnu", "nki.language.average", "nki.isa.get_nc_sub_version"), until="2.30")
rule("N138", "the parser front end ends with NKI 0.8", "leave NKI_COMPILER_FRONTEND unset", "2.33", "D", _variable("NKI_COMPILER_FRONTEND"), since="2.34")
rule("N139", "nki.jit takes neither compile_config= nor specialization_config=", "leave them out before SDK 2.33", "2.33 stubs", "DA", keyword("nki.jit", "compile_config", "specialization_config"), until="2.32", says="unexpected keyword argument")
rule("N140", "one page of AWS's says that NKI of this release does not support trn1 and inf2; others say it does", "trn2, or the old dialect", "1322 trnrand", "I", kernel(lambda k: True), chips="trn1", since="2.29")
rule("N141", "nisa.activation_reduce is kept for old kernels alone", "nisa.activation(reduce_op=, reduce_res=)", "isa", "DO", called("nki.isa.activation_reduce"), since="2.29")
rule("N142", "AWS calls affine_range, sequential_range and static_range deprecated", "range", "loops", "DO", name("nki.language.affine_range", "nki.language.sequential_range", "nki.language.static_range"), since="2.32")
rule("N143", "nl.dynamic_range needs the parser front end", "nl.fori_loop", "notes 2.33", "D", name("nki.language.dynamic_range"), since="2.33")
rule("N144", "tile_size.psum_fmax is deprecated", "nl.tile_size.psum_bank_fmax_bytes", "sizes", "DO", name("nki.language.tile_size.psum_fmax"), since="2.30")
rule("N145", "nl.loop_reduce is gone", "an accumulator tile and nisa.tensor_tensor(dst=acc, data1=acc, data2=x, op=...)", "migration stubs", "DA", name("nki.language.loop_reduce"))
rule("N146", "nl.static_cast is gone", "nisa.tensor_copy(dst=tile_of_the_other_dtype, src=x)", "migration stubs", "DA", name("nki.language.static_cast"))
rule("N147", "nl.spmd_dim and nl.nc are gone", "kernel[2] for the two cores of LNC 2; a loop for other programs", "migration stubs", "DA", name("nki.language.spmd_dim", "nki.language.nc"))
rule("N148", "nl.atomic_rmw is gone", "nisa.dma_compute(dst, [dst, value], reduce_op=nl.add)", "migration stubs", "DA", name("nki.language.atomic_rmw"))
rule("N149", "nl.fp32 is gone", "the number itself, -3.4028235e38 for fp32.min", "migration stubs", "DA", name("nki.language.fp32"))
rule("N150", "nki.trace is gone", "nki.jit", "migration stubs", "DA", name("nki.trace"), fix=replaced("trace", "jit"))
rule("N151", "decorators of nki.compiler are gone", "leave them out: the current compiler takes instructions as they are", "migration stubs", "DA", name("nki.compiler.skip_middle_end_transformations", "nki.compiler.enable_stack_allocator", "nki.compiler.force_auto_alloc"))
rule("N152", "nki.compiler.sbuf and psum place no tiles", "nl.ndarray(..., address=(partition, byte))", "migration stubs", "DA", name("nki.compiler.sbuf.alloc", "nki.compiler.sbuf.mod_alloc", "nki.compiler.psum.alloc", "nki.compiler.psum.mod_alloc"))
rule("N153", "kernels of the compiler's package are gone", "the kernel of nki-library (nkilib) of the same purpose", "migration", "D", source(_package_kernels))
rule("N155", "nki has no such name", "a name of the API reference; see what the message proposes", "stubs old trnrand", "DA", refusal(r"^(neuronxcc\.)?nki\.(isa|language|collectives) has no '"), says="attribute missing")
rule("N154", "a product is not added to a tile", "nisa.nc_matmul(dst=psum, ..., accumulate=True) after the first", "migration", "D", source(_added_products))
rule("N161", "a call has the arguments of the release's declaration", "the arguments that the message names", "stubs", "DA", OfReleases(misfits), until="2.32", says="missing argument; unexpected keyword argument; too many positional arguments")
rule("N162", "the release has no such name", "a name of the API reference", "stubs", "DA", OfReleases(unknown), until="2.32", says="attribute missing")
rule("N163", "a tensor has no method broadcast_to", "the method broadcast(dim, size)", "language hfkernels", "MA", source(_broadcast_methods), says="failed to resolve name")
