"""The page of a profile of a million events: how long it takes to write, how large it is, and how fast a browser shows it.

Prints seconds of processor time and peak memory of `neff-bench view`, the size of the page, and from a headless Chromium without a GPU: the time from
navigation to the first painting, and frames for each second while the view zooms and pans. Goals: at most 30 MB, under 3 s, above 30 frames.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.chromium import Chromium, find_chromium

EVENTS = 1_000_000
FRAMES = 90
OPCODES = {
    "Tensor": ("LDWEIGHTS", "MATMUL"),
    "Vector": ("TENSOR_TENSOR", "COPY"),
    "Scalar": ("ACTIVATE",),
    "GpSimd": ("IOTA",),
    "Sync": ("DMA_DIRECT2D",),
}

MEASURE_FRAMES = """
new Promise(done => {
  const t = neffBench.timeline, times = [];
  let frame = 0, before = 0;
  const step = now => {
    if (frame) times.push(now - before);
    before = now;
    if (++frame > %d) { times.sort((a, b) => a - b); done([1000 * times.length / times.reduce((a, b) => a + b), times[times.length >> 1], times[Math.floor(times.length * 0.95)]]); return; }
    t.base.dispatchEvent(%s);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})
"""
WHEEL = "new WheelEvent('wheel', {clientX: t.base.getBoundingClientRect().left + 700, clientY: t.base.getBoundingClientRect().top + 200, deltaY: %s, shiftKey: %s, ctrlKey: %s, bubbles: true, cancelable: true})"
MOVES = {
    "zoom in and out": WHEEL % ("frame % 60 < 30 ? -60 : 60", "false", "true"),
    "pan, everything shown": WHEEL % ("frame % 20 < 10 ? 8 : -8", "true", "false"),
}


def write_profile(path: Path, events: int = EVENTS) -> int:
    """Write a whole-profile JSON of random events. Return how many."""
    instructions, packets, updates = events * 55 // 100, events * 40 // 100, events * 5 // 100
    chance = random.Random(1)
    engines = list(OPCODES)
    clock = dict.fromkeys(engines, 0)
    with path.open("w") as file:
        file.write('{"summary":[{"total_time":0.1,"instance_type":"trn2.48xlarge"}],"instruction":[')
        for number in range(instructions):
            engine = engines[number % 5]
            start = clock[engine] = clock[engine] + chance.randrange(0, 300)
            duration = chance.randrange(20, 600)
            clock[engine] += duration
            row = {
                "timestamp": start, "duration": duration, "subgroup": engine, "subgraph": "sg00", "opcode": chance.choice(OPCODES[engine]), "pc": number % 4096,
                "id": number + 1, "evt_wait_time": chance.randrange(0, 100), "nki_source_location": f"kernels/attention.py:{chance.randrange(1, 300)}",
                "operands": f"src=bf16@0x{chance.randrange(1 << 20):x}[1,0,0][128,1,1] dst=0x{chance.randrange(1 << 20):x}[1,0,0][512,1,1]",
                "predecessors": [{"id": max(1, number - chance.randrange(1, 20)), "type": "FLOW_DEPENDENCE"}] if number % 2 else [],
            }  # fmt: skip
            file.write(("," if number else "") + json.dumps(row))
        file.write('],"dma":[')
        end = max(clock.values())
        for number in range(packets):
            row = {
                "timestamp": number * end // packets + chance.randrange(0, 50), "duration": chance.randrange(200, 1500), "transfer_size": chance.choice((512, 2048, 4096)),
                "subgroup": f"Q{number % 4}-E{number % 16}", "subgraph": "sg00", "dma_engine": str(number % 16), "dma_queue": str(number % 4),
                "queue_type": "hardware_dynamic", "variable": f"tensor{number % 12}",
            }  # fmt: skip
            file.write(("," if number else "") + json.dumps(row))
        file.write('],"semaphore_update":[')
        for number in range(updates):
            row = {
                "timestamp": number * end // updates,
                "id": f"S[{number % 40}]",
                "value": number // 40,
                "subgraph": "sg00",
            }
            file.write(("," if number else "") + json.dumps(row))
        file.write("]}")
    return instructions + packets + updates


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        profile, page = Path(directory, "profile.json"), Path(directory, "page.html")
        count = write_profile(profile)
        print(f"{count} events, {profile.stat().st_size / 1e6:.0f} MB of JSON")
        command = [sys.executable, "-m", "neff_bench.cli", "view", str(profile), "--output", str(page)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit("neff-bench view failed")
        print(
            f"written in {usage.ru_utime + usage.ru_stime:.1f} s of processor time, {usage.ru_maxrss / 1e3:.0f} MB of memory at most"
        )
        print(f"page: {page.stat().st_size / 1e6:.1f} MB")
        program = find_chromium()
        if program is None:
            raise SystemExit("no Chromium on this machine, so nothing more is measured")
        browser = Chromium(program)
        try:
            browser.open(page, "window.neffBench && neffBench.firstPaintMs")
            if browser.value("neffBench.counts()") != [count]:
                raise SystemExit("the page does not have every event")
            print(f"first painting: {browser.value('neffBench.firstPaintMs') / 1000:.2f} s after navigation")
            for name, event in MOVES.items():
                rate, median, late = browser.value(MEASURE_FRAMES % (FRAMES, event))
                print(f"{name}: {rate:.0f} frames a second, median {median:.1f} ms, 95th percentile {late:.1f} ms")
        finally:
            browser.close()


if __name__ == "__main__":
    main()
