"""Mutated files of every kind, read as the commands read them: no traceback, no hang, no write outside, little memory.

    python bench/fuzz_files.py [COUNT] [SEED ...]      by default 100,000 files over the seeds 1 to 5

Files are mutated at random (bits, pieces, numbers, lengths, parts of other files, repetition; of JSON every third time one value becomes
one of another type, under a new seal where there was one) and read in process, one process for a seed.
Allowed is a result, or an error of the project in one line. Everything else is printed with what repeats it, and the exit code is 1.
Bounds for one file: 5 s on the processor; for a process: 500 MB.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True  # a write of Python's own is no write of a reader
COUNT, SEEDS = 100_000, (1, 2, 3, 4, 5)
CPU_S_MAX = 5.0
RSS_BYTES_MAX = 500_000_000
IN_A_TREE = 0.1
"""Share of the files that are read as part of a directory."""

TOKENS = (
    b"NaN", b"1e999", b"-1", b"9" * 400, b"[" * 3000, b"{" * 900, b'{"a":' * 900, b"null", b"\x00", b"\xff" * 8, b"\xef\xbb\xbf",
    b"\xff\xfe", b"\x1b[31m", b"\xe2\x80\xae", b"\n", b"\r\n", b'"', b"../../../../etc/passwd", b"/etc/passwd", b"=cmd()", b"1" * 20,
    b"18446744073709551615", b"-9223372036854775809", b"&a [*a, *a]", b"*a", b"!!python/object:os.system", b"1:100000000:1",
)  # fmt: skip

TYPES = (None, True, 0, -1, 1.5, 1e300, 10**30, "", "x", "1", [], [1], ["x"], {}, {"a": 1}, [[]], [None])

Reader = Callable[[Path], Any]


@dataclass
class Kind:
    """A kind of file. `name`: what the file is called; `sound`: whole examples; `readers`: what reads it."""

    name: str
    sound: list[bytes]
    readers: list[Reader]


@dataclass
class Tally:
    """Holds what one process found."""

    files: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    peak_bytes: int = 0


class TooSlow(BaseException):
    """A file took more than its time on the processor."""


def mutated(data: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """Another file made of this one by one to four changes."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(out) + 1)
        end = min(len(out), at + chance.choice((1, 4, 16, 200)))
        match chance.randrange(9):
            case 0 if out:
                out[min(at, len(out) - 1)] ^= 1 << chance.randrange(8)
            case 1:
                out[at:end] = chance.randbytes(end - at)
            case 2:
                del out[at:end]
            case 3:
                del out[at:]
            case 4:
                out[at:at] = chance.choice(TOKENS)
            case 5:
                out[at:end] = chance.choice(TOKENS)
            case 6:
                out[at:end] = out[at:end] * chance.choice((2, 50, 2000))
            case 7:
                other = chance.choice(others)
                start = chance.randrange(len(other) + 1)
                out[at:end] = other[start : start + chance.choice((4, 64, 4000))]
            case _:
                out[at:end] = chance.choice((0, 1, 0x7F, 0xFF, 1 << 31, 1 << 62, (1 << 64) - 1)).to_bytes(8, "little")
        del out[4_000_000:]
    return bytes(out)


def retyped(data: bytes, chance: random.Random) -> bytes | None:
    """Return the same JSON with one value of another type, or the same table with another column; None for another kind of file."""
    from neff_bench.neffs.checksums import seal

    if data.startswith(b"PAR1"):
        return _with_another_column(data, chance)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    sealed = isinstance(document, dict) and document.pop("checksum", None) is not None
    place: Any = [document]
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = chance.choice(keys)
        if not isinstance(place[key], (dict, list)) or not place[key] or chance.random() < 0.1:
            break
        place = place[key]
    if place is not document and chance.random() < 0.1:
        del place[key]
    else:
        place[key] = chance.choice(TYPES)
    return seal(json.dumps(document, indent=2).encode() + b"\n") if sealed else json.dumps(document).encode()


