"""A real profile's instruction list as machine code of the model, with the profile's own dependencies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from neff_bench.chips import CHIPS, Chip
from neff_bench.chips.engines import TITLES
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.parsers.records import merged
from neff_bench.simulator.calibration.operations import OPS, Operation, instruction_of, operation_of
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.assembler import Code
from neff_bench.simulator.compiler.code.lowering import lower
from neff_bench.simulator.costs.transfers import MAX_PACKET_BYTES, Transfer, transfers_of
from neff_bench.simulator.program import ENGINES
from neff_bench.simulator.timing.schedule import CoreSchedule, schedule_code

SUBGROUPS = {title: index for index, title in enumerate(TITLES)}
"""A profile's names of the engines, with their index."""

_COLUMNS = 128
"""Of weights: what a profile does not say."""

_HBM = range(0x800000000000, 0x802000000000)


def replay(profile: dict[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Yield (column, model us, measured us): kernel span and each engine's active time within the kernel."""
    target, rows = target_of(profile), kernel_rows(profile)
    chip = chip_for(target)
    overheads = chip.overheads
    code = _code(rows, chip)
    begin = min(r["timestamp"] for r in rows)
    start = overheads.kernel_start_ns(0, SUBGROUPS[rows[0]["subgroup"]])
    phase = start - begin + next((r["timestamp"] for r in profile.get("ham", [])), 0)
    core = schedule_code([code], chip, overheads, phase).cores[0]
    packets = [
        d
        for d in profile["dma"]
        if d["queue_type"] != "instruction"
        and d.get("subgraph", "sg00") == "sg00"
        and d["timestamp"] >= begin
        and d["aggregated"] == "no"
    ]
    end = max(max(r["timestamp"] + r["duration"] for r in rows), max(d["timestamp"] + d["duration"] for d in packets))
    yield "kernel span us", (float(core.end_ns.max()) - _first_trigger(core, chip)) / 1000, (end - begin) / 1000
    yield from _engines(rows, core)
    # The packets of a run follow each other without a gap.
    moving = core.runs.count > 0
    starts = core.runs.start_ns[moving]
    ends = starts + (core.runs.count * core.runs.spacing_ns)[moving]
    yield "dma active us", _union(starts, ends), _measured_union(packets)


def target_of(profile: dict[str, Any]) -> str:
    """Return the chip that the profile was taken on, told by the clock of its PE."""
    return "inf2" if profile["metadata"][0]["pe_clock_freq"] == CHIPS["inf2"].pe_clock_ghz else "trn2"


def kernel_rows(profile: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the instructions of the kernel on the first core, by time."""
    rows = [r for r in profile["instruction"] if r["instruction_type"] and r.get("subgraph", "sg00") == "sg00"]
    rows.sort(key=lambda r: (r["timestamp"], r["pc"]))
    if target_of(profile) == "inf2":
        # First executions: 1.9 ms pass between the runtime's part and the kernel's first DMA.
        rows = rows[next(i for i, r in enumerate(rows) if r["opcode"] == "DMA_DIRECT2D") :]
    return rows


def _first_trigger(core: CoreSchedule, chip: Chip) -> float:
    """Return when a profile shows the first instruction: it shows a software DMA when its descriptors are written."""
    import numpy as np

    software = np.array([t >= 0 and core.code.transfers[t].software for t in core.code.transfer])
    return float((core.start_ns + np.where(software, chip.software_dma_prepare_ns, 0.0)).min())


def _engines(rows: list[dict[str, Any]], core: CoreSchedule) -> Iterator[tuple[str, float, float]]:
    code = core.code
    work = code.opcode != OPCODES["EVENT_SEMAPHORE"]
    for subgroup, engine in SUBGROUPS.items():
        chosen = [r for r in rows if r["subgroup"] == subgroup and r["opcode"] != "EVENT_SEMAPHORE"]
        mine = work & (code.engine == engine)
        if chosen:
            yield (
                f"{ENGINES[engine]} active us",
                _union(core.start_ns[mine], core.end_ns[mine]),
                _measured_union(chosen),
            )


def _union(start_ns, end_ns) -> float:
    begin, end = merged(start_ns, end_ns)
    return int((end - begin).sum()) / 1000


def _measured_union(rows: list[dict[str, Any]]) -> float:
    import numpy as np

    start = np.array([r["timestamp"] for r in rows])
    return _union(start, start + np.array([r["duration"] for r in rows]))


def _code(rows: list[dict[str, Any]], chip: Chip) -> Code:
    import numpy as np

    number = {r["id"]: i for i, r in enumerate(rows)}
    n = len(rows)
    interval, latency, pe = np.zeros(n), np.zeros(n), np.zeros(n)
    transfer = np.full(n, -1, dtype=np.int32)
    transfers: list[Transfer] = []
    engine = np.array([SUBGROUPS[r["subgroup"]] for r in rows], dtype=np.int32)
    starts, waits = [0], []
    for i, row in enumerate(rows):
        opcode = row["opcode"]
        before = {number[p["id"]] for p in row.get("predecessors", []) if p["id"] in number}
        # Like the model: an engine's own order needs no wait, except for a result it reads itself.
        waits += sorted(b for b in before if b != i and not (engine[b] == engine[i] == 0))
        starts.append(len(waits))
        if opcode == "DMA_DIRECT2D":
            transfer[i] = len(transfers)
            transfers.append(_transfer(row["operands"], int(engine[i])))
            software = transfers[-1].software
            interval[i] = chip.software_dma_issue_ns if software else chip.dma_issue_ns
            latency[i] = chip.software_dma_instruction_ns if software else chip.dma_issue_ns
        elif opcode == "LDWEIGHTS":
            wide = _COLUMNS * (1 if "transpose_mode=ENABLED" in row["operands"] else 2)
            pe[i] = (wide if "fp32" in row["operands"] else chip.load_weights_cycles) / chip.pe_clock_ghz
            latency[i] = chip.load_weights_ns
        elif opcode == "MATMUL":
            passes = 2 if "fp32" in row["operands"] else 1
            columns = _operation_of(row).operands[0].columns
            pe[i], interval[i] = chip.pe_stream_ns(passes * columns), chip.pe_stream_ns(chip.minimum_cycles)
        elif opcode == "ACT_TABLE_LOAD":
            interval[i] = latency[i] = chip.activation_table_load_ns
        elif opcode in OPS:
            step = lower(*instruction_of(_operation_of(row)), chip).steps[0]
            interval[i], latency[i] = step.interval_ns, step.latency_ns
        else:
            interval[i] = latency[i] = float(row["duration"])
    zeros = np.zeros(n, dtype=np.int64)
    return Code(
        engine=engine, opcode=np.array([OPCODES[r["opcode"]] for r in rows], dtype=np.int32),
        origin=np.arange(n, dtype=np.int32), interval_ns=interval, latency_ns=latency, pe_ns=pe, transfer=transfer,
        meeting=np.full(n, -1, dtype=np.int32), flops=zeros, transpose=zeros.astype(bool), sbuf_read=zeros, sbuf_write=zeros,
        psum_read=zeros, psum_write=zeros, psum_read_sbuf_write=zeros, wait_start=np.array(starts, dtype=np.int64),
        waits=np.array(waits, dtype=np.int32), transfers=transfers_of(transfers),
    )  # fmt: skip


def _operation_of(row: dict[str, Any]) -> Operation:
    return operation_of(row["opcode"], row["subgroup"], row["operands"], row["activation_fn"])


def _transfer(operands: str, engine: int) -> Transfer:
    size, written = (int(re.search(rf"{side}_elem_size=(\d+)", operands)[1]) for side in ("src", "dst"))
    pattern = re.search(r"src_pattern=\[[\d,]+\]\[([\d,]+)\]", operands)[1]
    count = 1
    for extent in pattern.split(","):
        count *= int(extent)
    reads_hbm = "src_table" in operands or _hbm(operands, "src")
    writes_hbm = "dst_table" in operands or _hbm(operands, "dst")
    total = written * count
    software, converts = engine == 2, written < size
    packet = max(written, min(MAX_PACKET_BYTES, total // 16)) if software and not converts else written
    return Transfer(
        queue=engine, packets=total // packet, packet_bytes=packet, bytes=total, hbm_read=size * count if reads_hbm else 0,
        hbm_write=total if writes_hbm else 0, sbuf_read=0, sbuf_write=0, psum_read=0, psum_write=0, software=software,
        rows=packet // written if writes_hbm else 1, converts=converts,
    )  # fmt: skip


def _hbm(operands: str, side: str) -> bool:
    found = re.search(rf"{side}_addr_imm=(0x[0-9a-f]+)", operands)
    return bool(found) and int(found[1], 16) in _HBM
