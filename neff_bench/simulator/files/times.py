"""Writes and reads the schedule of a simulated execution: the last bytes of its trace's data area.

The records of a trace are in whole picoseconds, and do not say which instruction another one waited for; `view` must not simulate again to know.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import msgspec

from neff_bench.simulator.errors import ViewError
from neff_bench.simulator.timing.schedule import CoreSchedule, Runs, Schedule, overheads_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from neff_bench.chips import Chip
    from neff_bench.simulator.compiler.code.assembler import Code

_COLUMNS = ("start_ns", "end_ns", "done_ns", "wait_ns", "blocker", "by_hbm")
_RUNS = tuple(field.name for field in fields(Runs) if field.name != "width")
_DAMAGED = "damaged NTFF: its times are not those of the NEFF's instructions"


class _Core(msgspec.Struct, array_like=True):
    """`columns`, `runs`: dtype and raw bytes of each of `_COLUMNS` and `_RUNS`, in their order."""

    columns: tuple[tuple[str, bytes], ...]
    width: int
    runs: tuple[tuple[str, bytes], ...]
    warm: tuple[tuple[float, float], ...]
    kernel_end_ns: float


class _Times(msgspec.Struct, array_like=True):
    total_ns: float
    fixed_ns: float
    cores: tuple[_Core, ...]


def encode_times(schedule: Schedule) -> bytes:
    """Encode everything in a schedule but its chip and its machine code."""
    return msgspec.msgpack.encode(
        _Times(
            schedule.total_ns,
            schedule.fixed_ns,
            tuple(
                _Core(
                    _packed(core, _COLUMNS), core.runs.width, _packed(core.runs, _RUNS), core.warm, core.kernel_end_ns
                )
                for core in schedule.cores
            ),
        )
    )


def decode_times(data: bytes | memoryview, codes: Sequence[Code], chip: Chip, first_execution: bool) -> Schedule:
    """Return the schedule of the machine code `codes`, bit for bit. Raises ViewError for times of other code."""
    import numpy as np

    try:
        times = msgspec.msgpack.decode(data, type=_Times)
        cores = tuple(_core(core, code) for core, code in zip(times.cores, codes, strict=True))
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise ViewError(f"damaged NTFF: its times cannot be read ({error})") from None
    first = np.cumsum([0, *(len(code) for code in codes)])[:-1]
    return Schedule(
        chip, overheads_of(codes, chip), cores, tuple(first.tolist()), times.total_ns, times.fixed_ns, first_execution
    )


def _packed(record: object, names: Sequence[str]) -> tuple[tuple[str, bytes], ...]:
    columns: list[np.ndarray] = [getattr(record, name) for name in names]
    return tuple((column.dtype.str, column.tobytes()) for column in columns)


def _unpacked(names: Sequence[str], columns: Sequence[tuple[str, bytes]]) -> dict[str, np.ndarray]:
    import numpy as np

    return {name: np.frombuffer(raw, dtype) for name, (dtype, raw) in zip(names, columns, strict=True)}


def _core(core: _Core, code: Code) -> CoreSchedule:
    columns, runs = _unpacked(_COLUMNS, core.columns), _unpacked(_RUNS, core.runs)
    transfers = len(code.transfers)
    expected = {name: transfers if name == "by_hbm" else len(code) for name in _COLUMNS}
    if any(len(column) != expected[name] for name, column in columns.items()):
        raise ViewError(_DAMAGED)
    if any(len(column) != transfers * core.width for column in runs.values()):
        raise ViewError(_DAMAGED)
    return CoreSchedule(
        code, **columns, runs=Runs(core.width, **runs), warm=core.warm, kernel_end_ns=core.kernel_end_ns
    )