def _with_another_column(data: bytes, chance: random.Random) -> bytes:
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(pyarrow.BufferReader(data))
    number = chance.randrange(rows.num_columns)
    name, value = (
        rows.column_names[number],
        chance.choice((None, True, -1, 1.5, float("nan"), 1 << 62, "x", b"\xff", [1], {"a": 1})),
    )
    rows = rows.remove_column(number)
    if chance.random() < 0.9:
        rows = rows.append_column(name, pyarrow.array([value] * rows.num_rows))
    out = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(rows, out)
    return out.getvalue().to_pybytes()


def kinds(store: Path, seeded: Path) -> dict[str, Kind]:
    """Examples of every kind with their readers. `store`: a finished store; `seeded`: a shapes file."""
    from neff_bench.neffs.bundle import read_bundle, verify_bundle
    from neff_bench.parsers.describe import describe
    from neff_bench.parsers.hlo import read_hlo
    from neff_bench.parsers.kinds import describe_json
    from neff_bench.parsers.profile_json import read_profile, read_summary
    from neff_bench.simulator.files.neff import read_neff_content
    from neff_bench.simulator.files.ntff import read_head
    from neff_bench.simulator.hlo.lower import lower_hlo
    from neff_bench.stage1_generate.shapes.read import read_shapes
    from neff_bench.stage2_profile.capture.runs import read_run
    from neff_bench.stage2_profile.metrics.hot import read_events
    from tests.parsers import small_files

    bundle = next(path.parent for path in sorted(store.glob("*/case.json")))
    run = next(path.parent for path in sorted(bundle.glob("profiles/*/run.json")))
    profile = json.dumps(whole_profile()).encode()
    neffs = [
        small_files.neff_of(small_files.neff_members()),
        small_files.neff_of(small_files.neff_members(), packed=False),
        (bundle / "file.neff").read_bytes(),
    ]
    pairs = [small_files.instruction(pc % 5, pc, 10 * pc, 10 * pc + 25) for pc in range(6)]
    traces = [
        small_files.ntff_of(
            [record for pair in pairs for record in pair], small_files.packet(3, 1, 512, 5, 9), version=version
        )
        for version in (4, 5, 6)
    ]
    traces += [path.read_bytes() for path in run.glob("*.ntff")][:1]
    return {
        "neff": Kind("file.neff", neffs, [describe, lambda path: read_neff_content(str(path))]),
        "ntff": Kind("profile_exec_2.ntff", traces, [describe, lambda path: read_head(str(path))]),
        "json": Kind(
            "ntff.json",
            [profile, *(path.read_bytes() for path in sorted(run.glob("*.json")))],
            [describe_json, describe, read_summary, read_profile, read_events],
        ),
        "hlo": Kind(
            "graph.hlo",
            modules(),
            [
                lambda path: read_hlo(path.read_bytes(), str(path)).mac_count,
                lambda path: lower_hlo(path.read_bytes(), "trn2", 1),
            ],
        ),
        "case": Kind(
            "case.json",
            [(bundle / "case.json").read_bytes()],
            [lambda path: verify_bundle(read_bundle(path.parent))],
        ),
        "run": Kind("run.json", [(run / "run.json").read_bytes()], [lambda path: read_run(path.parent)]),
        "shapes": Kind("shapes.yaml", [seeded.read_bytes(), SHAPES], [read_shapes]),
        **written_by_us(store),
        **from_others(store),
    }


