"""Declares the rules of shapes, sizes and indices."""

# fmt: off
from neff_bench.rules.call import Call
from neff_bench.rules.judges import call, kernel, refusal
from neff_bench.rules.rule import rule

_SAME = "Expect AP same number of elements"


def _too_wide(c: Call) -> bool:
    return c.engine == "vector" and any(_columns(one.shape) > (4096 if one.memory == "psum" else 65536) for one in c.operands if one.memory != "hbm")


def _columns(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape[1:]:
        count *= size
    return count


rule("S401", "a tile has at most 128 partitions", "a loop over tiles of 128 rows", "errors notes harness", "DM", refusal(r"has \d+ partitions; at most 128"), says="Size of partition dimension 256 exceeds architecture limitation of 128.")
rule("S402", "a tile has a partition and a free dimension", "(rows, 1)", "harness", "M", kernel(lambda k: any(len(tile.shape) < 2 for tile in k.tiles)), since="2.29", says="SBUF and PSUM tensors must have at least 2 dimensions (partition-dim and free-dim)")
rule("S403", "sizes are positive numbers", "no empty tile", "harness helion", "M", refusal("has an empty dimension"), says="shape must be a tuple of positive integers, got (0,32)")
rule("S404", "an index lies inside of the tensor", "the remainder of the last tile", "errors harness", "DM", refusal(r"^slice .* is outside|^index .* is outside"), says="Out-of-bound access for tensor")
rule("S406", "the stationary tile of a matmul has at most 128 columns", "a loop over 128 columns", "isa harness", "DM", refusal("^nc_matmul: stationary has .* free elements"), says="Matmul stationary free dimension 256 exceeds gemm_stationary_fmax=128")
rule("S407", "the moving tile of a matmul has at most 512 columns on trn1 and trn2", "a loop over 512 columns", "isa harness", "DM", refusal("^nc_matmul: moving has .* free elements"), says="Matmul moving free dimension 1024 exceeds max 512 for nc_version=nc_version.gen3")
rule("S408", "both operands of a matmul have the same partitions", "slices of equal rows", "harness", "M", refusal("^nc_matmul: contraction differs"), says="Matmul contraction dimension mismatch: stationary[0]=128 != moving[0]=256")
rule("S409", "the result of a matmul has the columns of both operands", "(stationary columns, moving columns)", "isa", "D", refusal(r"^nc_matmul: dst must be \["))
rule("S410", "tile_position and tile_size come together", "both, or neither", "isa", "D", refusal("^nc_matmul: tile_position and tile_size must"))
rule("S411", "a row tile begins at a multiple of its size", "0, 32, 64 or 96 rows", "isa", "D", refusal("^nc_matmul: row tile of"))
rule("S412", "row tiles of 32 need trn3, of 64 trn2", "64 or 128 rows", "isa trn2 trn3", "D", call("nc_matmul", lambda c: c["tile_size"] is not None and c["tile_size"][0] < (64 if c.target == "trn2" else 128)), chips="trn1 trn2")
rule("S413", "double_row needs float8 and [128, 2, n]", "another perf_mode", "isa megakernel", "DM", refusal("^nc_matmul: double_row"))
rule("S415", "the Vector Engine transposes 32 x 32", "engine=nisa.engine.tensor", "isa notes", "D", refusal("^nc_transpose: at most 32 x 32"))
rule("S416", "tensor_tensor does not broadcast a column", "nisa.tensor_scalar with the column as operand0", "harness trnrand", "DM", refusal(r"^tensor_tensor: data\d has \d+ elements in a partition"), says=_SAME)
rule("S417", "tensor_tensor does not broadcast a row", "copy the row to all partitions first", "trnrand helion", "DM", refusal(r"^tensor_tensor: data\d has \d+ partitions"))
rule("S419", "an operand tile of tensor_scalar is (rows, 1)", "one element in each partition", "isa", "D", refusal("^(tensor_scalar|scalar_tensor_tensor): operand"))
rule("S420", "the bias of activation is (rows, 1)", "one element in each partition", "notes isa", "D", refusal("^activation: (bias|scale) must hold one"))
rule("S421", "dma_copy moves as many elements as it writes", "slices of equal size", "harness isa", "DM", refusal("^dma_copy: .* elements into"), says="dma_copy requires src and dst to have the same number of elements, got src=4, dst=16384")
rule("S422", "tensor_copy has the same partitions and elements on both sides", "slices of equal shape", "isa harness", "DM", refusal("^tensor_copy: src has"), says=_SAME)
rule("S423", "tensor_reduce does not reduce partitions", "nisa.tensor_partition_reduce, or a matmul with ones", "isa notes", "D", refusal("^tensor_reduce.*(list index out of range|axis 0 )|are its partitions, which only"))
rule("S424", "tensor_reduce reduces the last free dimensions", "a view with these dimensions last", "isa", "D", refusal("^tensor_reduce: axis .* does not give"))
rule("S425", "max8 reads 8 to 16384 elements", "a loop over parts", "isa", "D", refusal("^max8: 8 to 16384"))
rule("S426", "max8 writes eight elements", "(rows, 8)", "isa", "D", refusal("^max8: dst must be"))
rule("S427", "nc_find_index8 looks for eight values", "(rows, 8)", "isa", "D", refusal(r"^nc_find_index8: (dst|vals) must be \["))
rule("S428", "bn_stats reads at most 512 elements", "several, then nisa.bn_aggr", "isa sizes", "D", refusal("^bn_stats: at most 512"))
rule("S429", "bn_aggr reads triples", "the results of nisa.bn_stats", "isa", "D", refusal("^bn_aggr: dst must be"))
rule("S430", "a pattern has at most four dimensions", "fewer, or several instructions", "isa", "D", refusal("^(iota|affine_select): a pattern has 1 to 4"))
rule("S431", "a pattern counts the elements of dst", "sizes whose product is dst's", "isa", "D", refusal("^(iota|affine_select): pattern .* does not give"))
rule("S432", "affine_select into four dimensions fails in the back end", "dst.reshape(...) to three", "autotune", "M", call("affine_select", lambda c: len(c["dst"].shape) > 3), chips="trn2", says="NCC_INLA001")
rule("S433", "a shuffle mask has 32 entries", "32 numbers", "isa", "D", refusal("^nc_stream_shuffle: shuffle_mask is 32"))
rule("S434", "local_gather takes 1, 2, 4, 8, 16 or 32 elements an index", "one of these", "isa", "D", refusal("^local_gather: 1, 2, 4, 8"))
rule("S436", "topk works in groups of 16 partitions", "rows in multiples of 16", "isa", "D", refusal("^topk: .* does not hold"))
rule("S437", "quantize_mx reads a multiple of 32 partitions and of 4 elements", "a tile of that shape", "isa", "D", refusal("^quantize_mx: the (partitions|elements)"))
rule("S438", "the stationary tile of nc_matmul_mx has an even number of columns, at most 128", "a column more", "isa", "D", refusal("^nc_matmul_mx: stationary must have an even"))
rule("S439", "sequence_bounds works on one partition", "a tile of one row", "isa", "D", refusal("^sequence_bounds: dst must be"))
rule("S440", "set_rng_seed takes one element of 32 bits", "a (1, 1) uint32 tile", "isa notes", "D", refusal("^set_rng_seed: src_seeds must be one"))
rule("S441", "the state of rand_set_state has 6 elements on GpSimd and 24 on Vector", "a tile of that width", "isa", "D", refusal(r"^rand_set_state: the state is \d+ uint32 .*:uint32$"))
rule("S442", "register_load reads one element", "a (1, 1) slice", "isa", "D", refusal("^register_load: src must hold one"))
rule("S443", "activation and activation_reduce write the shape that they read", "dst of the shape of data", "autotune isa", "DM", refusal("^activation: data has"))
rule("S444", "a reshape keeps the partitions", "nisa.dma_copy through HBM", "patterns harness", "DM", refusal("the partition dimension is fixed"), says="Partition dim cannot be reshaped")
rule("S445", "a reshape keeps the number of elements", "sizes whose product is the same", "notes", "D", refusal("cannot be reshaped to .* the number of elements differs"), says="AssertionError")
rule("S446", "the partition step of an access pattern is the free size of the tensor", "[[free size, rows], ...]", "patterns harness", "DM", refusal("^the partition step .* is not a multiple"), call("", lambda c: any(one.memory != "hbm" and one.rows_apart > 1 for one in c.operands)), says="NCC_IBIR158 ap() pattern has invalid partition stride")
rule("S447", "an access pattern stays inside of the tensor", "smaller steps or sizes", "patterns harness", "DM", refusal(r"^pattern .* reaches element"), says="NCC_IBIR243")
rule("S448", "the Vector Engine takes 65536 elements of a partition in SBUF and 4096 in PSUM", "a loop over parts", "isa", "D", call("", _too_wide))
rule("S449", "prob of dropout is a number or (rows, 1)", "one element in each partition", "isa", "D", refusal("^dropout: prob must hold one"))
rule("S451", "nl.random_seed takes a (1, 1) tile", "a (1, 1) uint32 tile", "notes", "D", refusal("^set_rng_seed: src_seeds must be a tensor"))
rule("S454", "max8 and nc_find_index8 read at most three dimensions", "a reshape", "isa", "D", call("max8", lambda c: len(c["src"].shape) > 3), call("nc_find_index8", lambda c: len(c["data"].shape) > 3))
rule("S460", "a slice steps forward", "positive steps; nisa.nc_n_gather for another order", "parser", "F", refusal(r"^slice step "), says="index out of range of tensor dimension")
rule("S461", "a tensor has as many indices as dimensions at most", "an index less", "parser", "F", refusal(r"^\d+ indices for the \d+ dimensions"), says="too many indexes for shape")
