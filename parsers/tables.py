"""Shows the descriptions of describe.py to people, as tables."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neff_bench.chips.engines import ENGINES, TITLES
from neff_bench.parsers.trace import MEANING
from neff_bench.terminal.answer import Answer, Column, Grid

Found = dict[str, Any]
WRAPS = ("inputs", "outputs", "")
"""Columns whose text may take several lines."""
ENGINES_BY_CODE = dict(zip(("pe", "act", "pool", "dve", "sp"), TITLES, strict=True))
ENGINES_BY_NAME = dict(zip(ENGINES, TITLES, strict=True))


def answer(found: Sequence[Found], *, lists: bool) -> Answer:
    """Return each file in full, or one list for each kind of file. For programs: one record a file, nested keys joined by dots."""
    shown = [one for one in found if "error" not in one]
    records = [_flat(one) for one in found]
    fields = list(dict.fromkeys(key for record in records for key in record))
    grids = _lists(shown) if lists else [grid for one in shown for grid in _IN_FULL[one["kind"]](one)]
    return Answer(records, fields, grids, found if lists else found[0])


def _lists(found: Sequence[Found]) -> list[Grid]:
    grids = []
    for kind, grid_of in (
        ("neff", _neffs),
        ("hlo", _hlos),
        ("ntff", _traces),
        ("profile", _profiles),
        ("session", _sessions),
    ):
        chosen = [one for one in found if one["kind"] == kind]
        if chosen:
            grids.append(grid_of(chosen))
    return grids


def _flat(value: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return `{"a": {"b": 1}, "c": [{}]}` -> `{"a.b": 1, "c": "[{}]"}`."""
    flat: dict[str, Any] = {}
    for key, item in value.items():
        name = f"{above}{key}"
        if isinstance(item, Mapping):
            flat.update(_flat(item, f"{name}."))
        elif isinstance(item, (list, tuple)):
            flat[name] = json.dumps(item)
        else:
            flat[name] = item
    return flat


def _grid(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[str] = ()) -> Grid:
    """Return the cells of a table; None is an empty one."""
    columns = [Column(head, head in numbers, head in WRAPS) for head in heads]
    return Grid(columns, [["" if cell is None else str(cell) for cell in row] for row in rows], title=title)


def _pairs(title: str, pairs: Iterable[tuple[str, object]]) -> Grid:
    known = [pair for pair in pairs if pair[1] is not None and pair[1] != ""]
    return Grid([Column(""), Column("", wraps=True)], [[name, str(value)] for name, value in known], title=title)


def _names(found: Sequence[Found]) -> tuple[str, list[str]]:
    """Return the directory that all files lie in, and the name of each below it."""
    paths = [one["path"] for one in found]
    if len({os.path.isabs(path) for path in paths}) > 1:
        return "", paths
    above = os.path.commonpath([os.path.dirname(path) for path in paths])
    return above, [os.path.relpath(path, above) if above else path for path in paths]


def _list(
    kind: str, found: Sequence[Found], heads: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[str]
) -> Grid:
    """Return one line for each file, led by its name."""
    above, names = _names(found)
    title = f"{kind} in {above}" if above else kind
    return _grid(title, ["file", *heads], [(name, *row) for name, row in zip(names, rows)], numbers)


def _bytes(count: int | None) -> str | None:
    """Return a size in the units that shells print."""
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
    return " ".join(f"{tensor['name']}{_shape(tensor)}" for tensor in tensors)


def _shape(tensor: Mapping[str, Any]) -> str:
    return f"[{','.join(map(str, tensor['shape']))}]:{tensor['dtype']}"


def _note(one: dict[str, Any]) -> str | None:
    return "simulated" if one.get("simulated") or one.get("is_simulation") else None


def _neff(one: Found) -> list[Grid]:
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
    tensors = [
        (role[:-1], tensor["name"], tensor["shape"], tensor["dtype"], tensor["bytes"])
        for role in ("inputs", "outputs")
        for tensor in one[role]
    ]
    engines = [(ENGINES_BY_NAME[name], engine["instruction_count"]) for name, engine in one["engines"].items()]
    queues = [
        (queue["core"], queue["name"], queue["type"], queue["owner"], queue["num_queues"]) for queue in one["queues"]
    ]
    members = [(member["name"], member["bytes"]) for member in one["members"]]
    return _some(
        facts,
        _grid("Tensors", ["use", "name", "shape", "dtype", "bytes"], tensors, ["bytes"]),
        _grid("Instructions in the file, all cores", ["engine", "instructions"], engines, ["instructions"]),
        _grid("DMA queues", ["core", "queue", "type", "owner", "rings"], queues, ["core", "rings"]),
        _grid("Members", ["name", "bytes"], members, ["bytes"]),
    )


