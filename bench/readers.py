"""The readers beside what one would write without them: a profile JSON, an NTFF and a NEFF, made here and read by fresh processes.

Prints the best of three runs of each, on the wall and on the processor, and each goal as a ratio of processor time or of peak memory.
Exit code 1 when one is missed.

`python bench/readers.py --against CHECKOUT`: this tree and another one read the 200 MB in turn; no worse than 5 % in time and memory.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from goals import Goals

from tests.parsers import small_files

RUNS = 3
PAIRS = 7
PROFILE_BYTES = 200_000_000
INSTRUCTIONS = 2_000_000
"""Of a trace."""

# VmHWM, not ru_maxrss: the latter starts at what the process had before exec, a copy of this one.
MEASURE = """
import os, sys, time
path = sys.argv[1]
{imports}
start, start_cpu = time.perf_counter(), time.process_time()
result = {call}
seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
peak_kb = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(seconds, cpu_seconds, int(peak_kb) * 1024)
"""

READERS = {
    "profile": {
        "read_profile": (
            "import numpy, neff_bench.parsers.events\nfrom neff_bench.parsers.profile_json import read_profile",
            "read_profile(path)",
        ),
        "read_summary": ("from neff_bench.parsers.profile_json import read_summary", "read_summary(path)"),
        "json.load": ("import json", "json.load(open(path))"),
        "orjson": ("import orjson", "orjson.loads(open(path, 'rb').read())"),
        "msgspec": ("import msgspec", "msgspec.json.decode(open(path, 'rb').read())"),
    },
    "trace": {
        "read_ntff": (
            "import neff_bench.parsers.timeline\nfrom neff_bench.parsers.ntff import read_ntff",
            "read_ntff(path)",
        ),
        "numpy": (
            "import numpy",
            "[numpy.argsort(c['t'], kind='stable') for c in [numpy.fromfile(path, [('w', '<u8'), ('t', '<u8')], offset=os.path.getsize(path) % 16)]]",
        ),
    },
    "neff": {
        "read_neff": ("from neff_bench.parsers.neff import read_neff", "read_neff(path)"),
        "tarfile": (
            "import io, json, tarfile",
            "[json.loads(tar.extractfile(member).read()) for tar in [tarfile.open(fileobj=io.BytesIO(open(path, 'rb').read()[1024:]))]"
            " for member in tar if member.name in ('neff.json', 'info.json', 'kelf-0.json', 'sg00/def.json')]",
        ),
    },
}


class Run(NamedTuple):
    """The fastest run: on the wall, on the processors (which a busy machine disturbs less), and its peak memory."""

    seconds: float
    cpu_seconds: float
    peak_bytes: float


def measure(kind: str, reader: str, path: Path) -> Run:
    runs = [once(kind, reader, path, None) for _ in range(RUNS)]
    return Run(*(min(values) for values in zip(*runs)))


def once(kind: str, reader: str, path: Path, tree: Path | None) -> Run:
    """Read the files once. `tree`: whose package reads, None for the installed one."""
    imports, call = READERS[kind][reader]
    script = MEASURE.format(imports=imports, call=call)
    done = subprocess.run([sys.executable, "-c", script, path], cwd=tree, capture_output=True, text=True, check=True)
    return Run(*(float(value) for value in done.stdout.split()))


def against(other: Path) -> int:
    """Both trees in turn, so that what else runs disturbs both."""
    ours, worst = Path(__file__).resolve().parents[1], 0.0
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "profile.json")
        profile_json(path)
        for reader in ("read_profile", "read_summary"):
            pairs = [(once("profile", reader, path, ours), once("profile", reader, path, other)) for _ in range(PAIRS)]
            cpu, peak = (
                median(getattr(mine, what) / getattr(theirs, what) for mine, theirs in pairs)
                for what in ("cpu_seconds", "peak_bytes")
            )
            mine, theirs = (median(run.cpu_seconds for run in runs) for runs in zip(*pairs))
            print(
                f"{reader}: {mine:.2f} s on the processor, {theirs:.2f} there; the median pair: {cpu:.3f} of the time, {peak:.3f} of the peak memory"
            )
            worst = max(worst, cpu, peak)
    return 0 if worst <= 1.05 else 1


def compare(results: dict[str, Run], ours: str) -> None:
    """Print a line for each reader, with its times as multiples of ours."""
    for reader, run in results.items():
        wall, cpu = run.seconds / results[ours].seconds, run.cpu_seconds / results[ours].cpu_seconds
        print(
            f"  {reader:13s} {run.seconds * 1e3:9.1f} ms  {wall:5.1f} x {ours}   on the processor {run.cpu_seconds * 1e3:9.1f} ms  {cpu:5.1f} x"
        )


def profile_json(path: Path, size_bytes: int = PROFILE_BYTES) -> None:
    """Rows with the fields and lengths of a real profile (trn2, neuron-profile 2.28), repeated; 1 instruction to 6 DMA rows, as there."""
    instruction = {
        **dict.fromkeys(
            ("activation_fn", "bir_id", "penguin_id", "layer", "hlo_name", "hlo_attrs", "bir_instruction_name"), ""
        ),
        "fully_qualified_subgraph": "/sg00",
        "subgraph": "sg00",
        "subgroup": "Tensor",
        "label": "Tensor",
        "opcode": "MATMUL",
        "timestamp": 1084,
        "duration": 70,
        "crc_in": 65535,
        "crc_out": 65535,
        "evt_wait_time": 29860,
        "pc": 50,
        "raw_bir_id": 0,
        "operands": " data=0x2,0x2 size=4,4 dst=0x80100252f038,0x80100250f038 ",
        "id": 6600704491848368176,
        "raw_penguin_id": 0,
    }
    packet = {
        "is_cc_dma": "no",
        "dma_engine": "64",
        "variable": "unknown",
        "read_size": 4096,
        "subgroup": "Q0-E64",
        "timestamp": 15881,
        "dest": ["unknown"],
        "transfer_rate": 26177542000,
        "source": [["unknown"]],
        "packet_aggregation_id": 3161790117270724135,
        "queue_type": "software_dynamic",
        "duration": 156,
        "aggregated": "no",
        "duplicate": "no",
        "id": 7721563946493336791,
        "semaphore_id": "-1",
        "subgraph": "sg00",
        "dma_queue": "0",
        "op": "",
        "packet_idx": 0,
        "write_size": 4096,
        "transfer_size": 4096,
    }
    one, six = json.dumps(instruction), ",".join([json.dumps(packet)] * 6)
    count = size_bytes // (len(one) + len(six) + 2)
    with open(path, "w") as file:
        file.write('{"instruction": [' + ",".join([one] * count) + '], "dma": [' + ",".join([six] * count))
        file.write('], "metadata": [{"pe_clock_freq": 2.4}], "summary": [{"total_time": 5e-05, "event_count": 3}]}')


def trace(path: Path, size: int = INSTRUCTIONS) -> int:
    """Return a v6 trace of a loop over six slots of five engines: `size` instructions, as many packets, half as many updates, in 5.5 records for each.
    Instructions overlap, so that begins and ends interleave. Returns the number of records."""
    generator = np.random.default_rng(7)
    kind = np.dtype([("word", "<u4"), ("detail", "<u4"), ("ticks", "<u8")])

    def timed(
        count: int, words: np.ndarray, details: np.ndarray, begin: np.ndarray, length: int, closing: int
    ) -> np.ndarray:
        records = np.zeros((count, 2), kind)
        records["word"], records["detail"] = words, details
        records["ticks"][:, 0], records["ticks"][:, 1] = begin, begin + generator.integers(1, length, count)
        records["word"][:, 1] |= closing
        flat = records.reshape(-1)
        return flat[np.argsort(flat["ticks"], kind="stable")]

    steps = np.arange(size)
    engine, pc = steps % 5, steps // 5 % 6
    words = 0x80000000 | (engine + 1) << 26 | ((small_files.BASE + engine * 0x10000 >> 6) + pc) & 0x1FFFFF
    instructions = timed(size, words[:, None], np.zeros((size, 2)), small_files.START + steps * 1000, 5000, 1 << 24)
    steps = np.arange(size)
    queue = (steps // 16 % 4) << 4
    packets = timed(
        size,
        ((0x80 | steps % 16) << 24)[:, None],
        np.stack((queue | 1, queue | 5), 1),
        small_files.START + steps * 1000,
        4000,
        512,
    )
    done = np.zeros(size, kind)
    done["word"], done["detail"], done["ticks"] = (
        (0x80 | steps % 16) << 24,
        queue | 6,
        small_files.START + steps * 1000 + 5000,
    )
    updates = np.zeros(size // 2, kind)
    updates["word"], updates["ticks"] = 0x87F30102, small_files.START + np.arange(size // 2) * 2000
    total = size * 1000 + 10_000
    path.write_bytes(
        small_files.ntff_of(
            [instructions.tobytes()], [packets.tobytes(), done.tobytes()], [updates.tobytes()], total=total
        )
    )
    return 5 * size + size // 2


def neff(path: Path) -> None:
    """1.5 MB packed, 9 MB unpacked, as neuronx-cc's for a matmul of 128 x 32768 x 65536."""
    generator = np.random.default_rng(7)
    stream = np.zeros((72_000, 64), np.uint8)
    stream[:, :18] = generator.integers(0, 256, (72_000, 18))
    members = {
        **small_files.neff_members(),
        "sg00/PE.bin": stream[:36_000].tobytes(),
        "sg01/PE.bin": stream[36_000:].tobytes(),
    }
    data = gzip.compress(small_files.tar_of(members), mtime=0)
    path.write_bytes(small_files.neff_header(len(data)) + data)