def from_others(store: Path) -> dict[str, Kind]:
    """Examples of what other programs write or send: tables, system traces, what to compile, core locks, calls of agents."""
    from neff_bench.doors import mcp_server
    from neff_bench.parsers.describe import describe
    from neff_bench.parsers.event_tables import read_timeline
    from neff_bench.parsers.system_trace import read_system_trace
    from neff_bench.simulator.nki.spec import read_spec
    from neff_bench.stage2_profile.capture.nki_locks import CoreLocks, refusal
    from neff_bench.stage2_profile.report.page import _compiled_from
    from tests.parsers.test_system_trace import EVENTS

    tables = store.parent / "tables"

    def table(name: str) -> Kind:
        def read(path: Path) -> None:
            directory = path.parent / "tables"
            shutil.rmtree(directory, ignore_errors=True)
            shutil.copytree(tables, directory)
            path.replace(directory / name)
            describe(directory)
            read_timeline(directory, linked=True)

        return Kind(f"of-{name}", [(tables / name).read_bytes()], [read])

    chrome = [{"name": event["name"], "ph": "X", "ts": event["timestamp"] / 1e3, "dur": event["duration"] / 1e3,
               "pid": 2, "tid": 1, "args": event} for event in EVENTS]  # fmt: skip
    of_nrtpy = [{"event_type": "nc_exec_running", "phase": phase, "tracking_id": 1, "nc_idx": 0, "timestamp_ns": at, "data": {"exec_id": 1}}
                for phase, at in (("start", 5), ("stop", 90))]  # fmt: skip
    systems = [
        {"trace_events": EVENTS, "warnings": [{"message": "Warning: 12 trace events were dropped"}]},
        {"traceEvents": chrome},
        {"events": of_nrtpy},
    ]
    spec = {"entry": "nowhere.py:f", "path": ["."], "inputs": [{"name": "x", "shape": [128, 512], "dtype": "bfloat16"}],
            "arguments": {"f": {"ref": "math:nan"}}, "outputs": ["out"], "ranks": 4}  # fmt: skip
    locks = {"version": 5, "physical_neuron_cores_lock_timeout": {"0": 9e9, "1": 5}, "draining_enabled_with_timeout": 5,
             "queue": [{"last_seen_ts": 9e9, "reserved_region": [2, 3]}]}  # fmt: skip
    inputs = {"x": {"shape": [128, 512], "dtype": "bfloat16"}}
    asked = {"kernel": "k.py:f", "inputs": inputs, "arguments": {"a": [1]}, "target": "trn2", "lnc": 1}
    calls = {"estimate": asked, "explain": asked, "profile": {**asked, "reference": "k.py:f", "rtol": 0.1, "ranks": 2},
             "compare": {"before": "k.py", "after": "k.py"}, "inspect": {"path": "k.py"}}  # fmt: skip

    def locked(path: Path) -> None:
        refusal(CoreLocks(path.parent)._read(), (0, 1, 2), 100)

    mcp_server.call = lambda limits, commands, good, data=b"": _checked([list(words) for words in commands])

    return {
        **{f"table {name}": table(f"{name}.parquet") for name in ("Summary", "Metadata", "Instruction", "DmaPacket")},
        "system trace": Kind("system_profile.json", [json.dumps(one).encode() for one in systems], [read_system_trace]),
        "kernel": Kind("kernel.json", [json.dumps(spec).encode()], [read_spec, lambda path: _compiled_from(path.parent)]),
        "core locks": Kind("locks.json", [json.dumps(locks).encode()], [locked]),
        "call": Kind("call.json", [json.dumps({"name": name, "arguments": words}).encode() for name, words in calls.items()], [_called]),
    }  # fmt: skip


def _checked(commands: list[list[str]]) -> str:
    """Stand in for running them: what an agent gave is text below the root, and no option."""
    for words in commands:
        given = words[words.index("--") + 1 :] if "--" in words else []
        if any("\0" in word for word in words) or any(Path(word).is_absolute() or ".." in word for word in given):
            raise AssertionError(f"a command {words}")
        if words[0] == "generate":
            neff = Path(words[words.index("--out") + 1], "case", "file.neff")
            neff.parent.mkdir(parents=True)
            neff.touch()
    return "{}" if "tune" in commands[0] else '[{}]'


