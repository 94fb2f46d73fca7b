"""Says which operators, engines and chips an instruction has."""

# fmt: off
import ast
from collections.abc import Callable, Iterator

from neff_bench.rules.call import Call, Operand
from neff_bench.rules.declared.dtypes import BITWISE
from neff_bench.rules.judges import call, called, keyword, operator, refusal, source
from neff_bench.rules.rule import rule
from neff_bench.rules.source import Source

_DIVIDE = "multiply by nisa.reciprocal"
_UNARY = ("rsqrt", "sqrt", "abs", "square", "relu", "negative", "reciprocal", "exp", "log", "sign", "floor", "ceil")
_NO_TILES = ("register_load", "register_store", "core_barrier", "nc_matmul_mx", "quantize_mx")


def _engine(c: Call, name: str) -> bool:
    return c.attributes.get("engine") == name


def _starts(c: Call, test: Callable[[int, int], object]) -> str:
    """Return the operands on the chip for which `test(rows, start)` holds."""
    if c.op in _NO_TILES:
        return ""
    wrong = [one for one in c.operands if one.memory != "hbm" and one.step_bytes and test(one.partitions, one.start)]
    return ", ".join(dict.fromkeys(f"{one.partitions} rows from partition {one.start}" for one in wrong))


def _crossing(rows: int, start: int) -> bool:
    return start % 32 == 0 and start > 0 and (rows > 64 or (rows > 32 and start != 64))


def _immediate(c: Call) -> bool:
    """Return whether an activation has a number as its bias: log has one where no bias is given."""
    return c["op"] not in ("copy", "reciprocal") and (bool(c.attributes.get("bias")) or (c["op"] == "log" and not c["bias"]))


def _powers(given: Source) -> Iterator[ast.AST]:
    """Return nl.power of a tile and a number."""
    return (node for node in given.calls.get("nki.language.power", ()) if any(isinstance(one, ast.Constant) for one in (*node.args[1:], *(word.value for word in node.keywords if word.arg != "name"))))