def _hlo(one: Found) -> list[Grid]:
    facts = _pairs(one["path"], [("HLO", f"{one['name']}, {_bytes(one['bytes'])}"), ("FLOPs", one["flops"])])
    tensors = [("parameter", tensor["name"], tensor["shape"], tensor["dtype"]) for tensor in one["parameters"]]
    tensors += [("result", None, tensor["shape"], tensor["dtype"]) for tensor in one["results"]]
    computations = [
        (each["name"], each["instruction_count"], each["flops"], _counted(each["opcodes"]))
        for each in one["computations"]
    ]
    dots = [
        (each["name"], dot["name"], dot["shape"], dot["dtype"], dot["flops"])
        for each in one["computations"]
        for dot in each["dots"]
    ]
    numbers = ["instructions", "FLOPs"]
    return _some(
        facts,
        _grid("Tensors", ["use", "name", "shape", "dtype"], tensors),
        _grid("Computations, the entry last", ["name", *numbers, ""], computations, numbers),
        _grid("Products", ["computation", "name", "shape", "dtype", "FLOPs"], dots, ["FLOPs"]),
    )


def _counted(opcodes: Mapping[str, int]) -> str:
    return " ".join(f"{count} {opcode}" for opcode, count in opcodes.items())


def _hlos(found: Sequence[Found]) -> Grid:
    rows = [
        (one["flops"], len(one["computations"]), _shapes(one["parameters"]), " ".join(map(_shape, one["results"])))
        for one in found
    ]
    numbers = ["FLOPs", "computations"]
    return _list("HLO", found, [*numbers, "inputs", "outputs"], rows, numbers)


def _some(*grids: Grid) -> list[Grid]:
    """Return the tables that have lines, and the first one for its title."""
    return [grid for number, grid in enumerate(grids) if grid.lines or number == 0]


def _neffs(found: Sequence[Found]) -> Grid:
    rows = []
    for one in found:
        sizes = [tensor["bytes"] for tensor in one["inputs"] + one["outputs"]]
        rows.append(
            (
                one["bytes"],
                None if None in sizes else sum(sizes),
                sum(engine["instruction_count"] for engine in one["engines"].values()),
                _shapes(one["inputs"]),
                _shapes(one["outputs"]),
                one["target"],
                one["lnc"],
                one["compiler_version"],
                _note(one),
            )
        )
    numbers = ["file bytes", "tensor bytes", "instructions"]
    return _list("NEFF", found, [*numbers, "inputs", "outputs", "target", "LNC", "compiler", ""], rows, numbers)


def _trace(one: Found) -> list[Grid]:
    program = one["neff"]
    # A trace names its program by uuid; where that cannot tell, there is a third answer.
    verdicts = {
        True: "same uuid:",
        False: "beside it is ANOTHER program:",
        None: "perhaps, the uuid cannot tell:",
    }
    facts = _pairs(
        one["path"],
        [
            ("NTFF", f"version {one['version']}, {_bytes(one['bytes'])}"),
            ("how exact", MEANING[one["certainty"]]),
            ("total time", f"{_microseconds(one['total_time_s'])} us" if one["total_time_s"] is not None else None),
            ("active time", f"{_microseconds(one['total_active_time_s'])} us" if one["total_active_time_s"] else None),
            ("cycles", one["neuroncore_cycle_count"]),
            ("records", one["trace_count"]),
            ("events", one["event_count"]),
            ("matmuls", one["matmul_instruction_count"]),
            ("target", one["target"]),
            ("instance", one["instance_type"]),
            ("NEFF uuid", one["uuid"]),
            (
                "its NEFF",
                f"{verdicts[program['same_program']]} {_near(program['path'], one['path'])}" if program else None,
            ),
            ("runtime", one["runtime_version"]),
            (
                "records lost",
                f"the device's buffers were full: {', '.join(one['full_buffers'])}" if one["full_buffers"] else None,
            ),
            ("not counted", ", ".join(f"{count} {name}" for name, count in one["undecoded"].items())),
            *(("warning", warning) for warning in one["warnings"]),
        ],
    )
    numbers = ["instructions", "instruction time (us)", "active time (us)"]
    engines = [
        (
            ENGINES_BY_NAME[name],
            engine["instruction_count"],
            _microseconds(engine["instruction_time_s"]),
            _microseconds(engine["active_time_s"]),
        )
        for name, engine in one["engines"].items()
    ]
    kind_numbers = ["packets", "bytes", "active time (us)"]
    kinds = [
        (kind, dma["packets"], dma["bytes"], _microseconds(dma["active_time_s"]))
        for kind, dma in one["dma_kinds"].items()
    ]
    # The device lists every kind of use, most of them empty.
    memory = [(use["core"], _use(use["name"]), use["bytes"]) for use in one["memory"] if use["bytes"]]
    dma = one["dma"] or {}
    moved = [
        ("packets", dma.get("packets")),
        ("bytes", dma.get("bytes")),
        ("packet time", f"{_microseconds(dma['packet_time_s'])} us, summed over packets" if dma else None),
        ("active time", f"{_microseconds(dma['active_time_s'])} us" if dma else None),
        (
            "not counted",
            f"{dma['left_out_packets']} packets of queues that were busy when the execution began"
            if dma.get("left_out_packets")
            else None,
        ),
        ("queues", one["dma_queue_count"]),
    ]
    return _some(
        facts,
        _grid("Engines", ["engine", *numbers], engines, numbers),
        _pairs("DMA", moved),
        _grid("DMA by kind", ["kind", *kind_numbers], kinds, kind_numbers),
        _grid("Device memory", ["core of the device", "use", "bytes"], memory, ["core of the device", "bytes"]),
    )


