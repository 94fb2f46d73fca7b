"""Declares the rules of memories: what lies where, and how much of it."""

# fmt: off
import ast
from collections.abc import Callable, Iterator

from neff_bench.rules.call import Call, Operand
from neff_bench.rules.judges import call, kernel, refusal, source
from neff_bench.rules.rule import OfSource, rule
from neff_bench.rules.source import Source

_COPY = "nisa.tensor_copy one of them into SBUF first"
_TWICE = "NCC_IBVF027 Instruction can only read one of its non-scalar inputs from PSUM"


def _both_in_psum(first: str, second: str) -> Callable[[Call], bool]:
    def test(c: Call) -> bool:
        one, other = c[first], c[second]
        return isinstance(one, Operand) and isinstance(other, Operand) and one.memory == other.memory == "psum"

    return test


def _returned_hbm(given: Source) -> Iterator[ast.AST]:
    """Yield results of kernels that were made in nl.hbm."""
    for function in given.device:
        if given.kernels_of(function):
            returned = {node.id for one in given.held(function, ast.Return) for node in given.held(one, ast.Name)}
            for node in given.held(function, ast.Assign):
                if isinstance(node.value, ast.Call) and any(isinstance(one, ast.Name) and one.id in returned for one in node.targets):
                    if any(given.full(word) == "nki.language.hbm" for word in (*node.value.args, *(one.value for one in node.value.keywords))):
                        yield node


def _viewed_again(given: Source) -> Iterator[ast.AST]:
    """Yield `x.vector_select(...).view(...)`."""
    for method in (".view", ".reinterpret_cast"):
        for node in given.calls.get(method, ()):
            before = node.func.value if isinstance(node.func, ast.Attribute) else None
            if isinstance(before, ast.Call) and isinstance(before.func, ast.Attribute) and before.func.attr == "vector_select":
                yield node


def _of_psum(*functions: str) -> OfSource:
    """Call of functions with a tile that the same function made in PSUM."""

    def find(given: Source) -> Iterator[ast.AST]:
        for function in given.device:
            calls = [node for name in functions for node in given.calls.get(name, ()) if node in given.held(function, ast.Call)]
            tiles = {one.id for node in given.held(function, ast.Assign) if calls and _makes_psum(node.value, given) for one in node.targets if isinstance(one, ast.Name)}
            for node in calls:
                if tiles:
                    if any(isinstance(word, ast.Name) and word.id in tiles for word in (*node.args, *(one.value for one in node.keywords))):
                        yield node

    return source(find)


def _transposed_of_its_own(given: Source) -> Iterator[ast.AST]:
    """Yield calls of nl.load_transpose2d on a tensor that the same function made."""
    for function in given.device:
        made = {one.id for node in given.held(function, ast.Assign) if isinstance(node.value, ast.Call) and given.full(node.value.func) == "nki.language.ndarray" for one in node.targets if isinstance(one, ast.Name)}
        for node in given.calls.get("nki.language.load_transpose2d", ()):
            if node.args and node in given.held(function, ast.Call):
                read = node.args[0].value if isinstance(node.args[0], ast.Subscript) else node.args[0]
                if isinstance(read, ast.Name) and read.id in made:
                    yield node


def _psum_of_outside(given: Source) -> Iterator[ast.AST]:
    """Yield matmuls of dynamic loops into tiles in PSUM that the function made outside of them."""
    for function in given.device:
        for loop in given.held(function, ast.For):
            if isinstance(loop.iter, ast.Call) and given.full(loop.iter.func) == "nki.language.dynamic_range":
                made = [node for node in given.held(function, ast.Assign) if _makes_psum(node.value, given) and node not in given.held(loop, ast.Assign)]
                outside = {one.id for node in made for one in node.targets if isinstance(one, ast.Name)}
                for node in given.held(loop, ast.Call):
                    if given.full(node.func) in ("nki.isa.nc_matmul", "nki.isa.nc_transpose"):
                        dst = next((word.value for word in node.keywords if word.arg == "dst"), node.args[0] if node.args else None)
                        while isinstance(dst, ast.Subscript):
                            dst = dst.value
                        if isinstance(dst, ast.Name) and dst.id in outside:
                            yield node


def _makes_psum(node: ast.AST, given: Source) -> bool:
    words = (*node.args, *(one.value for one in node.keywords)) if isinstance(node, ast.Call) else ()
    return any(given.full(word) == "nki.language.psum" for word in words)


