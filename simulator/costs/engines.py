"""What one operation costs on its engine: the cycle tables of the documentation at the chip's clocks.

An engine takes `interval_ns` before it can start its next instruction; the result is ready `latency_ns` after the
start. Column counts N are elements per partition.
"""

from __future__ import annotations

from typing import NamedTuple

from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.chips import Chip
from neff_bench.simulator.compiler.dependencies import item_bytes
from neff_bench.simulator.program import Access, Instruction, Program


class Cost(NamedTuple):
    opcode: int
    interval_ns: float
    latency_ns: float


_TWO_BYTES = 2
_HALVED_REDUCTIONS = ("add", "max", "maximum")
_SIMPLE_ARITHMETIC = ("add", "subtract", "multiply")
_COPY_FUNCTIONS = ("copy", "identity")

OPCODE_OF_OP = {
    "tensor_tensor": "TENSOR_TENSOR", "tensor_scalar": "TENSOR_SCALAR", "tensor_reduce": "TENSOR_REDUCE",
    "tensor_partition_reduce": "TENSOR_PARTITION_REDUCE", "tensor_scalar_cumulative": "TENSOR_SCALAR_CUMULATIVE",
    "tensor_scalar_reduce": "TENSOR_SCALAR_REDUCE", "scalar_tensor_tensor": "SCALAR_TENSOR_TENSOR",
    "tensor_tensor_scan": "TENSOR_TENSOR_SCAN", "tensor_copy_predicated": "COPY_PREDICATED", "memset": "MEMSET",
    "activation": "ACTIVATE", "activation_reduce": "ACTIVATE_REDUCE", "activate2": "ACTIVATE",
    "exponential": "EXPONENTIAL", "reciprocal": "RECIPROCAL", "iota": "IOTA", "affine_select": "AFFINE_SELECT",
    "range_select": "RANGE_SELECT", "select_reduce": "SELECT_REDUCE", "bn_stats": "BN_STATS", "bn_aggr": "BN_AGGR",
    "nc_stream_shuffle": "STREAM_SHUFFLE", "nc_transpose": "TRANSPOSE", "max8": "MAX8",
    "nc_find_index8": "FIND_INDEX8", "nc_match_replace8": "MATCH_REPLACE8", "local_gather": "GATHER",
    "nc_n_gather": "GATHER", "rng": "RNG", "rand2": "RNG", "dropout": "RNG", "set_rng_seed": "RNG",
    "rand_set_state": "RNG", "rand_get_state": "RNG", "quantize_mx": "QUANTIZE_MX",
    "register_alloc": "REGISTER_MOVE", "register_move": "REGISTER_MOVE", "register_load": "TENSOR_LOAD",
    "register_store": "TENSOR_STORE",
}  # fmt: skip
"""Operations not named here run as CUSTOM_OP at one column a cycle."""

_CYCLES_PER_COLUMN = {
    "scalar_tensor_tensor": 2.0, "tensor_tensor_scan": 2.0, "reciprocal": 8.0, "tensor_scalar_cumulative": 2.0,
}  # fmt: skip
"""AWS docs 2.26 nki.isa cost tables; everything else is one."""

POINTERS = frozenset(("bias", "scale", "operand0", "imm0", "imm1", "bound0", "bound1", "relu_param"))
"""Operands that may be one value for each partition: the instruction holds their address."""

_REGISTER_OPS = ("register_alloc", "register_move", "register_load", "register_store")
_REGISTER_NS = 50.0
_REGISTER_LOAD_NS = 1060.0
"""TENSOR_LOAD of the trn2 traces: 1019-1069 ns."""

ACTIVATION_TABLES: tuple[tuple[str, frozenset[str]], ...] = tuple(
    (name, frozenset(text.split()))
    for name, text in (
        ("exp_and_others", "exp tanh"),
        ("softplus_and_others", "softplus"),
        ("sigmoid_and_others", "tanh sigmoid erf arctan"),
        ("sqrt_and_others", "sqrt"),
        ("natural_log", "ln log"),
        ("natural_log_exp_and_others", "ln log exp"),
        ("sigmoid_derivative", "derivative_sigmoid"),
        ("tanh_and_derivative", "tanh derivative_tanh"),
        ("trig_and_small", "sin arctan"),
        ("gelu_and_others", "gelu derivative_gelu gelu_dx tanh"),
        ("gelu_apprx_tanh_and_others", "gelu_apprx_tanh tanh"),
        ("gelu_apprx_sigmoid_and_others", "gelu_apprx_sigmoid tanh"),
        ("reciprocal_and_small", "reciprocal"),
        ("reciprocal_sqrt_and_small", "reciprocal_sqrt rsqrt"),
        ("abs_reciprocal_sqrt_and_small", "abs_reciprocal_sqrt"),
        ("mish_and_others", "mish"),
        ("erf_derivative", "derivative_erf erf_dx"),
        ("silu_and_others", "silu tanh sin"),
        ("derivative_silu_and_others", "derivative_silu silu_dx tanh sin"),
    )
)
"""Function tables of the Scalar Engine (act_info.json in NEFFs of github allenkchau/trainium-kernel-fusion @d709ddf1)."""