def _called(path: Path) -> None:
    """Make a call of an agent, up to the commands that it would run."""
    import asyncio

    from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError

    from neff_bench.doors.mcp_calls import Limits
    from neff_bench.doors.mcp_server import server_of
    from neff_bench.errors import WrongCall

    (path.parent / "k.py").write_text("def f(x):\n    pass\n")
    try:
        said = json.loads(path.read_bytes())
        name, arguments = str(said["name"]), dict(said["arguments"])
    except (ValueError, RecursionError, TypeError, KeyError):
        return  # the mcp package refuses what is no call
    try:
        asyncio.run(server_of(Limits(path.parent.resolve(), 5, 1 << 31)).call_tool(name, arguments))
    except UnexpectedToolError as error:
        raise error.__cause__ or error from None
    except ToolError as error:
        raise WrongCall(str(error).splitlines()[0]) from None


def written_by_us(store: Path) -> dict[str, Kind]:
    """Examples of what the commands keep and are told, with what reads it."""
    from neff_bench.chips.calibration import Calibration, Estimate, _decoded, encoded
    from neff_bench.doors.tune.variants import _answer
    from neff_bench.experiments.projection import read_projections
    from neff_bench.experiments.results import read_results
    from neff_bench.history import database, export, page, record, verdicts
    from neff_bench.neffs.verified import Verified
    from neff_bench.parsers.neuron_ls import read_neuron_ls
    from neff_bench.rules import baseline as known_findings
    from neff_bench.stage2_profile.compare.asked import CompareOptions
    from neff_bench.stage2_profile.compare.baseline import load, save
    from neff_bench.stage2_profile.compare.command import compare_rows
    from neff_bench.stage2_profile.gate.asked import GateOptions
    from neff_bench.stage2_profile.gate.command import run_gate
    from neff_bench.stage2_profile.gate.config import read_config
    from tests.neuron_ls import announced, devices

    work = store.parent
    rows = load(store).records
    save(work / "baseline.json", rows, {str(row["case"]): [["k.py", 7, [["DMA packets", 50, 100]]]] for row in rows})
    with database.opened(work / "history", write=True) as connection:
        for number in range(3):
            slower = [{**row, "total_time_us": row["total_time_us"] * (1 + number)} for row in rows]
            at = record.named(f"c{number}", f"2026-01-0{number + 1}")
            database.add(connection, at.sha, at.date, at.subject, record.kept(slower, None))
    fitted = Estimate("vector_latency_ns", 150.0, 140.0, 160.0, 120.0, 9, 4)
    variant = {"id": 1, "kernel": "nowhere.py:f", "inputs": {"x": {"shape": [128, 512], "dtype": "bfloat16"}},
               "arguments": {"tile": 4}, "target": "trn2", "lnc": 1, "check": True, "tolerance": {"rtol": 1, "atol": 0.1}}  # fmt: skip

    def history(path: Path) -> None:
        with database.opened(path.parent) as connection:
            verdicts.judged(connection, 1)
            verdicts.began(connection, 1)
            list(verdicts.events(connection))
        page.content(path.parent, None)
        export.write_csv(path.parent, path.parent / "out.csv")

    def both(path: Path) -> None:
        out = path.parent / "answer.json"
        compare_rows(CompareOptions(first=path, second=work / "baseline.json", format_="json", output=out))
        run_gate(GateOptions(before=path, after=work / "baseline.json", format_="json", output=out))

    return {
        "rows": Kind("rows.json", [json.dumps(rows).encode(), (work / "baseline.json").read_bytes()], [both]),
        "history": Kind(database.FILE, [(work / "history" / database.FILE).read_bytes()], [history]),
        "gate": Kind("gate.yaml", [b"times: [total_time_us]\ntime_percent: 1\ncounters: [hbm_read_bytes]\n"], [read_config]),
        "calibration": Kind("c.json", [encoded(Calibration("trn2", (fitted,), (("a.ntff", "00"),)))],
                            [lambda path: _decoded(path.name, path.read_bytes())]),
        "variant": Kind("line.json", [json.dumps(variant).encode()], [lambda path: _answer("2.33", path.read_bytes())]),
        "findings": Kind("known.json", [b'{"0a": "NBLE603 k.py"}'], [lambda path: known_findings.new(path, [], {})]),
        "verified": Kind("verified.json", [(store / ".store" / "verified.json").read_bytes()], [lambda path: _as_aid(path, Verified)]),
        "results": Kind("results.json", [RESULTS], [read_results]),
        "projections": Kind("p.yaml", [b"my_proj: {M: 64, N: 960, K: 768}\n"], [read_projections]),
        "neuron-ls": Kind("ls.json", [json.dumps(form(devices(2, busy={1: 7}))).encode() for form in (list, announced)], [read_neuron_ls]),
    }  # fmt: skip


