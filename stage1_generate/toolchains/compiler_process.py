"""Runs a compile command: everything it prints goes on to our own standard output, its end is kept for the reason."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import IO

from neff_bench.installation import IMPORT_ROOT
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.system.child import fork_module, may_fork, module_of
from neff_bench.system.endings import ending

_BLOCK_BYTES = 64 * 1024
_TAIL_BYTES = 8 * 1024


def python_environment() -> dict[str, str]:
    """Return this process's environment with our own packages importable, also where the project is not installed."""
    inherited = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(IMPORT_ROOT), *([inherited] if inherited else [])])}


def run(argv: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """Run to the end in the current directory; returns the wall time in seconds. Raises `BuildError` with its last error line when it fails."""
    start = time.perf_counter()
    if module_of(argv) is not None and may_fork():
        read, write = os.pipe()
        pid = fork_module(argv, os.environ if environment is None else environment, write)
        os.close(write)
        with open(read, "rb") as output:
            text = _pass_on(output)
        returncode = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    else:
        try:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
            )
        except OSError as error:
            raise BuildError(f"cannot start {argv[0]}: {error.strerror}") from None
        with process:
            text = _pass_on(process.stdout)  # type: ignore[arg-type]
        returncode = process.returncode
    if returncode != 0:
        raise BuildError(reason(returncode, text))
    return time.perf_counter() - start


def _pass_on(output: IO[bytes]) -> str:
    """Copy a command's output to our own until it ends; returns its last part."""
    tail: deque[bytes] = deque()
    kept = 0
    while block := output.read1(_BLOCK_BYTES):  # type: ignore[attr-defined]
        sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()
        tail.append(block)
        kept += len(block)
        while kept - len(tail[0]) >= _TAIL_BYTES:
            kept -= len(tail.popleft())
    return b"".join(tail)[-_TAIL_BYTES:].decode(errors="replace")


def reason(returncode: int, output: str) -> str:
    """Return one line for a command or worker that failed: what it said last, or how it died."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if any("MemoryError" in line for line in lines[-3:]):
        return "ran out of memory (see compile.log)"
    errors = [line for line in lines if line.lower().startswith("error:")]
    if returncode >= 0 and (errors or lines):
        return _short(re.sub(r"(?i)^error:\s*", "", (errors or lines)[-1]))
    return f"{ending(returncode)} (see compile.log)"


def _short(line: str) -> str:
    text = "".join(character if character.isprintable() else "?" for character in line)
    return text if len(text) <= 300 else text[:297] + "..."
