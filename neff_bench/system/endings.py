"""Says how a process ended, in words for a row's reason."""

from __future__ import annotations

import signal


def ending(code: int) -> str:
    """Say how a process ended. `code`: the exit code, or the negative number of the signal that ended it, as `os.waitstatus_to_exitcode` has it."""
    if code >= 0:
        return f"exit code {code}"
    known = {number.value: number.name for number in signal.Signals}
    why = ", most likely for lack of memory" if code == -signal.SIGKILL else ""
    return f"killed by {known.get(-code, f'signal {-code}')}{why}"
