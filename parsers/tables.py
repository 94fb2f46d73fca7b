"""`inspect` for people: rich tables of the descriptions in describe.py."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

PLAIN_WIDTH = 240
"""Columns where the output is no terminal: wide enough that nothing is cut."""


def show(found: list[dict[str, Any]], lists: bool) -> None:
    """Prints to stdout: each file in full, or one list for each kind of file."""
    console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)
    if lists:
        for kind, table_of in (("neff", _neffs), ("ntff", _traces), ("profile", _profiles), ("session", _sessions)):
            chosen = [one for one in found if one["kind"] == kind]
            if chosen:
                _print(console, table_of(chosen))
        return
    for one in found:
        for table in {"neff": _neff, "ntff": _trace, "profile": _profile, "session": _session}[one["kind"]](one):
            _print(console, table)


def _print(console: Console, table: Table) -> None:
    """The title as a line of its own: rich would fold a long path to the width of the table."""
    title, table.title = table.title, None
    console.print(title, soft_wrap=True)
    if table.row_count:
        console.print(table)


def _table(title: str, *columns: str, numbers: Iterable[str] = ()) -> Table:
    table = Table(title=Text(title, style="bold"), box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(Text(column), justify="right" if column in numbers else "left", overflow="fold")
    return table


def _add(table: Table, *cells: object) -> None:
    """A row; None is an empty cell, and nothing in a file is taken for markup or control codes."""
    table.add_row(
        *(Text("" if cell is None else "".join(c if c.isprintable() else "�" for c in str(cell))) for cell in cells)
    )


def _pairs(title: str, pairs: Iterable[tuple[str, object]]) -> Table:
    table = _table(title, "", "", numbers=())
    table.show_header = False
    for name, value in pairs:
        if value is not None and value != "":
            _add(table, name, value)
    return table


def _bytes(count: int | None) -> str | None:
    """As the user of a shell reads sizes."""
    if count is None:
        return None
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return None


def _microseconds(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds * 1e6:.3f}"


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.2%}"


def _rounded(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}"


def _shapes(tensors: list[dict[str, Any]]) -> str:
    return " ".join(f"{tensor['name']}[{','.join(map(str, tensor['shape']))}]:{tensor['dtype']}" for tensor in tensors)


def _note(one: dict[str, Any]) -> str | None:
    return "simulated" if one.get("simulated") or one.get("is_simulation") else None


def _neff(one: dict[str, Any]) -> list[Table]:
    facts = _pairs(
        one["path"],
        [
            ("NEFF", f"version {one['version']}, {_bytes(one['bytes'])}"),
            ("made by", _note(one)),
            ("compiler", one["compiler_version"]),
            ("target", f"{one['target']}  ({one['architecture']})"),
            ("LNC", one["lnc"]),
            ("uuid", one["uuid"]),
            ("name", one["name"]),
            ("HLO MACs", one["hlo_mac_count"]),
        ],
    )
    tensors = _table("Tensors", "", "name", "shape", "dtype", "bytes", numbers=["bytes"])
    for role in ("inputs", "outputs"):
        for tensor in one[role]:
            _add(tensors, role[:-1], tensor["name"], tensor["shape"], tensor["dtype"], tensor["bytes"])
    engines = _table("Instructions in the file, all cores", "engine", "instructions", numbers=["instructions"])
    for name, engine in one["engines"].items():
        _add(engines, name, engine["instruction_count"])
    queues = _table("DMA queues", "core", "queue", "type", "owner", "rings", numbers=["core", "rings"])
    for queue in one["queues"]:
        _add(queues, queue["core"], queue["name"], queue["type"], queue["owner"], queue["num_queues"])
    members = _table("Members", "name", "bytes", numbers=["bytes"])
    for member in one["members"]:
        _add(members, member["name"], member["bytes"])
    return [table for table in (facts, tensors, engines, queues, members) if table.row_count]


def _neffs(found: list[dict[str, Any]]) -> Table:
    numbers = ["file bytes", "tensor bytes", "instructions"]
    table = _table("NEFF", "path", *numbers, "inputs", "outputs", "target", "LNC", "compiler", "", numbers=numbers)
    for one in found:
        sizes = [tensor["bytes"] for tensor in one["inputs"] + one["outputs"]]
        instructions = sum(engine["instruction_count"] for engine in one["engines"].values())
        tensor_bytes = None if None in sizes else sum(sizes)
        shapes = (_shapes(one["inputs"]), _shapes(one["outputs"]))
        _add(
            table,
            one["path"],
            one["bytes"],
            tensor_bytes,
            instructions,
            *shapes,
            one["target"],
            one["lnc"],
            one["compiler_version"],
            _note(one),
        )
    return table


def _trace(one: dict[str, Any]) -> list[Table]:
    program = one["neff"]
    verdicts = {
        True: "(the uuid says so)",
        False: "beside it is ANOTHER program",
        None: "perhaps: the uuid cannot tell",
    }
    facts = _pairs(
        one["path"],
        [
            ("NTFF", f"version {one['version']}, {_bytes(one['bytes'])}; figures are {one['certainty']}"),
            ("total time", f"{_microseconds(one['total_time_s'])} us" if one["total_time_s"] is not None else None),
            ("cycles", one["neuroncore_cycle_count"]),
            ("events", one["event_count"]),
            ("matmuls", one["matmul_instruction_count"]),
            ("instance", one["instance_type"]),
            ("NEFF uuid", one["uuid"]),
            ("its NEFF", f"{program['path']} {verdicts[program['same_program']]}" if program else None),
            ("runtime", one["runtime_version"]),
            (
                "records lost",
                f"the device's buffers were full: {', '.join(one['full_buffers'])}" if one["full_buffers"] else None,
            ),
            ("not decoded", ", ".join(f"{count} {name}" for name, count in one["undecoded"].items())),
        ],
    )
    numbers = ["instructions", "instruction time (us)", "active time (us)"]
    engines = _table("Engines", "engine", *numbers, numbers=numbers)
    for name, engine in one["engines"].items():
        times = (_microseconds(engine["instruction_time_s"]), _microseconds(engine["active_time_s"]))
        _add(engines, name, engine["instruction_count"], *times)
    dma = one["dma"]
    moved = _pairs("DMA", [] if dma is None else [(name, value) for name, value in dma.items()])
    memory = _table("Device memory", "core", "use", "bytes", numbers=["core", "bytes"])
    for use in one["memory"]:
        if use["bytes"]:
            _add(memory, use["core"], use["name"], use["bytes"])
    return [table for table in (facts, engines, moved, memory) if table.row_count]


def _traces(found: list[dict[str, Any]]) -> Table:
    numbers = ["bytes", "total (us)", "cycles", "tensor active (us)", "DMA active (us)", "DMA bytes"]
    table = _table("NTFF", "path", "version", "certainty", *numbers, "NEFF", numbers=numbers)
    for one in found:
        tensor, dma, program = one["engines"].get("tensor", {}), one["dma"] or {}, one["neff"]
        figures = (one["bytes"], _microseconds(one["total_time_s"]), one["neuroncore_cycle_count"])
        active = (_microseconds(tensor.get("active_time_s")), _microseconds(dma.get("active_time_s")), dma.get("bytes"))
        verdict = (
            {True: "same program", False: "another program", None: "cannot tell"}[program["same_program"]]
            if program
            else None
        )
        _add(table, one["path"], one["version"], one["certainty"], *figures, *active, verdict)
    return table


def _profile(one: dict[str, Any]) -> list[Table]:
    summary = _pairs(
        one["path"],
        [
            ("made by", _note(one)),
            *(("doubtful", doubt) for doubt in one["doubts"]),
            *((name, value) for name, value in one["summary"].items() if not isinstance(value, dict)),
        ],
    )
    checked = one["self_check"]
    verdict = _table(
        f"Self-check: {checked['checked']} figures recomputed, {len(checked['disagreements'])} disagree",
        "figure",
        "stated",
        "computed",
    )
    for failure in checked["disagreements"]:
        _add(verdict, failure["name"], failure["stated"], failure["computed"])
    return [summary, verdict]


def _profiles(found: list[dict[str, Any]]) -> Table:
    numbers = ["total (us)", "MFU", "HFU", "MBU", "intensity", "disagreements"]
    table = _table("Profiles", "path", *numbers, "instance", "", numbers=numbers)
    for one in found:
        summary = one["summary"]
        shares = [_percent(summary.get(f"{name}_estimated_fraction")) for name in ("mfu", "hfu", "mbu")]
        failures = len(one["self_check"]["disagreements"])
        total, intensity = _microseconds(summary.get("total_time_s")), _rounded(summary.get("mm_arithmetic_intensity"))
        _add(table, one["path"], total, *shares, intensity, failures, summary.get("instance_type"), _note(one))
    return table


def _session(one: dict[str, Any]) -> list[Table]:
    numbers = ["core", "time (us)", "instructions", "events", "errors"]
    table = _table(one["path"], *numbers, numbers=numbers)
    for core in one["cores"]:
        counts = (core["instruction_count"], core["event_count"], core["error_count"])
        _add(table, core["core"], _microseconds(core["time_s"]), *counts)
    return [table]


def _sessions(found: list[dict[str, Any]]) -> Table:
    numbers = ["total (us)", "cores"]
    table = _table("Sessions", "path", *numbers, numbers=numbers)
    for one in found:
        _add(table, one["path"], _microseconds(one["total_time_s"]), len(one["cores"]))
    return table