def _as_aid(path: Path, read: Reader) -> None:
    """Read a document that a store keeps for itself."""
    (path.parent / ".store").mkdir(exist_ok=True)
    shutil.copy(path, path.parent / ".store" / path.name)
    read(path.parent)


RESULTS = json.dumps(
    [{"M": 128, "K": 128, "N": 128, "latency_ms": 0.1, "p10_ms": 0.1, "p90_ms": 0.2, "source": "measured"}]
).encode()


SHAPES = b"""defaults: {target: trn2, lnc: 2, dtype: bfloat16}
cases:
  - &one {kernel: matmul, implementation: [nki, xla], M: [128, 256], K: 512:2048:512, N: 1024}
  - {kernel: mlp, implementation: nki, b: 1, s: 128, h: 256, i: 512, flags: [-O1, "--lnc 2"]}
  - *one
  - {preset: boundary, implementation: nki}
"""


def whole_profile() -> dict[str, Any]:
    """Return a whole profile with every table that is read."""
    return {
        "summary": [{"total_time": 3e-05, "hardware_flops": 10, "instance_type": "trn2.3xlarge"}],
        "metadata": [{"pe_clock_freq": 2.4, "num_physical_cores": 2}],
        "neff_header": [{"uuid": bytes(range(0x11, 0x21)).hex(), "network_name": "x"}],
        "profile_info": [{"ntff_filename": "profile_exec_2.ntff"}],
        "instruction": [{"timestamp": 5, "duration": 10, "subgroup": "Tensor", "opcode": "MATMUL", "pc": 3}] * 3,
        "dma": [{"timestamp": 2, "duration": 40, "transfer_size": 64, "dma_engine": "1", "dma_queue": "1"}] * 3,
        "warnings": [{"message": "w"}],
    }


def modules() -> list[bytes]:
    """HLO modules: a product with a call, and a chain of calls."""
    from neff_bench.parsers.hlo import _message

    found = []
    for depth in (2, 12):
        proto = _message("Module")(name="m", entry_computation_id=depth)
        for number in range(1, depth + 1):
            computation = proto.computations.add(name=f"c{number}", id=number, root_id=3)
            rows = [(1, "parameter", []), (2, "dot", [1, 1]), (3, "add", [2, 1])]
            if number > 1:
                rows = [(1, "parameter", []), (2, "call", [1]), (3, "call", [2])]
            for identifier, opcode, operands in rows:
                i = computation.instructions.add(
                    name=f"i{identifier}", opcode=opcode, id=identifier, operand_ids=operands
                )
                i.shape.element_type, i.shape.dimensions[:] = 11, [128, 128]
                if opcode == "call":
                    i.called_computation_ids[:] = [number - 1]
                if opcode == "dot":
                    i.dot_dimension_numbers.lhs_contracting.append(1)
                    i.dot_dimension_numbers.rhs_contracting.append(0)
        found.append(proto.SerializeToString())
    return found


