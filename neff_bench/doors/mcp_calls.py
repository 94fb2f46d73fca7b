"""Says what an agent may name, and the processes that its calls run in."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neff_bench.errors import NeffBenchError, WrongCall
from neff_bench.stage1_generate.entries import functions
from neff_bench.system import leash
from neff_bench.system.endings import ending

MOST_FILES = 1_000
MOST_BYTES = 1 << 30
"""The most bytes that one call reads."""
_END_S = 3.0
"""Until a command that was asked to end is killed."""
_LIMITED = ("/bin/sh", "-c", 'ulimit -S -v "$0" && exec "$@"')
"""Before KIB and a command: it may use so much memory. The limit is set before the command begins, so nothing that it starts escapes it."""


class CallFailed(NeffBenchError):
    """A command ended without an answer."""


@dataclass(frozen=True)
class Limits:
    """The limits of each call. `root`: a real path, below which everything lies that a call may name."""

    root: Path
    timeout_s: float
    memory_bytes: int


def file_below(root: Path, path: str) -> str:
    """Return a file or directory as seen from `root`. Raises `WrongCall` for what does not lie below it, for what is not there, and for
    more than a call may read."""
    found = _real(root, path)
    files = size = 0
    for one in _files(found):
        if one.is_symlink() and not one.resolve().is_relative_to(root):
            raise WrongCall(
                f"{path}: {os.path.relpath(one, root)} is a link that leads out of the directory that is served"
            )
        files, size = files + 1, size + (one.stat().st_size if one.is_file() else 0)
        if files > MOST_FILES or size > MOST_BYTES:
            raise WrongCall(f"{path}: more than {MOST_FILES:,} files or {MOST_BYTES >> 30} GiB: name a part of it")
    return os.path.relpath(found, root)


def function_below(root: Path, kernel: str) -> str:
    """Return `file.py:function` with the file's real path. Raises `WrongCall` for anything else, and for a function that the file only imports."""
    file, _, name = kernel.rpartition(":")
    if not file.endswith(".py") or not name.isidentifier():
        raise WrongCall(f"{kernel!r}: expected file.py:function, a file below the directory that is served")
    path = _real(root, file)
    try:
        known = functions(path)
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        raise WrongCall(f"{file}: cannot be read as Python: {error}") from None
    if name not in known:
        raise WrongCall(f"{file} defines no function {name!r}; it defines {', '.join(known) or 'none'}")
    return f"{path}:{name}"


def plain_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments. Raises `WrongCall` for one that names a module's attribute, as a kernel.json may."""
    waiting: list[Any] = [arguments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if "ref" in value:
                raise WrongCall("arguments: found a 'ref'; expected numbers, texts, lists and objects")
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return arguments


def call(limits: Limits, commands: Iterable[Sequence[str]], good: Sequence[int], data: bytes = b"") -> str:
    """Run commands one after the other; the standard output of the last one. `good`: the exit codes of one that answers. Raises `CallFailed`."""
    deadline = time.monotonic() + limits.timeout_s
    text = ""
    for words in commands:
        text = _answer(_run(limits, words, data, deadline), good)
    return text


def _run(limits: Limits, words: Sequence[str], data: bytes, deadline: float) -> subprocess.CompletedProcess[bytes]:
    module = "neff_bench.simulator" if words[0] == "explain" else "neff_bench"
    command = [*_LIMITED, str(limits.memory_bytes >> 10), sys.executable, "-m", module, *words]
    pipe, (life, end) = subprocess.PIPE, os.pipe()
    line = [sys.executable, "-I", "-S", leash.__file__, str(life), str(_END_S), *command]
    try:
        process = subprocess.Popen(
            line, stdin=pipe, stdout=pipe, stderr=pipe, cwd=limits.root, pass_fds=(life,), start_new_session=True
        )
    except BaseException:
        os.close(end)
        raise
    finally:
        os.close(life)
    with process:
        try:
            out, err = process.communicate(data, max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            raise CallFailed(f"took longer than {limits.timeout_s:g} s") from None
        finally:
            os.close(end)  # the leash ends what still runs, with all that it started
            process.wait()
    code = process.returncode if process.returncode <= 128 else 128 - process.returncode
    return subprocess.CompletedProcess(command, code, out, err)


def _answer(done: subprocess.CompletedProcess[bytes], good: Sequence[int]) -> str:
    text = done.stdout.decode(errors="replace")
    if done.returncode not in good or (1 in good and not text):
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise CallFailed(lines[-1].removeprefix("error: ") if lines else ending(done.returncode))
    return text


def _real(root: Path, path: str) -> Path:
    try:
        found = (root / path).resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise WrongCall(f"{path!r}: {getattr(error, 'strerror', None) or 'no such file'}") from None
    if not found.is_relative_to(root):
        raise WrongCall(f"{path!r}: does not lie below the directory that is served")
    return found


def _files(path: Path) -> Iterable[Path]:
    """Yield all that lies below a directory, links not followed; the path itself if it is none."""
    yield path
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            yield Path(folder, name)
