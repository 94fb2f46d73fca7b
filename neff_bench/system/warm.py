"""Holds a command's side of the warm parent, a process of its own: forked from a command that has no threads yet, or started like any program.

A child that crashes, hangs or fills its memory costs its own answer, and no child outlives the command.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from neff_bench.system.child import module_of
from neff_bench.system.zygote import STARTED, take_over


class WarmProcess:
    """A child of the warm parent. `stdin`, `stdout`, `stderr`: our ends of its pipes, None where there is none."""

    def __init__(
        self, channel: socket.socket, stdin: IO[bytes] | None, stdout: IO[bytes], stderr: IO[bytes] | None
    ) -> None:
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self._channel = channel
        self._code: int | None = None
        self._said = b""

    def fileno(self) -> int:
        """Return a file descriptor that is readable when the child has ended."""
        return self._channel.fileno()

    def poll(self) -> int | None:
        """Return the exit code, minus n when signal n ended it; None while the child runs."""
        return self.wait(0.0)

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Return what `poll` does, after at most `timeout_s`."""
        waiting = select.poll()
        waiting.register(self._channel, select.POLLIN)
        while self._code is None and waiting.poll(None if timeout_s is None else timeout_s * 1000):
            block = self._channel.recv(4096)
            self._said += block
            if self._said.endswith(b"\n"):
                self._code = int(self._said)
            elif not block:
                self._code = -signal.SIGKILL  # the warm parent is gone, and its children with it
        return self._code

    def end(self) -> None:
        """Ask for its end: SIGTERM to its process group, SIGKILL after its grace."""
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End it without waiting for it, and close our ends of its pipes."""
        self._channel.close()
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


class WarmParent:
    """Starts modules of this project in forked children. Its methods may be called by several threads. `environment`: of the parent.

    `modules`: what the children will import; `package.*` is all of a package, `module:function` is called once.
    """

    def __init__(self, modules: Sequence[str], environment: Mapping[str, str]) -> None:
        self._modules = modules
        # BLAS makes its threads when it is imported, and the parent must have none.
        self._environment = {**environment, "OPENBLAS_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
        self._guard = threading.Lock()
        self._wait: Callable[[], Any] | None = None
        """Waits for the end of the parent's process, where it has one."""
        self._is_fork = False
        self._control: socket.socket | None = None
        self._lost = False

    def __enter__(self) -> WarmParent:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def fork(self) -> bool:
        """Start the parent now, as a fork of this process, and return whether it is one: a process with threads, whose locks a fork would copy, is not
        forked. For a command only: what a program of somebody else has changed in its modules would count for the children too."""
        with self._guard:
            if self._control is not None or len(os.listdir("/proc/self/task")) > 1:
                return self._is_fork
            self._control, theirs = socket.socketpair()
            with theirs:
                sys.stdout.flush()
                sys.stderr.flush()
                pid = os.fork()
                if pid == 0:
                    take_over(theirs.fileno(), self._modules, self._environment)
            self._wait, self._is_fork = partial(os.waitpid, pid, 0), True
            return True

    def start(  # noqa: PLR0913 - as subprocess takes them
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        stdin: bool = False,
        one_stream: bool = False,
        hold: Sequence[int] = (),
        grace_s: float = 0.0,
    ) -> WarmProcess | None:
        """Return a child that does what `argv` does; None when the command has to be started cold.

        `stdin`: give it a pipe, else its standard input is empty. `one_stream`: standard error goes where standard output
        goes. `hold`: file descriptors (locks) that stay open until the child is gone. `grace_s`: see `WarmProcess.end`.
        """
        if self._lost or module_of(argv) is None:
            return None
        request = {"argv": list(argv), "cwd": str(cwd), "environment": dict(environment), "grace_s": grace_s}
        ours, theirs = socket.socketpair()
        read_in, write_in = os.pipe() if stdin else (os.open(os.devnull, os.O_RDONLY), -1)
        read_out, write_out = os.pipe()
        read_err, write_err = (-1, write_out) if one_stream else os.pipe()
        process = WarmProcess(ours, _file(write_in, "wb"), open(read_out, "rb"), _file(read_err, "rb"))
        try:
            with self._guard:
                control = self._control or self._begin()
                socket.send_fds(control, [b"?"], [theirs.fileno(), read_in, write_out, write_err, *hold])
            theirs.close()
            ours.sendall(json.dumps(request).encode() + b"\n")
            started = ours.recv(1) == STARTED
        except OSError:
            started = False
        finally:
            theirs.close()
            for descriptor in {read_in, write_out, write_err}:
                os.close(descriptor)
        # A parent that failed once is not asked again: from now on every command starts cold.
        if not started:
            self._lost = True
            process.close()
            return None
        return process

    def close(self) -> None:
        """End the parent and wait for it; children that still run are ended first."""
        with self._guard:
            if self._control is not None and self._wait is not None:
                self._control.close()
                self._wait()
            self._control = self._wait = None

    def _begin(self) -> socket.socket:
        control, theirs = socket.socketpair()
        with theirs:
            self._wait = subprocess.Popen(
                [sys.executable, "-m", "neff_bench.system.zygote", str(theirs.fileno()), *self._modules],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            ).wait
        self._control = control
        return control


def _file(descriptor: int, mode: str) -> IO[bytes] | None:
    return None if descriptor < 0 else open(descriptor, mode)
