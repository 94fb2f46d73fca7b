"""Holds calls in kernels against AWS's declarations of nki.isa, nki.language and nki.collectives, release by release (SDK 2.28 to 2.32)."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache

from neff_bench.rules.source import Source

DECLARED = """\
collectives 2.28 all_gather all_to_all: srcs dsts replica_group collective_dim
collectives 2.32 all_gather_v: srcs dsts replica_group metadata_tensor recv_counts_known= has_rdispls= priority= name=
collectives 2.28 all_reduce: srcs dsts replica_group op
collectives 2.29 all_to_all_v: srcs dsts replica_group metadata_tensor recv_counts_known= has_rdispls=
collectives 2.28 collective_permute: srcs dsts source_target_pairs
collectives 2.28 collective_permute_implicit: srcs_by_channel dsts_by_channel replica_group channel_ids=
collectives 2.28 collective_permute_implicit_current_processing_rank_id: iteration_id replica_group channel_id= num_channels=
collectives 2.29 collective_permute_implicit_current_processing_rank_id: iteration_id replica_group channel_id=
collectives 2.28 collective_permute_implicit_reduce: srcs0_by_channel srcs1_by_channel dsts_by_channel replica_group op channel_ids=
collectives 2.28 rank_id:
collectives 2.28 reduce_scatter: srcs dsts replica_group collective_dim op
collectives 2.30 all_gather all_to_all all_reduce all_to_all_v collective_permute collective_permute_implicit collective_permute_implicit_reduce reduce_scatter + priority=
collectives 2.31 all_gather all_to_all all_reduce all_to_all_v collective_permute collective_permute_implicit collective_permute_implicit_current_processing_rank_id collective_permute_implicit_reduce rank_id reduce_scatter + name=
isa 2.30 activate2: dst op data imm0 imm1 op0 op1 relu_param= reverse0= reverse1= reduce_op= reduce_res= reduce_cmd= name=
isa 2.28 activation: dst op data bias= scale= reduce_op= reduce_res= reduce_cmd= name=
isa 2.28 activation_reduce: dst op data reduce_op reduce_res bias= scale= name=
isa 2.28 affine_select: dst pattern offset channel_multiplier on_true_tile on_false_value cmp_op= name=
isa 2.29 affine_select: dst pattern channel_multiplier on_true_tile on_false_value cmp_op= offset= name=
isa 2.28 bn_aggr bn_stats reciprocal: dst data name=
isa 2.28 core_barrier: data cores engine= name=
isa 2.28 dma_compute: dst srcs scales reduce_op name=
isa 2.29 dma_compute: dst srcs reduce_op scales= unique_indices= name=
isa 2.30 dma_compute: dst srcs reduce_op scales= unique_indices= oob_mode= name=
isa 2.28 dma_copy: dst src dst_rmw_op= oob_mode= dge_mode= unique_indices= name=
isa 2.29 dma_copy: dst src oob_mode= dge_mode= engine= name=
isa 2.30 dma_copy: dst src priority= oob_mode= dge_mode= engine= name=
isa 2.28 dma_transpose: dst src axes= dge_mode= oob_mode= name=
isa 2.30 dma_transpose: dst src axes= priority= dge_mode= oob_mode= name=
isa 2.28 dropout: dst data prob name=
isa 2.28 exponential: dst src max_value= reduce_res= reduce_cmd= reduce_init=
isa 2.31 get_nc_sub_version:
isa 2.28 get_nc_version:
isa 2.28 iota: dst pattern offset channel_multiplier= name=
isa 2.29 iota: dst pattern offset= channel_multiplier= name=
isa 2.28 local_gather: dst src_buffer index num_elem_per_idx= num_valid_indices= name=
isa 2.28 max8: dst src name=
isa 2.28 memset: dst value engine= name=
isa 2.28 nc_find_index8: dst data vals name=
isa 2.28 nc_match_replace8: dst data vals imm dst_idx= name=
isa 2.28 nc_matmul: dst stationary moving is_stationary_onezero= is_moving_onezero= is_transpose= tile_position= tile_size= perf_mode= name=
isa 2.29 nc_matmul: dst stationary moving is_stationary_onezero= is_moving_onezero= is_transpose= accumulate= tile_position= tile_size= perf_mode= name=
isa 2.28 nc_matmul_mx: dst stationary moving stationary_scale moving_scale tile_position= tile_size= name=
isa 2.29 nc_matmul_mx: dst stationary moving stationary_scale moving_scale tile_position= tile_size= accumulate= name=
isa 2.28 nc_n_gather: dst data indices name=
isa 2.28 nc_stream_shuffle: dst src shuffle_mask name=
isa 2.28 nc_transpose: dst data engine= name=
isa 2.28 nonzero_with_count: dst src index_offset= padding_val=
isa 2.28 quantize_mx: dst src dst_scale name=
isa 2.28 rand2: dst min max name=
isa 2.28 rand_get_state rng: dst engine= name=
isa 2.28 rand_set_state: src_seeds engine= name=
isa 2.28 range_select: dst on_true_tile comp_op0 comp_op1 bound0 bound1 reduce_cmd= reduce_res= reduce_op= range_start= on_false_value= name=
isa 2.28 register_alloc: x=
isa 2.28 register_load register_store: dst src
isa 2.28 register_move: dst imm
isa 2.29 register_move: dst src
isa 2.28 scalar_tensor_tensor: dst data op0 operand0 op1 operand1 reverse0= reverse1= name=
isa 2.28 select_reduce: dst predicate on_true on_false reduce_res= reduce_cmd= reduce_op= reverse_pred= name=
isa 2.28 sendrecv: src dst send_to_rank recv_from_rank pipe_id name=
isa 2.29 sendrecv: src dst send_to_rank recv_from_rank pipe_id dma_engine= name=
isa 2.28 sequence_bounds: dst segment_ids name=
isa 2.28 set_rng_seed: src_seeds name=
isa 2.28 tensor_copy: dst src engine= name=
isa 2.28 tensor_copy_predicated: dst src predicate reverse_pred= name=
isa 2.28 tensor_partition_reduce: dst op data name=
isa 2.28 tensor_reduce: dst op data axis negate= keepdims= name=
isa 2.28 tensor_scalar: dst data op0 operand0 reverse0= op1= operand1= reverse1= engine= name=
isa 2.28 tensor_scalar_cumulative: dst src op0 op1 imm0 imm1= reduce_cmd=
isa 2.28 tensor_scalar_reduce: dst data op0 operand0 reduce_op reduce_res reverse0= name=
isa 2.30 tensor_scalar_reduce: dst data op0 operand0 reduce_op reduce_res reverse0= reduce_cmd= reduce_init= name=
isa 2.32 tensor_scalar_reduce: dst data op0 operand0 reduce_op reduce_res= reverse0= reduce_cmd= reduce_init= reduce_res_negate= name=
isa 2.28 tensor_tensor: dst data1 data2 op engine= name=
isa 2.28 tensor_tensor_scan: dst data0 data1 initial op0 op1 reverse0= reverse1= name=
isa 2.32 topk: val_dst idx_dst src n name=
isa 2.29 exponential nonzero_with_count tensor_scalar_cumulative + name=
language 2.28 abs gelu_apprx_sigmoid gelu_apprx_sigmoid_dx invert logical_not reciprocal rsqrt: x dtype=
language 2.30 abs_max abs_min: x y dtype=
language 2.28 add bitwise_and bitwise_or bitwise_xor divide equal greater greater_equal left_shift less less_equal logical_and logical_or logical_xor maximum minimum multiply not_equal power right_shift subtract: x y dtype=
language 2.28 affine_range sequential_range static_range: start stop= step=
language 2.29 all: x axis dtype=
language 2.29 arctan ceil copy cos erf erf_dx exp floor gelu gelu_apprx_tanh gelu_dx log mish negative relu sigmoid sign silu silu_dx sin softplus sqrt square tan tanh transpose trunc: x dtype=
language 2.29 broadcast_to: x shape dtype=
language 2.28 device_print: print_prefix tensor
language 2.29 dropout: x rate dtype=
language 2.28 ds: start size
language 2.29 dynamic_range: start stop= step=
language 2.29 empty_like zeros_like: x dtype= buffer= name=
language 2.29 expand_dims: x axis
language 2.29 fmod mod: x y dtype=
language 2.32 fori_loop: lower upper body_fun step=
language 2.29 full: shape fill_value dtype buffer= name=
language 2.29 gather_flattened: data indices axis= dtype=
language 2.29 is_hbm is_on_chip is_psum is_sbuf: buffer
language 2.29 load load_transpose2d: src dtype=
language 2.29 matmul: x y transpose_x=
language 2.29 max mean min prod sum var: x axis dtype= keepdims=
language 2.28 ndarray zeros: shape dtype buffer= name=
language 2.29 no_reorder:
language 2.28 num_programs: axes=
language 2.29 ones rand: shape dtype buffer= name=
language 2.28 program_id: axis
language 2.29 program_id: axis=
language 2.28 program_ndim:
language 2.29 random_seed: seed
language 2.29 rms_norm: x w axis n epsilon= dtype= compute_dtype=
language 2.28 shared_identity_matrix: n dtype=
language 2.29 softmax: x axis= dtype=
language 2.29 store: dst value
language 2.29 where: condition x y dtype=
language 2.32 while_loop: init body_fun
language 2.29 ndarray + address=
language 2.29 shared_identity_matrix + dst=
collectives 2.28 ReplicaGroup
isa 2.28 dge_mode dma_engine engine gpsimd_engine matmul_perf_mode nc_version oob_mode reduce_cmd scalar_engine tensor_engine unknown_engine vector_engine
isa 2.29 NkiValidationError VirtualRegister
isa 2.32 NkiInstruction
language 2.28 NKIObject bfloat16 bool_ float16 float32 float4_e2m1fn_x4 float8_e4m3 float8_e4m3fn float8_e4m3fn_x4 float8_e5m2 float8_e5m2_x4 hbm int16 int32 int8 private_hbm psum sbuf shared_constant shared_hbm tfloat32 tile_size uint16 uint32 uint8
language 2.29 MemoryRegion NkiTensor
language 2.30 bypass prelu
language 2.31 average float8_e8m0fnu
language 2.32 DType
"""
"""A line holds a module, the first release of these parameters, the functions that have them, and the parameters; one that ends in `=` has a default.
A line with `+` adds parameters to those of the release before. A line without either holds other names."""

RELEASES = ("2.28", "2.29", "2.30", "2.31", "2.32")
"""Those whose declarations are here."""


def misfits(source: Source) -> Iterator[tuple[ast.AST, str, Sequence[str]]]:
    """Yield calls that do not fit the declaration of a release: the call, what is wrong, and the releases."""
    inside = _unconditional(source)
    for full, calls in source.calls.items():
        declared = _table().get(full, {})
        for node in calls if declared and not source.old else ():
            if id(node) in inside:
                wrong = {release: said for release, given in declared.items() if (said := _wrong(node, given))}
                if wrong.keys() != declared.keys():
                    wrong.pop("2.28", None)  # Its compiler takes arguments that its declarations lack.
                found: dict[str, list[str]] = defaultdict(list)
                for release, said in wrong.items():
                    found[said].append(release)
                yield from ((node, f"{ast.unparse(node.func)} {said}", where) for said, where in found.items())


def unknown(source: Source) -> Iterator[tuple[ast.AST, str, Sequence[str]]]:
    """Yield names that no declaration of a release has. What a later one has may stand in SDK 2.28 all the same, as an operator."""
    inside = _unconditional(source)
    for full, nodes in source.uses.items():
        module, _, name = full.rpartition(".")
        if source.old or module not in _MODULES or name.startswith("_") or full in _UNDECLARED:
            continue
        declared = _table().get(full)
        lacking = [one for one in RELEASES[1:] if one not in declared] if declared else RELEASES
        if lacking:
            yield from ((node, ast.unparse(node), lacking) for node in nodes if id(node) in inside)


_MODULES = ("nki.isa", "nki.language", "nki.collectives")
_UNDECLARED = ("nki.language.range", "nki.language.par_dim")
"""What AWS's own library uses, and what NBLN107 judges: SDK 2.28 takes it."""


