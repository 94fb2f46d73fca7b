"""Starts a program cold, under a leash (leash.py): nothing of it outlives the one who asked for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from neff_bench.system import leash


class Leashed:
    """A program that is started cold; what it takes and can do is what `WarmParent.start` takes and a `WarmProcess` can."""

    def __init__(  # noqa: PLR0913 - as subprocess takes them
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        stdin: bool = False,
        one_stream: bool = False,
        hold: Sequence[int] = (),
        grace_s: float = 0.0,
    ) -> None:
        life_read, self._life = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", leash.__file__, str(life_read), str(grace_s), *argv],
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if one_stream else subprocess.PIPE,
                pass_fds=(life_read, *hold),
                start_new_session=True,
            )
        except BaseException:
            self.end()
            raise
        finally:
            os.close(life_read)
        self.stdout: IO[bytes] = self._process.stdout  # type: ignore[assignment]
        self.stdin, self.stderr = self._process.stdin, self._process.stderr

    def poll(self) -> int | None:
        """Return the exit code, minus n when signal n ended it; None while it runs."""
        return self.wait(0.0)

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Return `poll`, after at most `timeout_s`."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        return 128 - code if code > 128 else code  # a leash says 128 + n

    def end(self) -> None:
        """Ask for its end: SIGTERM to its process group, SIGKILL after its grace."""
        if self._life >= 0:
            os.close(self._life)
            self._life = -1

    def close(self) -> None:
        """End it and wait for it."""
        self.end()
        with self._process:
            pass