rule("E654", "nl.rms_norm does not compile", "the mean of the squares by nisa.activation_reduce, then nisa.tensor_scalar and nisa.tensor_tensor", "xpuperf", "M", called("nki.language.rms_norm"), since="2.32", says="'dst' free total elements 5120 != 'rhs' free total elements 1")
rule("E601", "nl.divide works in AWS's simulator alone", _DIVIDE, "notes harness torchneuronx", "DM", called("nki.language.divide"), since="2.29", says="unsupported operator 'divide'; NCC_IXCG864")
rule("E602", "tensor_tensor has no operator divide", _DIVIDE, "harness notes", "DM", operator("tensor_tensor", "op", "divide"), chips="trn2 trn3", since="2.29", says="unsupported operator 'divide'")
rule("E603", "tensor_scalar has no operator divide", _DIVIDE, "attention notes", "DM", operator("tensor_scalar scalar_tensor_tensor", "op0 op1", "divide"), chips="trn2 trn3", since="2.29", says="invalid kwarg 'op0': unsupported operator 'divide'")
rule("E604", "nl.mod and nl.fmod work in AWS's simulator alone", "subtract the multiple, computed by nisa.reciprocal", "notes harness spectral", "DM", operator("tensor_tensor", "op", "mod", "fmod"), operator("tensor_scalar scalar_tensor_tensor", "op0 op1", "mod", "fmod"), since="2.29", says="unsupported operator 'mod'; NCC_IXCG863")
rule("E605", "nl.power of a tile and a number fails", "nisa.activation, or multiply", "notes", "D", source(_powers), since="2.29")
rule("E607", "tensor_copy on the Scalar Engine needs trn2", "engine=nisa.engine.vector", "isa kiln", "DM", call("tensor_copy", lambda c: _engine(c, "scalar")), chips="trn1", says="tensor_copy does not support engine.scalar on NeuronCore-v2")
rule("E608", "tensor_scalar on the Scalar Engine multiplies and adds alone", "engine=nisa.engine.vector", "isa", "D", call("tensor_scalar", lambda c: _engine(c, "scalar") and not {c["op0"], c["op1"]} <= {"multiply", "add", None}), chips="trn2")
rule("E609", "tensor_scalar on GpSimd has rsqrt alone", "engine=nisa.engine.vector", "isa", "D", call("tensor_scalar", lambda c: _engine(c, "gpsimd") and c["op0"] != "rsqrt" and c["op0"] not in BITWISE))
rule("E610", "abs_max and abs_min in tensor_scalar need trn3", "nisa.activation(op=nl.abs), then maximum", "isa notes", "D", operator("tensor_scalar", "op0 op1", "abs_max", "abs_min"), chips="trn1 trn2")
rule("E611", "square and relu in tensor_scalar need trn3", "nisa.tensor_tensor of the tile with itself; maximum with 0", "isa", "D", operator("tensor_scalar", "op0 op1", "square", "relu"), chips="trn1 trn2")
rule("E612", "bitwise operators run on the Vector Engine alone", "engine=nisa.engine.vector", "isa", "D", call("tensor_scalar", lambda c: c["op0"] in BITWISE and (_engine(c, "gpsimd") or _engine(c, "scalar"))))
rule("E613", "tensor_tensor runs on Vector or GpSimd", "another engine", "isa", "D", refusal("^tensor_tensor: runs on"))
rule("E614", "memset runs on Vector or GpSimd", "engine=nisa.engine.vector", "isa", "D", call("memset", lambda c: c.engine == "scalar"))
rule("E615", "activation has no such function", "nisa.tensor_scalar or nisa.tensor_tensor", "isa dtypes", "D", refusal(r"^activation: op \w+ is not supported"))
rule("E616", "activation reduces by adding alone", "nisa.tensor_reduce after it", "isa", "D", call("activation", lambda c: c["reduce_op"] not in (None, "add")))
rule("E617", "activation_reduce of square was seen to fail", "nisa.tensor_tensor_scan, or multiply and nisa.tensor_reduce", "megakernel nkilib", "MC", call("activation", lambda c: c["op"] == "square" and c["reduce_op"] is not None), chips="trn2", says="NCC_IXCG864")
rule("E618", "reciprocal of activation takes no bias on trn1 and trn2", "add first, then nisa.reciprocal", "isa", "D", call("activation", lambda c: c["op"] == "reciprocal" and c["bias"] is not None), chips="trn1 trn2")
rule("E619", "the bias of activation is a tile on trn1", "a (rows, 1) tile, filled by nisa.memset", "isa trnrand", "DM", call("activation", _immediate), chips="trn1", says="NCC_IBIR605 the InstActivation bias parameter for Ln can only be an ImmediateValue if the activation is Copy or Reciprocal")
rule("E620", "nisa.exponential needs trn3", "nisa.activation(op=nl.exp)", "isa", "D", refusal("^exponential: only on trn3"), chips="trn1 trn2")
rule("E621", "nisa.activate2 needs trn3", "nisa.tensor_scalar, then nisa.activation", "isa", "D", refusal("^activate2: only on trn3"), chips="trn1 trn2")
rule("E622", "activate2 has six pairs of operators", "nisa.tensor_scalar, then nisa.activation", "isa", "D", refusal(r"^activate2: op\d"))
rule("E623", "nisa.rand2 needs trn3", "nisa.rng", "isa", "D", refusal("^rand2: only on trn3"), chips="trn1 trn2")
rule("E624", "nc_matmul_mx and quantize_mx need trn3", "nisa.nc_matmul of bfloat16 or float8", "megakernel isa", "DM", refusal("^(quantize_mx|nc_matmul_mx): only on trn3"), chips="trn1 trn2", says="NCC_IBIR530 MatmultMx is not supported on arch Trn2, must be Trn3 or greater")
rule("E625", "nisa.range_select needs trn2", "nisa.affine_select, or iota and a comparison", "isa", "D", call("range_select", lambda c: True), chips="trn1")
rule("E626", "range_select reduces by maximum alone", "nisa.tensor_reduce after it", "isa", "D", refusal("^range_select: reduce_op"))
rule("E627", "op1 of tensor_scalar_cumulative is add, subtract, multiply, maximum or minimum", "one of these", "isa", "D", refusal("^tensor_scalar_cumulative: op1"))
rule("E628", "tensor_scalar_reduce reduces by add, multiply, maximum or minimum", "one of these", "isa", "D", call("tensor_scalar_reduce", lambda c: c["reduce_op"] not in ("add", "multiply", "maximum", "minimum", "max", "min") or c["op0"] in BITWISE))
rule("E629", "tensor_partition_reduce has add, average, maximum and bitwise operators", "a matmul with ones", "isa", "D", refusal("^tensor_partition_reduce: op"))
rule("E630", "negate of tensor_reduce needs an arithmetic operator", "nisa.tensor_scalar after it", "isa", "D", call("tensor_reduce", lambda c: bool(c["negate"]) and c["op"] in BITWISE))
rule("E631", "scalar_tensor_tensor has arithmetic operators alone", "nisa.tensor_tensor", "isa", "D", refusal(r"^scalar_tensor_tensor: op\d"))
rule("E632", "select_reduce reduces by maximum alone", "nisa.tensor_reduce after it", "isa", "D", call("select_reduce", lambda c: c["reduce_op"] not in (None, "maximum", "max")), source(lambda given: (node for node in given.calls.get("nki.isa.select_reduce", ()) for word in node.keywords if word.arg == "reduce_op" and given.full(word.value) not in ("", "nki.language.maximum", "nki.language.max"))))
rule("E633", "33 to 64 rows begin at partition 0 or 64, more at 0", "another partition, or nisa.dma_copy", "trn1 shiftwarp", "DM", call("", lambda c: _starts(c, _crossing)), says="NCC_INLA001 Pattern accesses 64 (> 32) partitions starting at partition 32")
rule("E634", "rows begin at partition 0, 32, 64 or 96", "one of these, or nisa.dma_copy", "trn1 shiftwarp deltanet", "DM", call("", lambda c: _starts(c, lambda rows, start: start % 32)), says="NCC_IXCG864; NCC_IINAR001 start_addr_active_channels")
rule("E635", "both inputs of tensor_tensor begin at one partition", "nisa.tensor_copy of one of them", "standalone shiftwarp", "M", call("tensor_tensor", lambda c: c["data1"].memory == c["data2"].memory == "sbuf" and c["data1"].start != c["data2"].start), says="'lhs' and 'rhs' have different partition start offsets (1 vs 0)")
rule("E637", "rng on GpSimd needs trn2", "engine=nisa.engine.vector", "isa", "D", call("rng", lambda c: c.engine == "gpsimd"), chips="trn1")
rule("E638", "nisa.nonzero_with_count needs trn2", "compare and add", "isa", "D", call("nonzero_with_count", lambda c: True), chips="trn1")
rule("E639", "nisa.core_barrier needs trn2", "a launch of one core", "isa trntensor", "DM", call("core_barrier", lambda c: True), refusal("^core_barrier: cores"), chips="trn1", says="Shared memory is only supported on trn2")
rule("E640", "nisa.rand_set_state and nisa.rand_get_state need trn2", "nisa.set_rng_seed", "isa", "D", call("rand_set_state rand_get_state", lambda c: True), chips="trn1")
rule("E642", "this release leaves engine= of nc_transpose out of account", "leave it out", "notes", "D", keyword("nki.isa.nc_transpose", "engine"), until="2.29")
rule("E641", "a function of one operand in tensor_scalar has operand None or 0", "operand0=None", "isa", "D", call("tensor_scalar", lambda c: any(c[f"op{at}"] in _UNARY and c[f"operand{at}"] not in (None, 0) for at in "01")))
rule("E644", "op=nl.copy of activation takes no tile as its bias on trn1", "a number; nisa.tensor_scalar to add a tile", "deltanet1 kiln", "M", call("activation", lambda c: c["op"] == "copy" and isinstance(c["bias"], Operand)), chips="trn1", says="NCC_IBVF043 Activation function with type Copy only supports immediate bias")
rule("E645", "tensor_tensor on GpSimd was seen to fail on trn1", "engine=nisa.engine.vector", "kiln isa", "MC", call("tensor_tensor", lambda c: c.engine == "gpsimd"), chips="trn1", says="NCC_IXCG965")
rule("E648", "perf_mode=double_row needs trn2", "leave perf_mode= out", "isa", "D", call("nc_matmul", lambda c: c["perf_mode"] == "double_row"), chips="trn1")
rule("E649", "the random state of the Vector Engine needs trn3", "engine=nisa.engine.gpsimd", "isa", "D", call("rand_set_state rand_get_state", lambda c: c.engine == "vector"), chips="trn2")
rule("E650", "tensor_scalar_reduce has no reverse0 yet", "nisa.tensor_scalar with reverse0=True, then nisa.tensor_reduce", "isa", "D", call("tensor_scalar_reduce", lambda c: bool(c["reverse0"])))
rule("E651", "range_select compares by equal, less, less_equal, greater or greater_equal", "one of these", "isa", "D", call("range_select", lambda c: not {c["comp_op0"], c["comp_op1"]} <= {"equal", "less", "less_equal", "greater", "greater_equal"}))
