"""Declares the rules of DMA and of transfers between cores."""

# fmt: off
import ast
from collections.abc import Iterator

from neff_bench.rules.call import Call, Operand
from neff_bench.rules.judges import call, refusal, source
from neff_bench.rules.rule import rule
from neff_bench.rules.source import Source

_COLLECTIVES = "all_reduce all_gather reduce_scatter all_to_all collective_permute"
_HALF = ("bfloat16", "float16", "int16", "uint16")


def _hardware(c: Call) -> bool:
    return bool(c["dge_mode"] == "hwdge")


def _gathers(c: Call) -> bool:
    return any(one.gathered for one in c.operands)


def _indexed(c: Call) -> bool:
    return any(one.dynamic for one in c.operands)


def _not_unique(given: Source) -> Iterator[ast.AST]:
    return (node for node in given.calls.get("nki.isa.dma_compute", ()) if any(word.arg == "unique_indices" and ast.unparse(word.value) == "False" for word in node.keywords))


def _wide_rows(c: Call) -> bool:
    src = c["src"]
    return _hardware(c) and len(src.shape) == 2 and (src.shape[0] != 16 or src.shape[-1] > 128)


rule("X701", "dma_copy takes engine= with dge_mode=hwdge, and sync or scalar alone", "leave engine= out, or nisa.engine.sync", "isa", "D", call("dma_copy", lambda c: c.attributes.get("engine") not in (None, "sync", "scalar", "gpsimd") or (c.attributes.get("engine") == "gpsimd" and _hardware(c))), chips="trn2 trn3", since="2.29")
rule("X702", "the hardware makes descriptors from trn2 on", "leave dge_mode= out", "dge", "D", call("dma_copy dma_transpose", _hardware), chips="trn1")
rule("X703", "the hardware's descriptors do not gather and scatter", "dge_mode=nisa.dge_mode.swdge", "dge isa", "D", call("dma_copy", lambda c: _hardware(c) and _gathers(c)), chips="trn2 trn3")
rule("X704", "priority needs trn3 and is 0 to 3", "leave priority= out", "isa", "D", call("dma_copy dma_transpose", lambda c: c.attributes.get("priority") is not None), chips="trn1 trn2", since="2.30")
rule("X705", "oob_mode.skip needs an index", "oob_mode.error", "isa", "D", call("dma_copy", lambda c: c["oob_mode"] == "skip" and not _indexed(c)))
rule("X706", "dma_compute adds alone", "nisa.tensor_tensor in SBUF", "isa", "D", refusal("^dma_compute: reduce_op must be add"))
rule("X707", "the scales of dma_compute are 1.0", "nisa.tensor_scalar first", "isa", "D", call("dma_compute", lambda c: any(scale != 1.0 for scale in c["scales"] or ())), since="2.29")
rule("X708", "dma_compute has at most 16 sources", "two of them", "isa", "D", refusal("^dma_compute: 1 to 16 sources"))
rule("X709", "oob_mode.skip of dma_compute needs an index", "oob_mode.error", "notes isa", "D", call("dma_compute", lambda c: c["oob_mode"] == "skip" and not _indexed(c)), since="2.30")
rule("X710", "dst of dma_transpose has the shape of the transposed src", "src's shape, reversed", "notes", "D", refusal("^dma_transpose: .* elements into"), since="2.30")
rule("X711", "dma_transpose has the axes (1, 0), (2, 1, 0) and (3, 1, 2, 0)", "one of these", "isa", "D", refusal("^dma_transpose: axes"))
rule("X722", "dma_transpose takes four dimensions in SDK 2.28", "src and dst reshaped to (rows, 1, 1, columns)", "1301", "M", call("dma_transpose", lambda c: len(c["src"].shape) != 4), until="2.28", says="source tensor must have 4 dimmensions")
rule("X712", "dma_transpose by the hardware's descriptors moves elements of two bytes", "bfloat16, or dge_mode left out", "isa", "D", call("dma_transpose", lambda c: _hardware(c) and c["src"].dtype not in _HALF), chips="trn2 trn3")
rule("X713", "dma_transpose by the hardware's descriptors reads 16 rows of at most 128 elements", "(16, 128), or dge_mode left out", "isa", "D", call("dma_transpose", _wide_rows), chips="trn2 trn3", since="2.32")
rule("X714", "dma_transpose of indexed rows needs trn2, elements of two bytes, a multiple of 16 rows and software descriptors", "nisa.dma_copy of the rows, then nisa.dma_transpose", "isa", "D", call("dma_transpose", lambda c: c["src"].gathered and (c.target in ("trn1", "inf2") or _hardware(c) or c["src"].dtype not in _HALF or c["src"].partitions % 16)))
rule("X715", "rows that dma_transpose writes lie a multiple of 32 bytes apart", "a wider tile", "nkilib standalone", "DM", call("dma_transpose", lambda c: c["dst"].memory == "sbuf" and c["dst"].shape[-1] > 1 and c["dst"].step_bytes % 32 != 0), chips="trn2 trn3", says="NCC_IBIR155")
rule("X717", "sendrecv needs two cores, trn2 and tiles in SBUF", "kernel[2]", "isa", "D", refusal("^sendrecv: "), call("sendrecv", lambda c: c.lnc != 2 or c.target in ("trn1", "inf2") or any(one.memory != "sbuf" for one in c.operands)))
rule("X718", "sendrecv moves a multiple of 16 partitions", "a tile of 16, 32, ... rows", "notes", "D", call("sendrecv", lambda c: c["src"].partitions % 16 != 0), until="2.29")
rule("X719", "sendrecv by GpSimd moves at most 1024 bytes of a partition", "leave dma_engine= out", "isa", "D", call("sendrecv", lambda c: c["dma_engine"] == "gpsimd_dma" and c["src"].columns_bytes > 1024), since="2.29")
rule("C913", "a collective does not take an input or a result of the kernel", "nisa.dma_copy to and from a tensor in nl.shared_hbm", "collectives kiln", "M", call(_COLLECTIVES, lambda c: any(isinstance(one, Operand) and one.kind in ("input", "output") for one in c.operands)), refusal(r"^\w+: .* is an input; copy it"), says="Collective instruction cannot read IO tensors; NCC_INLA001")
rule("X724", "core_barrier joins the cores (0, 1) on a tensor in HBM", "a tensor in nl.shared_hbm, cores=(0, 1)", "isa", "D", call("core_barrier", lambda c: any(one.memory != "hbm" for one in c.operands) or (c["cores"] is not None and tuple(c["cores"]) != (0, 1))))
rule("X726", "dma_copy inside of the chip has the same partitions on both sides", "nisa.dma_transpose, or nisa.dma_copy through HBM", "trnlabs", "M", call("dma_copy", lambda c: c["src"].memory == c["dst"].memory == "sbuf" and c["src"].partitions != c["dst"].partitions), since="2.29", says="cannot align DMA operands: source has 12 elements but destination has 4; ensure source and destination tile shapes have matching element counts")
rule("X725", "the indices of dma_compute are unique", "leave unique_indices= out", "isa", "D", source(_not_unique))
rule("X727", "dma_copy reads no tile at a place that is known at run time", "nisa.tensor_copy of it into a tile, then nisa.dma_copy", "1373", "M", call("dma_copy", lambda c: c["src"].memory == "sbuf" and c["src"].dynamic), since="2.31", says="segmentation fault")