def _unconditional(source: Source) -> set[int]:
    """Return the ids of the nodes in kernels that run whenever their kernel does: what stands under `if` may never run."""
    nodes = {id(node) for kind in (ast.Call, ast.Attribute) for node in source.inside.get(kind, ())}
    for kind in (ast.If, ast.IfExp, ast.Try, ast.BoolOp):
        for node in source.inside.get(kind, ()):
            nodes -= {id(one) for one in source.below(node)}
    return nodes


@cache
def _table() -> dict[str, dict[str, str | None]]:
    """Return the parameters of each name in each release that has it; None for what is no function."""
    table: dict[str, dict[str, str | None]] = defaultdict(dict)
    for line in DECLARED.splitlines():
        head, colon, parameters = line.partition(":")
        head, plus, added = head.partition(" + ")
        module, first, *names = head.split()
        since = RELEASES.index(first)
        for name in names:
            known = table[f"nki.{module}.{name}"]
            said = f"{known[RELEASES[since - 1]]} {added}".strip() if plus else parameters.strip() if colon else None
            known.update(dict.fromkeys(RELEASES[since:], said))
    return dict(table)


def _wrong(node: ast.Call, declared: str | None) -> str:
    """Return what is wrong with the arguments of a call, "" where they fit. What `*` and `**` give is not known."""
    if declared is None:
        return ""
    words = declared.split()
    names, needed = [word.rstrip("=") for word in words], [word for word in words if not word.endswith("=")]
    known = not any(isinstance(one, ast.Starred) for one in node.args)
    placed = names[: len(node.args)] if known else []
    keywords = [one.arg for one in node.keywords if one.arg is not None]
    if known and len(node.args) > len(names):
        return f"takes {len(names)} arguments at most: {', '.join(names)}"
    if odd := [word for word in keywords if word not in names]:
        return f"has no argument {odd[0]}=; it takes {', '.join(names) or 'none'}"
    if twice := [word for word in keywords if word in placed]:
        return f"is given {twice[0]} twice"
    lacking = [word for word in needed if word not in placed and word not in keywords]
    if known and lacking and len(keywords) == len(node.keywords):
        return f"is called without {', '.join(lacking)}"
    return ""