def _near(path: str, trace: str) -> str:
    """Return a path as the trace's was written: relative where that one is."""
    return path if os.path.isabs(trace) else os.path.relpath(path)


def _use(name: str) -> str:
    """Return what memory is used for, with the engine that people know where the runtime says the compiler's name of it."""
    return f"{name} ({ENGINES_BY_CODE[name]})" if name in ENGINES_BY_CODE else name


def _traces(found: Sequence[Found]) -> Grid:
    verdicts = {True: "same program", False: "another program", None: "cannot tell"}
    rows = []
    for one in found:
        tensor, dma, program = one["engines"].get("tensor", {}), one["dma"] or {}, one["neff"]
        rows.append(
            (
                one["version"],
                one["certainty"],
                one["bytes"],
                _microseconds(one["total_time_s"]),
                one["neuroncore_cycle_count"],
                _microseconds(tensor.get("active_time_s")),
                _microseconds(dma.get("active_time_s")),
                dma.get("bytes"),
                verdicts[program["same_program"]] if program else None,
            )
        )
    numbers = ["bytes", "total (us)", "cycles", "tensor active (us)", "DMA active (us)", "DMA bytes"]
    return _list("NTFF", found, ["version", "how exact", *numbers, "NEFF"], rows, numbers)


def _profile(one: Found) -> list[Grid]:
    summary = _pairs(
        one["path"],
        [
            ("made by", _note(one)),
            *((head, said) for head, key in (("suspect", "suspect"), ("warning", "warnings")) for said in one[key]),
            *(_figure(name, value) for name, value in one["summary"].items() if not isinstance(value, dict)),
        ],
    )
    checked = one["self_check"]
    title = f"Self-check: {checked['checked']} figures recomputed, {len(checked['disagreements'])} disagree"
    failures = [(failure["name"], failure["stated"], failure["computed"]) for failure in checked["disagreements"]]
    return [summary, _grid(title, ["figure", "stated", "computed"], failures)]


def _figure(name: str, value: Any) -> tuple[str, Any]:
    """Return a figure of a profile in the unit that people read: times in us, shares in percent."""
    if name.endswith("_s") and isinstance(value, float):
        return f"{name.removesuffix('_s')} (us)", _microseconds(value)
    if name.endswith("_fraction") and isinstance(value, float):
        return f"{name.removesuffix('_fraction')}_percent", _percent(value)
    return name, _rounded(value) if isinstance(value, float) else value


def _profiles(found: Sequence[Found]) -> Grid:
    rows = []
    for one in found:
        summary = one["summary"]
        rows.append(
            (
                _microseconds(summary.get("total_time_s")),
                *(_percent(summary.get(f"{name}_estimated_fraction")) for name in ("mfu", "hfu", "mbu")),
                _rounded(summary.get("mm_arithmetic_intensity")),
                f"{len(one['self_check']['disagreements'])} of {one['self_check']['checked']} disagree",
                summary.get("instance_type"),
                _note(one),
            )
        )
    numbers = ["total (us)", "MFU", "HFU", "MBU", "FLOPs/byte"]
    return _list("Profiles", found, [*numbers, "self-check", "instance", ""], rows, numbers)


def _session(one: Found) -> list[Grid]:
    numbers = ["core", "time (us)", "instructions", "events", "errors"]
    rows = [
        (
            core["core"],
            _microseconds(core["time_s"]),
            core["instruction_count"],
            core["event_count"],
            core["error_count"],
        )
        for core in one["cores"]
    ]
    return [_grid(one["path"], numbers, rows, numbers)]


def _sessions(found: Sequence[Found]) -> Grid:
    rows = [(_microseconds(one["total_time_s"]), len(one["cores"])) for one in found]
    return _list("Sessions", found, ["total (us)", "cores"], rows, ["total (us)", "cores"])


_IN_FULL = {"neff": _neff, "hlo": _hlo, "ntff": _trace, "profile": _profile, "session": _session}
