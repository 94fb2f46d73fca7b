"""Runs one program so that nothing of it outlives the one who asked for it.

    python -I -S leash.py LIFE GRACE PROGRAM ARGUMENT...

LIFE is the reading end of a pipe whose writing end only the caller holds. When that end is closed, on purpose or because
the caller was killed, the program's whole process group gets SIGTERM and, GRACE seconds later, SIGKILL. When the program has ended,
every process that it left behind gets SIGKILL, also one in a session of its own. Locks that the caller passes on as open files stay
held until then. Standard library only: it starts in a few milliseconds.
"""

import ctypes
import os
import select
import signal
import sys
import time

_ADOPT_ORPHANS = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2): a process whose parent has ended becomes a child of this one, not of init."""


def main() -> int:
    """Run the program; returns its exit code."""
    life, grace_s, command = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1)
    child = os.fork()
    if child == 0:
        _become(command)
    try:
        os.setpgid(child, child)
    except OSError:
        pass  # the child was first, or is gone
    while not _ended(child):
        ready, _, _ = select.select([life, awake], [], [])
        if life in ready:
            signal_group(child, signal.SIGTERM)
            deadline = time.monotonic() + grace_s
            while time.monotonic() < deadline and not _ended(child):
                time.sleep(0.05)
            break
        os.read(awake, 4096)
    # The program is still unreaped, so the number of its group is still its own.
    signal_group(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    _kill_orphans()
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill_orphans() -> None:
    try:
        while pids := _children():  # those of one that is killed come next
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
    except OSError:
        pass  # one that belongs to another user


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as children:
        return [int(pid) for pid in children.read().split()]


def _become(command: list[str]) -> None:
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.closerange(3, 4096)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def signal_group(group: int, number: int) -> None:
    """Signal every process of a group; a group without a process is left alone."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass


if __name__ == "__main__":
    sys.exit(main())