def main() -> int:
    goals = Goals()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "profile.json")
        profile_json(path)
        size = path.stat().st_size
        print(f"profile JSON of {size / 1e6:.0f} MB")
        results = {reader: measure("profile", reader, path) for reader in READERS["profile"]}
        compare(results, "read_profile")
        ours = results["read_profile"]
        for peer, times in (("json.load", 8), ("orjson", 1), ("msgspec", 1)):
            goals.at_least(times, "read_profile", results[peer].cpu_seconds / ours.cpu_seconds, peer)
        goals.at_most(1.5, "peak memory of read_profile", ours.peak_bytes / size, "the file")
        path.unlink()

        path = Path(directory, "trace.ntff")
        print(f"NTFF of {trace(path) / 1e6:.1f} million records")
        results = {reader: measure("trace", reader, path) for reader in READERS["trace"]}
        compare(results, "read_ntff")
        goals.at_most(
            2.5,
            "read_ntff",
            results["read_ntff"].cpu_seconds / results["numpy"].cpu_seconds,
            "numpy's columns, sorted once",
        )
        goals.at_most(3, "peak memory of read_ntff", results["read_ntff"].peak_bytes / path.stat().st_size, "the file")
        path.unlink()

        path = Path(directory, "file.neff")
        neff(path)
        print(f"NEFF of {path.stat().st_size / 1e6:.1f} MB")
        results = {reader: measure("neff", reader, path) for reader in READERS["neff"]}
        compare(results, "read_neff")
        goals.at_most(
            1.5, "read_neff", results["read_neff"].cpu_seconds / results["tarfile"].cpu_seconds, "tarfile and json"
        )
    return goals.exit_code()


if __name__ == "__main__":
    sys.exit(against(Path(sys.argv[2]).resolve()) if sys.argv[1:2] == ["--against"] else main())
