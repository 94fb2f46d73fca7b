"""Says how live `neff-bench watch` is: from a save to the number and to the whole picture, painted in a headless Chromium, the median of twenty saves.

Goals on a quiet machine: scale_rows and a product of 1024^3 the number within 150 ms and the picture within 400, a product of 4096^3 within 1 s;
a save that mends a kernel that hangs is answered within 1 s.
"""

from __future__ import annotations

import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.chromium import Chromium, find_chromium

KERNELS = Path(__file__).parents[1] / "neff_bench" / "stage1_generate" / "kernels"
SAVES = 20
SCALE_ROWS = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def scale_rows(x, w):
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    weights = nl.ndarray((128, columns), dtype=w.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=weights, src=w.reshape((1, columns)).broadcast(0, 128))
    for row in range(0, rows, 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[row : row + 128, 0:columns])
        nisa.tensor_tensor(dst=tile, data1=tile, data2=weights, op=nl.multiply)
        nisa.dma_copy(dst=out[row : row + 128, 0:columns], src=tile)
    return out
"""


def product(size: int) -> tuple[str, ...]:
    """Return the words that name our product of this size."""
    return "product.py:matmul", *(f"{name}={size}x{size}:bfloat16" for name in ("lhs", "rhs"))


CASES = {
    "scale_rows 512x1024": ("scale.py:scale_rows", "x=512x1024:bfloat16", "w=1024:float32"),
    "product 1024^3": product(1024),
    "product 4096^3": product(4096),
}


def write_kernels(folder: Path) -> None:
    """Write the kernels, one of them with an import."""
    (folder / "scale.py").write_text(SCALE_ROWS)
    (folder / "tiles.py").write_text((KERNELS / "tiles_nki.py").read_text())
    text = (KERNELS / "matmul_nki.py").read_text()
    (folder / "product.py").write_text(text.replace("neff_bench.stage1_generate.kernels.tiles_nki", "tiles"))


def save(path: Path, text: str) -> float:
    """Put a new file in the place of the old one; return the time in ms since the epoch."""
    new = path.with_suffix(".new")
    new.write_text(text)
    at = time.time() * 1e3
    new.replace(path)
    return at


def measure(browser: Chromium, folder: Path, name: str, words: tuple[str, ...]) -> None:
    """Print the medians of a kernel, and how long a save takes that mends one that hangs."""
    path = folder / words[0].partition(":")[0]
    text = path.read_text()
    process = subprocess.Popen(
        [sys.executable, "-m", "neff_bench", "watch", *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    try:
        browser.open(
            (process.stderr or sys.stdin).readline().strip(), "window.neffBenchWatch && neffBenchWatch.painted"
        )
        browser.wait("!neffBenchWatch.state.busy")
        numbers, pictures = [], []
        for number in range(2, SAVES + 2):
            at = save(path, text + f"# {number}\n")
            browser.wait(f"neffBenchWatch.painted === {number} && !neffBenchWatch.state.busy")
            numbers.append(browser.value("neffBenchWatch.numberMs") - at)
            pictures.append(browser.value("neffBenchWatch.pictureMs") - at)
        save(
            path,
            text.replace('"""out[M', 'while True: pass\n    """out[M').replace(
                "rows, columns =", "while True: pass\n    rows, columns ="
            ),
        )
        browser.wait(f"neffBenchWatch.state.save === {SAVES + 2}")
        time.sleep(0.5)
        at = save(path, text)
        browser.wait(f"neffBenchWatch.numbered === {SAVES + 3}")
        mended = browser.value("neffBenchWatch.numberMs") - at
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
    ranges = [f"{statistics.median(times):5.0f} ({min(times):.0f}-{max(times):.0f})" for times in (numbers, pictures)]
    print(f"{name:20s} number {ranges[0]} ms  picture {ranges[1]} ms  after a hang {mended:.0f} ms", flush=True)


def main() -> None:
    """Measure the cases that are named, else all."""
    program = find_chromium()
    if program is None:
        sys.exit("no Chromium on this machine; Debian has it as the package chromium")
    browser = Chromium(program)
    with tempfile.TemporaryDirectory() as folder:
        write_kernels(Path(folder))
        try:
            for name, words in CASES.items():
                if all(word in name for word in sys.argv[1:]):
                    measure(browser, Path(folder), name, words)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
