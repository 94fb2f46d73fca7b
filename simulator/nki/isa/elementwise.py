"""Element-wise work of Vector, GpSimd and Scalar: copy, memset, tensor with tensor, tensor with scalar."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.dtypes import INTEGERS
from neff_bench.simulator.program import Access
from neff_bench.simulator.recording import check
from neff_bench.simulator.recording.enums import engine as engine_enum
from neff_bench.simulator.recording.operators import ALU, ALU_UNARY, BINARY, BITVEC, alu
from neff_bench.simulator.recording.recorder import NkiInstruction, invalid, recorder
from neff_bench.simulator.recording.tensor import NkiTensor, access

_UNKNOWN = engine_enum.unknown
_ALL = ("vector", "scalar", "gpsimd")
_INT32 = frozenset({"int32", "uint32"})


def tensor_copy(
    dst: NkiTensor, src: NkiTensor, engine: Any = _UNKNOWN, name: str | None = None, dtype: Any = None
) -> NkiInstruction:
    """`dst` = `src` between SBUF and PSUM. `dtype` (dialect 0.2) says what dst's dtype says."""
    now = recorder()
    check.on_chip("tensor_copy", dst=dst, src=src)
    check.same_tile("tensor_copy", "src", src, dst)
    chosen = check.chosen_engine("tensor_copy", engine, _ALL, "vector")
    check.no_psum_on_gpsimd("tensor_copy", chosen, dst, src)
    return now.emit("tensor_copy", chosen, {"dst": access(dst)}, {"src": access(src)}, {})


def memset(dst: NkiTensor, value: Any, engine: Any = _UNKNOWN, name: str | None = None) -> NkiInstruction:
    """Every element of `dst` = `value`.

    On Vector unless the kernel says else: AWS docs leave the choice to the compiler, and the published trn2 profile of
    nki-library's mlp has GpSimd no longer busy than its DMA descriptors take.
    """
    now = recorder()
    check.on_chip("memset", dst=dst)
    chosen = check.chosen_engine("memset", engine, _ALL, "vector")
    check.no_psum_on_gpsimd("memset", chosen, dst)
    return now.emit("memset", chosen, {"dst": access(dst)}, {}, {"value": check.number("memset", "value", value)})


def tensor_tensor(
    dst: NkiTensor,
    data1: NkiTensor,
    data2: NkiTensor,
    op: Any,
    engine: Any = _UNKNOWN,
    name: str | None = None,
) -> NkiInstruction:
    """`dst` = `data1` op `data2`. All-int32 operands in SBUF and `power` run on GpSimd unless the kernel says else."""
    now = recorder()
    check.on_chip("tensor_tensor", dst=dst, data1=data1, data2=data2)
    word = alu("tensor_tensor", "op", op, BINARY)
    check.same_tile("tensor_tensor", "data1", data1, dst)
    check.same_tile("tensor_tensor", "data2", data2, dst)
    _bitvec("tensor_tensor", word, dst, data1, data2)
    default = "vector"
    in_psum = "psum" in (dst.storage.memory, data1.storage.memory, data2.storage.memory)
    if word == "power" or (
        dst.dtype in _INT32 and data1.dtype in _INT32 and data2.dtype in _INT32 and not in_psum and word not in BITVEC
    ):
        default = "gpsimd"
    if data1.storage.memory == "psum" == data2.storage.memory and now.target in ("trn1", "inf2"):
        raise invalid(f"tensor_tensor: data1 and data2 cannot both be in PSUM: {data1!r}, {data2!r}")
    chosen = check.chosen_engine("tensor_tensor", engine, ("vector", "gpsimd"), default)
    check.no_psum_on_gpsimd("tensor_tensor", chosen, dst, data1, data2)
    return now.emit(
        "tensor_tensor", chosen, {"dst": access(dst)}, {"data1": access(data1), "data2": access(data2)}, {"op": word}
    )


def tensor_scalar(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Any,
    operand0: Any = None,
    reverse0: bool = False,
    op1: Any = None,
    operand1: Any = None,
    reverse1: bool = False,
    engine: Any = _UNKNOWN,
    name: str | None = None,
) -> NkiInstruction:
    """`dst` = (`data` op0 operand0) op1 operand1; operands are numbers or one element for each partition."""
    now = recorder()
    check.on_chip("tensor_scalar", dst=dst, data=data)
    check.same_tile("tensor_scalar", "data", data, dst)
    attributes: dict[str, Any] = {}
    reads = {"data": access(data)}
    scalar_stage("tensor_scalar", "0", op0, operand0, reverse0, data, reads, attributes)
    if op1 is not None:
        scalar_stage("tensor_scalar", "1", op1, operand1, reverse1, data, reads, attributes)
    elif operand1 is not None:
        raise invalid("tensor_scalar: operand1 needs op1")
    _bitvec("tensor_scalar", attributes["op0"], dst, data)
    default = "gpsimd" if "power" in (attributes["op0"], attributes.get("op1")) and _in_sbuf(dst, data) else "vector"
    chosen = check.chosen_engine("tensor_scalar", engine, _ALL, default)
    check.no_psum_on_gpsimd("tensor_scalar", chosen, dst, data)
    return now.emit("tensor_scalar", chosen, {"dst": access(dst)}, reads, attributes)


def scalar_stage(
    op: str,
    place: str,
    operator: Any,
    operand: Any,
    reverse: bool,
    data: NkiTensor,
    reads: dict[str, Access],
    attributes: dict[str, Any],
) -> None:
    """Record one `op<place>`, `operand<place>`, `reverse<place>` of a tensor-scalar instruction."""
    word = alu(op, f"op{place}", operator, ALU)
    attributes[f"op{place}"] = word
    if operand is None and word not in ALU_UNARY and word != "bypass":
        raise invalid(f"{op}: op{place} {word} needs operand{place}")
    check.operand(op, f"operand{place}", operand, data.shape[0], reads, attributes)
    if reverse:
        attributes[f"reverse{place}"] = True


def _in_sbuf(*operands: NkiTensor) -> bool:
    return all(value.storage.memory == "sbuf" for value in operands)


def _bitvec(op: str, word: str, *operands: NkiTensor) -> None:
    if word in BITVEC:
        for value in operands:
            if value.dtype not in INTEGERS:
                raise invalid(f"{op}: {word} needs integer tensors, not {value!r}")
