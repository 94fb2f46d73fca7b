"""Stage 1 on a bad day: many builds, a third of which fail in every way, two processes at once, kill -9 at random moments.

    python bench/soak_generate.py --builds 200 --kills 20

At the end every case must have a bundle with a result or a reason, no bundle may be damaged, no lock, staging directory or
process may be left, and a run with a repaired kernel must build exactly what failed. Exit code 0 when all of that holds.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from neff_bench.neffs.bundle import Bundle, verify_bundle
from neff_bench.neffs.store import Store

ROOT = Path(__file__).resolve().parent.parent
MARK = "NEFF_BENCH_SOAK"
KERNEL = """
import os, sys, time
import nki
import nki.isa as nisa
import nki.language as nl

WAYS = {0: "hang", 1: "abort", 2: "memory", 3: "error", 4: "kill", 5: "import"}


def misbehave(s):
    way = WAYS.get(s % 18)
    if os.environ.get("REPAIRED") or way is None:
        return
    if way == "abort":
        os.abort()
    if way == "hang":
        os.system("sleep 600 &")
        time.sleep(600)
    if way == "memory":
        bytearray(1 << 46)
    if way == "kill":
        os.kill(os.getpid(), 9)
    if way == "import":
        import no_such_module
    raise ValueError("not today")


@nki.jit
def mlp(hidden_tensor, gate_proj_weights_tensor, up_proj_weights_tensor, down_proj_weights_tensor):
    b, s, h = hidden_tensor.shape
    misbehave(s)
    out = nl.ndarray((b, s, h), dtype=hidden_tensor.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((1, h), dtype=hidden_tensor.dtype, buffer=nl.sbuf)
    for row in range(s):
        nisa.dma_copy(dst=tile, src=hidden_tensor.reshape((s, h))[row : row + 1, 0:h])
        nisa.dma_copy(dst=out.reshape((s, h))[row : row + 1, 0:h], src=tile)
    return out
"""


def start(work: Path, timeout_s: float, **environment: str) -> subprocess.Popen[bytes]:
    """Start one `generate-neffs` over the whole shapes file."""
    words = ["--shapes", "shapes.yaml", "--out", "store", "--nkilib", "nki-library", "--toolchain", "sim"]
    return subprocess.Popen(
        [sys.executable, "-m", "neff_bench.stage1_generate.cli", *words, "--timeout", str(timeout_s)],
        cwd=work,
        env={**os.environ, "PYTHONPATH": str(ROOT), MARK: str(work), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def running(work: Path) -> list[int]:
    """Processes that carry our mark, zombies aside."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and f"{MARK}={work}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def soak(work: Path, builds: int, kills: int, pause_s: float, timeout_s: float, seed: int) -> list[str]:
    """Returns what was wrong at the end, one line each."""
    library = work / "nki-library" / "src" / "nkilib_src" / "nkilib" / "core" / "mlp"
    library.mkdir(parents=True)
    (library / "mlp.py").write_text(KERNEL)
    (work / "shapes.yaml").write_text(
        f"cases: [{{kernel: mlp, implementation: nkilib, b: 1, s: 1:{builds}:1, h: 128, i: 128}}]"
    )
    chance = random.Random(seed)
    pair = [start(work, timeout_s) for _ in range(2)]
    for number in range(kills):
        time.sleep(chance.uniform(0.2, pause_s))
        victim = chance.randrange(2)
        pair[victim].kill()
        pair[victim].communicate()
        print(f"kill {number + 1}/{kills}: {len(names(work))} of {builds} cases there", flush=True)
        pair[victim] = start(work, timeout_s)
    for run in pair:
        run.communicate()
    last = start(work, timeout_s)
    last.communicate()
    return [*_examine(work, builds), *_repair(work, timeout_s)]


def names(work: Path) -> list[str]:
    store = work / "store"
    return Store(store).names() if store.exists() else []


def _examine(work: Path, builds: int) -> list[str]:
    wrong = []
    store = Store(work / "store")
    entries = list(store.bundles())
    if len(entries) != builds:
        wrong.append(f"{len(entries)} bundles instead of {builds}")
    for entry in entries:
        if not isinstance(entry, Bundle):
            wrong.append(str(entry))
        elif entry.manifest.status == "built":
            verify_bundle(entry)
        elif not entry.manifest.reason:
            wrong.append(f"{entry.name}: failed without a reason")
    failed = sum(isinstance(entry, Bundle) and entry.manifest.status == "failed" for entry in entries)
    expected = sum(s % 18 <= 5 for s in range(1, builds + 1))
    if failed != expected:
        wrong.append(f"{failed} failed cases instead of {expected}")
    for kind in ("staging", "locks"):
        left = os.listdir(store.path / ".store" / kind)
        if left:
            wrong.append(f"left in {kind}: {', '.join(left[:3])}")
    time.sleep(0.5)
    if running(work):
        wrong.append(f"still running: {running(work)}")
    return wrong


def _repair(work: Path, timeout_s: float) -> list[str]:
    failed = {
        e.name for e in Store(work / "store").bundles() if isinstance(e, Bundle) and e.manifest.status == "failed"
    }
    before = {name: (work / "store" / name).stat().st_ino for name in names(work)}
    repaired = start(work, timeout_s, REPAIRED="1")
    repaired.communicate()
    rebuilt = {name for name in names(work) if (work / "store" / name).stat().st_ino != before.get(name)}
    wrong = [] if repaired.returncode == 0 else [f"the repaired run ended with exit code {repaired.returncode}"]
    if rebuilt != failed:
        wrong.append(f"the repaired run built {len(rebuilt)} cases, but {len(failed)} had failed")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builds", type=int, default=200)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--pause", type=float, default=4, help="at most so many seconds between two kills")
    parser.add_argument("--timeout", type=float, default=10, help="seconds for one case")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="soak-generate-") as directory:
        wrong = soak(Path(directory), options.builds, options.kills, options.pause, options.timeout, options.seed)
    for line in wrong:
        print(f"wrong: {line}")
    print(
        f"{options.builds} builds, {options.kills} kills, {time.monotonic() - begin:.0f} s: {'wrong' if wrong else 'good'}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