_IN_EVERY_TABLE = frozenset(
    "identity copy leaky_relu parametric_relu abs sign memset_zero relu derivative_relu derivative_leaky_relu"
    " derivative_identity is_finite square none".split()
)


def activation_table(function: str, loaded: str | None) -> str | None:
    """Name of the table that must be loaded before `function`; None when the loaded one has it (or any would do)."""
    if loaded is not None and function in _IN_EVERY_TABLE:
        return None
    holders = [name for name, functions in ACTIVATION_TABLES if function in functions]
    if loaded in holders:
        return None
    if function in _IN_EVERY_TABLE:
        return ACTIVATION_TABLES[0][0]
    return holders[0] if holders else f"{function}_and_others"


def columns(access: Access) -> int:
    """Elements per partition."""
    count = 1
    for _, size in access.pattern[1:]:
        count *= size
    return count


def unit_stride(access: Access) -> bool:
    """Whether neighbouring columns lie side by side in their partition."""
    for step, size in reversed(access.pattern[1:]):
        if size > 1:
            return abs(step) == 1
    return True


def elements(access: Access) -> int:
    count = 1
    for _, size in access.pattern:
        count *= size
    return count


def engine_cost(instruction: Instruction, program: Program, chip: Chip) -> Cost:
    """Cost of an operation on the Vector, Scalar, GpSimd or Sync engine (not PE, not DMA)."""
    op = instruction.op
    operands = [*instruction.writes.values(), *instruction.reads.values()]
    n = max((columns(access) for access in operands), default=0)
    if op in _REGISTER_OPS:
        ns = _REGISTER_LOAD_NS if op == "register_load" else _REGISTER_NS
        return Cost(OPCODES[OPCODE_OF_OP[op]], ns, ns)
    if instruction.engine == "scalar":
        return _scalar_cost(instruction, n, chip)
    if instruction.engine == "gpsimd":
        return _gpsimd_cost(instruction, n, chip)
    return _vector_cost(instruction, operands, program, n, chip)


def _opcode(instruction: Instruction) -> int:
    op = instruction.op
    if op == "tensor_copy":
        same = instruction.writes["dst"].dtype == instruction.reads["src"].dtype
        return OPCODES["COPY" if same else "CAST"]
    return OPCODES[OPCODE_OF_OP.get(op, "CUSTOM_OP")]


def _scalar_cost(instruction: Instruction, n: int, chip: Chip) -> Cost:
    op = instruction.op
    cycles = max(chip.minimum_cycles, n) + (chip.minimum_cycles if op == "activation_reduce" else 0)
    busy = cycles / chip.scalar_clock_ghz
    plain = op in ("tensor_copy", "memset") or instruction.attributes.get("op") in _COPY_FUNCTIONS
    latency = chip.scalar_latency_ns if plain else chip.scalar_function_latency_ns
    return Cost(_opcode(instruction), busy + chip.scalar_overhead_ns, busy + latency)


def _gpsimd_cost(instruction: Instruction, n: int, chip: Chip) -> Cost:
    busy = (chip.gpsimd_fixed_cycles + n) / chip.gpsimd_clock_ghz
    return Cost(_opcode(instruction), busy, busy + chip.gpsimd_latency_ns)


def _vector_cost(instruction: Instruction, operands: list[Access], program: Program, n: int, chip: Chip) -> Cost:
    cycles = max(float(chip.minimum_cycles), n * _cycles_per_column(instruction, operands, program, chip))
    busy = cycles / chip.vector_clock_ghz
    # The measured latency is that of the columns alone, without the minimum interval.
    latency = n * _cycles_per_column(instruction, operands, program, chip) / chip.vector_clock_ghz
    pointer = chip.vector_pointer_ns if _has_pointer(instruction, n) else 0.0
    return Cost(
        _opcode(instruction), busy + chip.vector_overhead_ns + pointer, latency + chip.vector_latency_ns + pointer
    )


def _has_pointer(instruction: Instruction, n: int) -> bool:
    """Whether an operand is one value for each partition beside wider data."""
    return n > 1 and any(name in POINTERS and columns(access) == 1 for name, access in instruction.reads.items())


def _cycles_per_column(instruction: Instruction, operands: list[Access], program: Program, chip: Chip) -> float:
    op = instruction.op
    fixed = _CYCLES_PER_COLUMN.get(op)
    if fixed is not None:
        return fixed
    wide = [access for access in operands if columns(access) > 1]
    in_psum = any(program.buffers[access.buffer].memory == "psum" for access in wide)
    narrow = all(item_bytes(access.dtype) <= _TWO_BYTES for access in wide)
    fast = chip.vector_fast_modes
    if op in ("tensor_copy", "tensor_scalar", "memset"):
        if not fast:
            return 1.0
        if narrow:
            return 0.5 if in_psum else 0.25
        return 1.0 if in_psum else 0.5
    if op == "tensor_tensor":
        simple = instruction.attributes.get("op") in _SIMPLE_ARITHMETIC
        if narrow and simple and not in_psum:
            return 0.5 if fast else 1.0
        return 1.0 if in_psum else 2.0
    if op == "tensor_reduce" and narrow and instruction.attributes.get("op") in _HALVED_REDUCTIONS:
        return 0.5
    return 1.0
