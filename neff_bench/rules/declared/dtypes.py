"""Declares the rules of the element types of operands."""

# fmt: off
from neff_bench.rules.call import Call, Operand
from neff_bench.rules.judges import call, refusal
from neff_bench.rules.rule import rule

_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "invert", "logical_shift_left", "logical_shift_right", "arithmetic_shift_left", "arithmetic_shift_right", "left_shift", "right_shift")
_MIN = -3.4028234663852886e38


def _mixed_stages(c: Call) -> bool:
    stages = [c.attributes[key] in BITWISE for key in ("op0", "op1") if c.attributes.get(key)]
    return any(stages) and not all(stages)


def _integer_operand(c: Call) -> bool:
    operands = [c.reads[key] for key in ("operand0", "operand1") if key in c.reads]
    return any(one.dtype != "float32" for one in operands) and not any(c.attributes.get(key) in BITWISE for key in ("op0", "op1"))


def _is(c: Call, key: str, *dtypes: str) -> bool:
    one = c[key]
    return isinstance(one, Operand) and one.dtype in dtypes


def _is_not(c: Call, key: str, *dtypes: str) -> bool:
    one = c[key]
    return isinstance(one, Operand) and one.dtype not in dtypes


rule("D301", "the value of memset suits the dtype of dst exactly", "a whole number for an integer tile", "notes", "D", call("memset", lambda c: _is(c, "dst", *_INTEGERS) and c["value"] is not None and c["value"] % 1 != 0), since="2.29")
rule("D302", "a packed tile is filled with 0 alone", "0", "isa notes", "D", refusal("^memset: a packed type"))
rule("D303", "float32 goes with float32 in a matmul", "nisa.tensor_copy into a tile of one dtype", "isa", "D", refusal("^nc_matmul: float32 goes with float32 only"))
rule("D304", "a matmul has no integers", "bfloat16 or float8", "helion isa", "DM", refusal("^nc_matmul: operands must be floats"), says="nc_matmul stationary dtype int8 not supported")
rule("D354", "a matmul takes no tfloat32 tile", "float32, or bfloat16", "nkibench", "M", call("nc_matmul", lambda c: _is(c, "stationary", "tfloat32") or _is(c, "moving", "tfloat32")), since="2.32", says="'nisa.matmul' op 'stationary' must be a float type, got '!nisa.float32r'")
rule("D305", "float8_e4m3fn operands of a matmul need trn3", "float8_e4m3, with its smaller range", "isa codes megakernel", "DM", call("nc_matmul", lambda c: _is(c, "stationary", "float8_e4m3fn") or _is(c, "moving", "float8_e4m3fn")), chips="trn1 trn2", says="EVRF051 Data type F8E4M3FN is not supported on TRN1/TRN2")
rule("D306", "float8_e4m3 and float8_e4m3fn do not meet in a matmul", "one of them", "isa", "D", call("nc_matmul", lambda c: {c["stationary"].dtype, c["moving"].dtype} == {"float8_e4m3", "float8_e4m3fn"}), chips="trn3")
rule("D307", "the result of a matmul is float32; bfloat16 too on trn3", "a float32 tile in PSUM", "isa", "D", refusal("^nc_matmul: dst must be float32"))
rule("D308", "a transpose on the Tensor Engine keeps the dtype", "dst of the dtype of data", "isa transpose", "DM", call("nc_transpose", lambda c: c["dst"].dtype != c["data"].dtype), call("nc_matmul", lambda c: c["is_transpose"] and c["dst"].dtype not in (c["stationary"].dtype, c["moving"].dtype)), chips="trn2 trn3", since="2.29", says="NCC_IBIR031 For CoreV3+, Matmult in transpose mode must have same input and output dtype")
rule("D309", "dma_transpose keeps the dtype", "dst of the dtype of src", "isa", "D", refusal("^dma_transpose: dst must have the dtype"))
rule("D310", "the hardware's descriptors do not convert", "one dtype, or dge_mode=swdge", "notes migration debugging", "DM", call("dma_copy", lambda c: c["dge_mode"] == "hwdge" and c["dst"].dtype != c["src"].dtype), chips="trn2 trn3", since="2.29", says="HWDGE requires same src/dst element type")
rule("D311", "bitwise operators of tensor_scalar take integers", "tile.view(nl.uint32)", "isa", "D", refusal("^tensor_scalar: .* needs integer tensors"))
rule("D312", "bitwise operators of tensor_tensor take integers", "tile.view(nl.uint32)", "isa", "D", refusal("^tensor_tensor: .* needs integer tensors"))
rule("D313", "op0 and op1 are both bitwise or both arithmetic", "two instructions", "isa", "D", call("tensor_scalar", _mixed_stages))
rule("D314", "an operand tile of an arithmetic tensor_scalar must be float32", "nisa.tensor_copy it into a float32 tile", "isa kernels histogram", "DM", call("tensor_scalar", _integer_operand), says="TensorScalarPtr arith immediate dtype must be fp32")
rule("D315", "the predicate of tensor_copy_predicated is uint8, uint16 or uint32", "a tile of that dtype", "isa", "D", refusal("^tensor_copy_predicated: predicate must be"))
rule("D316", "tensor_copy_predicated keeps the dtype", "src of the dtype of dst", "isa", "D", call("tensor_copy_predicated", lambda c: isinstance(c["src"], Operand) and c["src"].dtype != c["dst"].dtype))
rule("D317", "the predicate of select_reduce has 8 or 16 bits", "uint8", "isa", "D", refusal("^select_reduce: predicate must be"), call("select_reduce", lambda c: _is_not(c, "predicate", "int8", "uint8", "int16", "uint16")))
rule("D318", "on_true of select_reduce is no 32-bit integer and no tfloat32", "float32", "isa", "D", call("select_reduce", lambda c: _is(c, "on_true", "int32", "uint32", "tfloat32")))
rule("D319", "tensor_scalar_cumulative has no 32-bit integers", "float32", "isa", "D", refusal("^tensor_scalar_cumulative: int32 and uint32"))
rule("D320", "the bias of activation is not tfloat32", "float32", "isa", "D", call("activation", lambda c: _is(c, "bias", "tfloat32")))
rule("D321", "the scale of activation is float32", "a float32 tile", "isa errors", "DE", call("activation", lambda c: _is_not(c, "scale", "float32")), says="err_activation_scale_invalid_type")
rule("D353", "the bias of activation is float32, float16 or bfloat16", "a float32 tile", "errors isa", "DE", call("activation", lambda c: _is_not(c, "bias", "float32", "float16", "bfloat16", "tfloat32")), says="err_activation_bias_invalid_type")
rule("D322", "the bounds of range_select are float32", "float32 tiles", "isa", "D", call("range_select", lambda c: _is_not(c, "bound0", "float32") or _is_not(c, "bound1", "float32")))
rule("D323", "on_false_value of range_select is the lowest float32", "leave on_false_value= out; nisa.select_reduce after it for another value", "notes", "D", call("range_select", lambda c: c.attributes.get("on_false_value", _MIN) != _MIN), since="2.29")
rule("D324", "nc_find_index8 writes uint16 or uint32", "a tile of that dtype", "isa", "D", refusal("^nc_find_index8: dst must be uint16"))
rule("D325", "the indices of nc_n_gather are uint32 and its data keeps the dtype", "a uint32 tile of indices; dst of the dtype of data", "isa", "D", refusal("^nc_n_gather: one partition count"))
rule("D327", "the index of local_gather is uint16, in a multiple of 16 partitions", "a uint16 tile", "isa", "D", refusal("^local_gather: index must be uint16"))
rule("D328", "nonzero_with_count reads float32 or int32 and writes int32", "an int32 tile", "isa", "D", refusal("^nonzero_with_count: src float32 or int32"))
rule("D329", "topk reads bfloat16", "a bfloat16 tile", "isa", "D", call("topk", lambda c: _is_not(c, "src", "bfloat16")), since="2.32")
rule("D330", "rng writes integers", "a uint32 tile", "isa", "D", refusal("^rng: dst must be an integer"))
rule("D331", "quantize_mx reads float16 or bfloat16", "nisa.tensor_copy into a bfloat16 tile", "isa", "D", refusal("^quantize_mx: src must be bfloat16"))
rule("D332", "quantize_mx does not write float4", "float8_e4m3fn_x4 or float8_e5m2_x4", "isa", "D", refusal("^quantize_mx: dst must be one of"))
rule("D333", "sequence_bounds reads and writes float32 or int32", "float32", "isa", "D", call("sequence_bounds", lambda c: _is_not(c, "segment_ids", "float32", "int32") or _is_not(c, "dst", "float32", "int32")))
rule("D334", "the state of rand_set_state is uint32", "a uint32 tile", "isa", "D", refusal(r"^rand_set_state: the state is \d+ uint32 .*:(?!uint32)\w+$"))
rule("D335", "the chip has no such dtype", "float32, int32 and smaller", "dtypes codes", "D", refusal("^unknown dtype"), says="ESPP004, ESPP047")
rule("D336", "memset of a bfloat16 tile in PSUM fails in the back end", "a float32 tile", "autotune", "M", call("memset", lambda c: c["dst"].memory == "psum" and _is(c, "dst", "bfloat16")), chips="trn2", says="NCC_IBIR441")
rule("D337", "tensor_partition_reduce of int32 fails in the back end", "float32", "helion", "M", call("tensor_partition_reduce", lambda c: _is(c, "data", "int32")), chips="trn2", says="NCC_IXCG864")
rule("D338", "float8_e4m3fn of the host is read as another float8 on trn1 and trn2", "float8_e4m3 on the host", "codes megakernel", "M", call("dma_copy", lambda c: c["src"].kind == "input" and _is(c, "src", "float8_e4m3fn")), chips="trn1 trn2", says="EVRF051")
rule("D340", "a bitwise instruction keeps one integer dtype", "tile.view(...)", "trnrand", "M", call("tensor_scalar", lambda c: c.attributes.get("op0") in BITWISE and c["dst"].dtype != c["data"].dtype), call("tensor_tensor", lambda c: c["op"] in BITWISE and len({one.dtype for one in c.operands}) > 1), since="2.29", says="the MLIR verifier rejects 'tensor_scalar_bitvec' with dst ui32 / src i32 mismatch")
rule("D341", "quantize_mx works in SBUF", "nisa.tensor_copy from PSUM first", "isa megakernel", "DM", refusal("^quantize_mx: src must be in SBUF"))
rule("D343", "tensor_scalar_reduce reads floats and reduces into floats", "nisa.tensor_scalar, then nisa.tensor_reduce", "histogram", "M", call("tensor_scalar_reduce", lambda c: _is(c, "data", *_INTEGERS) or _is(c, "reduce_res", *_INTEGERS)), says="NCC_IBVF012; NCC_IBVF013")
rule("D347", "bitwise operators of tensor_reduce take integers", "tile.view(nl.uint32)", "isa", "D", call("tensor_reduce", lambda c: c["op"] in BITWISE and not (_is(c, "data", *_INTEGERS) and _is(c, "dst", *_INTEGERS))))
rule("D348", "imm0 and imm1 of tensor_scalar_cumulative are float32", "a float32 tile", "isa", "D", call("tensor_scalar_cumulative", lambda c: _is_not(c, "imm0", "float32") or _is_not(c, "imm1", "float32")))
rule("D349", "prob of dropout is float32 where data is an integer", "a float32 tile", "isa", "D", call("dropout", lambda c: _is(c, "data", *_INTEGERS) and _is_not(c, "prob", "float32")))
rule("D351", "reduce_res of select_reduce is a float", "a float32 tile", "isa", "D", call("select_reduce", lambda c: _is(c, "reduce_res", *_INTEGERS)))
rule("D344", "packed types are not loaded from HBM", "the same bytes as uint8, uint16 or uint32, and tile.view(...) in SBUF", "megakernel nkilib", "MC", call("dma_copy", lambda c: c["src"].memory == "hbm" and c["src"].dtype.endswith("_x4")), says="NCC_IBIR285")