rule("M501", "a matmul writes PSUM", "a tile in nl.psum", "harness isa", "DM", refusal("^nc_matmul: dst must be in PSUM"), says="dst must be in ['psum'], got sbuf")
rule("M502", "a matmul reads SBUF", "nisa.tensor_copy from PSUM first", "harness isa", "DM", refusal("^nc_matmul: stationary and moving must be in SBUF"), says="stationary must be in ['sbuf'], got psum")
rule("M503", "DMA does not touch PSUM", "nisa.tensor_copy to SBUF first", "harness notes", "DM", call("dma_copy", lambda c: c["src"].memory == "psum"), refusal(r"^dma_\w+: \w+ must be in HBM or SBUF"), since="2.29", says="dma_copy requires HBM or SBUF tensors, got src=MemoryRegion.psum")
rule("M504", "compute engines do not touch HBM", "nisa.dma_copy to SBUF first", "harness", "M", refusal("must be in SBUF or PSUM; .* is in HBM"), says="tensor_copy dst must be in ['sbuf', 'psum'], got shared_hbm")
rule("M505", "the result of a kernel lies in nl.shared_hbm", "buffer=nl.shared_hbm", "migration", "D", source(_returned_hbm), since="2.29")
rule("M506", "every result of a kernel is written", "nisa.dma_copy into it", "errors triton-viz", "DE", kernel(lambda k: ", ".join(k.unwritten)), says="err_tensor_output_not_written_to")
rule("M507", "a kernel does not write its inputs", "a tensor of its own in nl.shared_hbm", "errors", "D", call("dma_copy dma_transpose dma_compute", lambda c: c["dst"].kind == "input"), until="2.28", says="err_cannot_update_immutable_parameter")
rule("M509", "a tile is read that nothing wrote", "nisa.memset it first", "triton-viz", "M", kernel(lambda k: ", ".join(k.undefined)), says="Illegal IR, encountered undefined use")
rule("M510", "SBUF is full", "smaller tiles, or fewer at one time", "hardware harness", "DM", refusal(r"^SBUF of core \d is full|^sbuf tensor .* needs"), says="Out of memory in sbuf; NCC_EGCA111")
rule("M511", "the result of a matmul lies in one PSUM bank of 2048 bytes", "512 float32 columns that begin at a bank", "sizes trn1 isa", "D", refusal("^nc_matmul: dst crosses a PSUM bank"))
rule("M512", "PSUM is full", "fewer tiles at one time; a partition has 8 banks of 2048 bytes", "sizes notes", "D", refusal(r"^PSUM of core \d is full|^psum tensor .* needs"), says="Out of memory in psum")
rule("M513", "a kernel places all tiles of a memory or none", "address= for all of them, or for none", "megakernel standalone", "M", kernel(lambda k: any({tile.address is not None for tile in k.tiles if tile.memory == memory} == {True, False} for memory in ("sbuf", "psum"))), since="2.29", says="NCC_EGCA111 Memory allocation failed; Spilling is disabled")
rule("M514", "a bfloat16 tile in PSUM is placed at a multiple of 4 bytes", "address=(partition, 4 * n)", "standalone", "M", kernel(lambda k: any(tile.memory == "psum" and tile.address is not None and tile.address % 4 for tile in k.tiles)))
rule("M515", "tensor_tensor does not read PSUM twice", _COPY, "isa blocked", "DM", call("tensor_tensor", _both_in_psum("data1", "data2")), refusal("^tensor_tensor: data1 and data2 cannot both be in PSUM"), says=_TWICE)
rule("M516", "scalar_tensor_tensor does not read PSUM twice", _COPY, "isa blocked", "DM", call("scalar_tensor_tensor", _both_in_psum("data", "operand1")), says=_TWICE)
rule("M517", "tensor_tensor_scan does not read PSUM twice", _COPY, "isa blocked", "DM", call("tensor_tensor_scan", _both_in_psum("data0", "data1")), says=_TWICE)
rule("M518", "iota and affine_select write SBUF", "a tile in nl.sbuf", "isa", "D", refusal("^(iota|affine_select): GpSimd cannot access PSUM"))
rule("M519", "dma_transpose writes SBUF", "a tile in nl.sbuf, then nisa.dma_copy", "isa vision", "DM", call("dma_transpose", lambda c: c["dst"].memory == "hbm"), says="NCC_INLA001 DMACopy: transpose only supported for HBM->SB")
rule("M520", "GpSimd does not reach PSUM", "engine=nisa.engine.vector", "isa trn1", "D", refusal("^(?!iota|affine_select).*: GpSimd cannot access PSUM"))
rule("M521", "a matmul that accumulates onto what another instruction wrote gives undefined numbers on trn1 and trn2", "the first matmul of the sum without accumulate=True", "isa simulator", "D", kernel(lambda k: ", ".join(k.accumulates_onto)), chips="trn1 trn2", since="2.32")
rule("M522", "a sum of matmuls is read after its last matmul", "read it once, at the end; or begin a new sum without accumulate=True", "prefill", "M", kernel(lambda k: ", ".join(k.read_open)), chips="trn2", says="NCC_ISCH714")
rule("M524", "the address of an operand of a compute engine is known when the kernel is compiled", "nisa.dma_copy, which takes run-time addresses", "megakernel kiln", "M", call("", lambda c: ", ".join(sorted({one.memory for one in c.operands if one.dynamic and one.memory != "hbm"}))), says="NCC_INLA001 Dynamic Access is not allowed in the instruction; NCC_IBIR829")
rule("M525", "a run-time offset is an argument of .ap()", "x.ap(pattern, scalar_offset=...)", "megakernel prefill nkilib", "MC", source(lambda given: (node for full, nodes in given.calls.items() if full not in (".ap", "") for node in nodes if any(word.arg == "scalar_offset" for word in node.keywords))), says="NCC_IBIR030")
rule("M526", "indices of rows address HBM alone", "nisa.nc_n_gather or nisa.local_gather in SBUF", "patterns", "D", call("", lambda c: any(one.gathered and one.memory != "hbm" for one in c.operands)), call("dma_copy dma_transpose", lambda c: any(one.gathered and one.memory != "hbm" for one in c.operands)))
rule("M527", "a view of vector_select takes no other dtype", "x.view(dtype) first, then .vector_select(...)", "notes", "D", source(_viewed_again), since="2.31")
rule("M528", ".indirect() needs trn3", "x.ap(..., vector_offset=...) of a tensor in HBM", "notes isa", "D", refusal("tensor indirection"), chips="trn1 trn2", since="2.31")
rule("M529", "nl.store does not take a tile in PSUM", "nisa.tensor_copy to SBUF first", "notes", "D", _of_psum("nki.language.store"), since="2.29")
rule("M530", "nl.copy does not copy from PSUM", "nisa.tensor_copy", "notes trnsparse", "DM", _of_psum("nki.language.copy"), since="2.29", until="2.31", says="dma_copy requires HBM or SBUF tensors, got src=MemoryRegion.psum")
rule("M531", "nl.rsqrt does not read PSUM", "nisa.activation(op=nl.rsqrt), or a copy to SBUF first", "notes", "D", _of_psum("nki.language.rsqrt"), since="2.31")
rule("X723", "nl.load_transpose2d of a tensor that the kernel made fails on trn1", "make it an argument of the kernel", "trnfft", "M", source(_transposed_of_its_own), chips="trn1", since="2.29")
rule("X721", "two tiles that are used at one time are not placed at one address", "another address=", "autotune", "M", refusal("both were placed at"), says="NCC_ISCH714")
rule("K951", "a kernel of nki-library refuses these shapes", "what the message asks for", "nkilib megakernel", "DM", refusal("Kernel validation exception"), says="NCC_INKI016")
rule("M533", "nc_transpose on the Tensor Engine reads SBUF and writes PSUM", "nisa.tensor_copy; engine=nisa.engine.vector up to 32 x 32", "isa", "D", refusal("^nc_transpose: the Tensor engine reads SBUF"))
rule("M534", "src and predicate of tensor_copy_predicated are not both in PSUM", _COPY, "isa", "D", call("tensor_copy_predicated", _both_in_psum("src", "predicate")))
rule("M536", "nl.load reads HBM and nl.store writes it; the other functions of nl read SBUF and PSUM", "a copy into SBUF first", "errors", "E", refusal(r"load the tile first|^(load|store): \w+ must be in HBM"), says="err_unsupported_memory")
rule("M537", "the result of a kernel lies in HBM", "a tensor in nl.shared_hbm, and nisa.dma_copy into it", "migration", "D", refusal(r"^result \d+ is in (sbuf|psum)"))
rule("M535", "a matmul in a dynamic loop writes PSUM that was made inside of the loop", "make the tile in the body", "kiln", "M", source(_psum_of_outside), says="NCC_IBIR092 Live-in/Live-out MemoryLocation not allocated to MemoryType: DRAM")