def guard_writes(inside: Path, tally: Tally) -> None:
    """Notes every attempt of this process to change a file outside of `inside`."""
    kept = [os.path.realpath(inside), "/dev/", "/proc/"]

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, _mode, flags = args
            wanted = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if not wanted or not isinstance(path, (str, bytes, os.PathLike)):
                return
        elif event in ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"):
            path = args[0]
        else:
            return
        real = os.path.realpath(os.fsdecode(path)) if not isinstance(path, int) else "/dev/"
        if not any(real.startswith(prefix) for prefix in kept):
            tally.faults.append(f"writes outside: {event} {real}")

    sys.addaudithook(watch)


def attempt(read: Reader, path: Path, label: str, tally: Tally) -> None:
    """Read once under the bounds."""
    from neff_bench.errors import NeffBenchError

    def late(*_: object) -> None:
        raise TooSlow

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, CPU_S_MAX)
    start = time.process_time()
    try:
        read(path)
    except NeffBenchError as error:
        if "\n" in str(error):
            tally.faults.append(f"{label}: not one line: {str(error)!r:.200}")
    except TooSlow:
        tally.faults.append(f"{label}: more than {CPU_S_MAX} s on the processor")
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        tally.faults.append(
            f"{label}: {type(error).__name__}: {error!s:.120} ({Path(where.filename).name}:{where.lineno})"
        )
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    tally.slowest_s = max(tally.slowest_s, time.process_time() - start)


def tree(directory: Path, known: dict[str, Kind], changed: dict[str, bytes]) -> int:
    """Write a directory from elsewhere with one file of each kind, some of them changed. Return how many."""
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "below").mkdir(parents=True)
    for number, name in enumerate(("neff", "ntff", "json", "hlo")):
        kind = known[name]
        place = directory / ("below" if number % 2 else "") / kind.name
        place.write_bytes(changed.get(name, kind.sound[0]))
    return len(changed)


def profile(path: Path, **options: Any) -> None:
    """Run `profile-neffs --parse-only`, its answer to a file."""
    from neff_bench.stage2_profile.directory import profile_directory
    from neff_bench.stage2_profile.options import Options

    answer = path.parent / "answer.json"
    profile_directory(Options(directory=path, parse_only=True, format_="json", output=answer, **options))


def damaged_store(directory: Path, store: Path, kind: str, data: bytes) -> Path:
    """Return a copy of the store with one file changed."""
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(store, directory)
    wanted = {
        "case": "*/case.json",
        "run": "*/profiles/*/run.json",
        "json": "*/profiles/*/*summary*.json",
        "neff": "*/file.neff",
    }
    found = sorted(directory.glob(wanted[kind]))
    if found:
        found[0].write_bytes(data)
    return directory


def fuzz(seed: int, count: int, store: Path, shapes: Path, results: Any) -> None:
    """Read the files of one seed and send the tally to `results`; what ends the process itself is a fault of the tally."""
    sys.stderr = open(os.devnull, "w")
    tally = Tally()
    try:
        read_mutated(seed, count, store, shapes, tally)
    except BaseException:
        tally.faults.append(f"seed {seed}: {traceback.format_exc()}")
    tally.peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    results.put(tally)


