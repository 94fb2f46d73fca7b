"""Runs a forked process that does what `python -m MODULE ARGUMENT...` would do, without its start.

A module that is run this way has a function `main`, which reads `sys.argv` and returns the exit code.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import NoReturn

PACKAGE = "neff_bench."
_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl(2)."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of mallopt(3), of glibc."""
_KEPT_BYTES, _SHARED_BYTES = 256 << 20, 4 << 20
"""What may stay free in the heap, and the size from which an array lies outside of it."""

_LIBC = ctypes.CDLL(None)

_is_forked = False


def module_of(argv: Sequence[str]) -> str | None:
    """Return the module of this project that a command runs with this Python, None for every other command."""
    ours = len(argv) > 2 and argv[0] == sys.executable and argv[1] == "-m" and argv[2].startswith(PACKAGE)
    return argv[2] if ours else None


def may_fork() -> bool:
    """Return whether the process is a warm one without threads. A fork copies the locks of other threads and never releases them."""
    return _is_forked and len(os.listdir("/proc/self/task")) == 1


def fork_module(argv: Sequence[str], environment: Mapping[str, str], output: int) -> int:
    """Fork a child that runs a command for which `module_of` has an answer; returns its pid. Standard input is empty, both outputs are `output`.

    It stays in the caller's process group and dies with the caller.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        become(argv, os.getcwd(), environment, (os.open(os.devnull, os.O_RDONLY), output, output), parent)
    return pid


def become(
    argv: Sequence[str], cwd: str, environment: Mapping[str, str], streams: tuple[int, int, int], parent: int
) -> NoReturn:
    """Live as a forked child: take on the streams and the environment, close every other file, run the module and end."""
    code = 1
    try:
        die_with(parent)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        _renew_streams()
        close_others()
        reset_signals()
        os.chdir(cwd)
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(
            environment.items() - os.environ.items()
        )  # most are the parent's: each change copies all of them
        global _is_forked
        _is_forked = True
        _keep_memory()
        code = _run(argv)
    except BaseException as error:  # what a Python that ends with an exception prints
        code = _told(error)
    finally:
        code = _flushed(code)
        os._exit(code & 0xFF)


def die_with(parent: int) -> None:
    """Let the system kill this process when its parent, `parent`, is gone."""
    _LIBC.prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # the parent was killed before it could be watched


def _keep_memory() -> None:
    """Let malloc keep what is freed, where it can be told so: a child is short-lived, and memory that is given back and taken anew costs
    a page fault for each 4 KiB."""
    mallopt = getattr(_LIBC, "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, _SHARED_BYTES)


def _renew_streams() -> None:
    """Make the stream objects of Python anew: they remember what kind of file they were made for."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, f"__{name}__")  # None where it was closed
        new = open(
            number,
            "r" if name == "stdin" else "w",
            encoding=getattr(old, "encoding", None),
            errors=getattr(old, "errors", None),
            buffering=1 if name == "stderr" else -1,
            closefd=False,
        )
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def _run(argv: Sequence[str]) -> int:
    importlib.invalidate_caches()
    gc.enable()
    name = argv[2]
    sys.argv = [name, *argv[3:]]
    module = importlib.import_module(name)
    if hasattr(module, "__path__"):
        module = importlib.import_module(f"{name}.__main__")
    return _code(module.main())


def _code(value: object) -> int:
    """Return the exit code that `sys.exit(value)` gives."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    print(value, file=sys.stderr)
    return 1


def _told(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        return _code(error.code)
    traceback.print_exception(error)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def _flushed(code: int) -> int:
    """Print everything before the end; a stream that cannot be written is an error, as in any Python."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 120
    return code


def close_others(*kept: int) -> None:
    """Close every open file but the three standard streams and what is named."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                pass  # the one that listed the others


def reset_signals() -> None:
    """Handle signals as a Python that has just started: handlers of the one that was forked are gone, what is ignored stays so."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
