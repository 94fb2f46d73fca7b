"""A `neff-bench watch` that runs, for tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from queue import Queue
from threading import Thread
from urllib.request import urlopen

from tests.watch import soon

KERNEL = """\
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
INPUTS = ("x=512x1024:bf16", "w=1024:float32")
PATIENCE_S = 60


class Watch:
    """The command in a folder. `address`: of its page."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "neff_bench", "watch", *words, "--format", "json"],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "COLUMNS": "100", "PYTHONDONTWRITEBYTECODE": ""},
        )  # fmt: skip
        self.said: Queue[str] = Queue()
        self._lines: Queue[dict] = Queue()
        self._readers = [
            Thread(target=lambda: [self.said.put(line) for line in self._process.stderr]),
            Thread(target=lambda: [self._lines.put(json.loads(line)) for line in self._process.stdout]),
        ]
        for reader in self._readers:
            reader.start()
        self.address = self.said.get(timeout=PATIENCE_S).strip()

    def save(self, text: str, name: str = "my_kernels.py", at_s: float | None = None) -> None:
        """As editors do it: a new file takes the place of the old one. `at_s`: its time of modification."""
        path = self.folder / name
        new = path.with_suffix(".new")
        new.write_text(text)
        if at_s is not None:
            os.utime(new, (at_s, at_s))
        new.replace(path)

    def next(self) -> dict:
        """What the next save gave."""
        return self._lines.get(timeout=PATIENCE_S)

    def state(self) -> dict:
        """What the page would show now."""
        with urlopen(f"{self.address}events", timeout=PATIENCE_S) as stream:
            for line in stream:
                if line.startswith(b"data: "):
                    return json.loads(line.removeprefix(b"data: "))
        raise EOFError

    def wait_for(self, condition) -> None:
        assert soon(condition)

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Ctrl-C; the exit code, and what stood on standard error after the address."""
        if self._process.poll() is None:
            os.kill(self._process.pid, number)
        code = self._process.wait(PATIENCE_S)
        for reader in self._readers:
            reader.join()
        self._process.stdout.close()
        self._process.stderr.close()
        return code, "".join(self.said.queue)