def read_mutated(seed: int, count: int, store: Path, shapes: Path, tally: Tally) -> None:
    """Read `count` mutated files, alone and in directories."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        os.chdir(work)
        os.environ["XDG_CACHE_HOME"] = name  # there lies which sources make the model
        tempfile.tempdir = name
        known = kinds(store, shapes)
        guard_writes(work, tally)
        others = [data for kind in known.values() for data in kind.sound]
        done = 0
        while done < count:
            label = f"seed {seed}, file {done}"
            if chance.random() < IN_A_TREE:
                done += _directory(work, known, others, store, chance, label, tally)
                continue
            kind_name = chance.choice(list(known))
            kind = known[kind_name]
            path = work / kind.name
            sound = chance.choice(kind.sound)
            other = retyped(sound, chance) if chance.random() < 1 / 3 else None
            path.write_bytes(mutated(sound, others, chance) if other is None else other)
            for number, read in enumerate(kind.readers):
                attempt(read, path, f"{label} ({kind_name}, reader {number})", tally)
            tally.files[kind_name] += 1
            done += 1


def _directory(
    work: Path,
    known: dict[str, Kind],
    others: list[bytes],
    store: Path,
    chance: random.Random,
    label: str,
    tally: Tally,
) -> int:
    """Write a tree from elsewhere or a store, with files changed. Return how many."""
    if chance.random() < 0.8:
        names = chance.sample(["neff", "ntff", "json", "hlo"], chance.randint(1, 4))
        changed = {name: mutated(chance.choice(known[name].sound), others, chance) for name in names}
        count, path = tree(work / "tree", known, changed), work / "tree"
    else:
        name = chance.choice(("case", "run", "json", "neff"))
        count, path = 1, damaged_store(work / "store", store, name, mutated(known[name].sound[0], others, chance))
    attempt(profile, path, f"{label} (directory)", tally)
    tally.files["in directories"] += count
    return count


def finished_store(directory: Path) -> tuple[Path, Path]:
    """Return a store of one small case with a run, the shapes file that it was made of, and beside them its whole profile as tables."""
    shapes, store, scripts = directory / "shapes.yaml", directory / "store", Path(sys.executable).parent
    shapes.write_text(
        "cases:\n  - {kernel: matmul, implementation: nki, target: trn2, lnc: 1, M: 128, K: 128, N: 128}\n"
    )
    generate = (scripts / "generate-neffs", "--shapes", shapes, "--out", store)
    subprocess.run(generate, check=True, capture_output=True)
    time.sleep(1.1)  # files younger than a second are not remembered in verified.json, which is an example too
    subprocess.run((scripts / "profile-neffs", store), check=True, capture_output=True)
    files = ("-n", next(store.glob("*/file.neff")), "-s", next(store.glob("*/profiles/*/*.ntff")))
    view = (scripts / "neuron-sim", "view", *files, "--output-format", "parquet", "--output-file", directory / "tables")
    subprocess.run(view, check=True, capture_output=True)
    return store, shapes


def run(count: int, seeds: tuple[int, ...], jobs: int) -> list[Tally]:
    """Return the tallies of all seeds, `count` files in all; a process that a signal ended is a fault."""
    with tempfile.TemporaryDirectory() as name:
        store, shapes = finished_store(Path(name))
        context, tallies = multiprocessing.get_context("spawn"), []
        waiting, running = list(seeds), []
        while waiting or running:
            while waiting and len(running) < jobs:
                seed, results = waiting.pop(0), context.SimpleQueue()
                process = context.Process(target=fuzz, args=(seed, count // len(seeds), store, shapes, results))
                process.start()
                running.append((seed, process, results))
            seed, process, results = running.pop(0)
            while process.is_alive() and results.empty():
                time.sleep(0.1)
            tallies.append(
                results.get()
                if not results.empty()
                else Tally(faults=[f"seed {seed}: process ended with {process.exitcode}"])
            )
            process.join()
    return tallies


def main() -> int:
    numbers = [int(word) for word in sys.argv[1:]]
    count, seeds = (numbers or [COUNT])[0], tuple(numbers[1:]) or SEEDS
    tallies = run(count, seeds, jobs=os.cpu_count() or 1)
    files = sum((tally.files for tally in tallies), Counter())
    faults = [fault for tally in tallies for fault in tally.faults]
    peak = max(tally.peak_bytes for tally in tallies)
    if peak > RSS_BYTES_MAX:
        faults.append(f"{peak / 1e6:.0f} MB of memory, more than {RSS_BYTES_MAX / 1e6:.0f}")
    for fault in faults[:50]:
        print(fault)
    kinds_found = ", ".join(f"{number} {name}" for name, number in sorted(files.items()))
    slowest = max(tally.slowest_s for tally in tallies)
    print(
        f"{files.total()} files ({kinds_found}): {len(faults)} faults; slowest {slowest:.1f} s on the processor, peak {peak / 1e6:.0f} MB"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
