"""Serves as the warm parent: it imports what its children will need, then forks one child for each request.

    python -m neff_bench.system.zygote CONTROL MODULE...

It is that program, or a fork of the command (`take_over`). MODULE is a module, PACKAGE.* is all that a package holds. Of
MODULE:FUNCTION the function is called, and the module keeps its answer.
CONTROL is a socket whose other end only the command holds. A request is one byte on it with file descriptors: a channel of
its own, the child's three streams, and locks that stay held until the child is gone. The channel then brings one line of
JSON (see `warm.py`), and takes back one byte when the child runs and its exit code when it has ended. When the command
closes its end of a channel, or dies, the child's process group gets SIGTERM and, after its grace, SIGKILL.

This process has one thread: a fork copies the locks of other threads and never releases them.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from neff_bench.system.child import become, close_others, reset_signals
from neff_bench.system.leash import signal_group

STARTED = b"+"
_DESCRIPTORS_MAX = 64


@dataclass
class _Child:
    pid: int
    channel: socket.socket
    hold: list[int]
    grace_s: float
    ending: bool = False
    """The command wants its end, or is gone."""
    kill_at: float | None = None
    """When SIGKILL is due; None where it is not, or has been sent."""


def main() -> int:
    """Return what the program does; returns its exit code."""
    return serve(int(sys.argv[1]), sys.argv[2:])


def serve(control: int, names: Sequence[str]) -> int:
    """Import what is named, then serve until the command is gone and every child has ended. `control`: the file descriptor.
    Returns 1 where an import has made a thread, 0 else."""
    gc.disable()  # a collection here looks through what stays for ever, and one in a child copies every page
    for name in names:
        for module in _modules(name):
            try:
                _warm_up(module)
            except ImportError:
                pass  # an optional package; the child that needs it says so
    if len(os.listdir("/proc/self/task")) > 1:
        return 1  # the command starts its programs cold
    gc.freeze()
    zygote = Zygote(socket.socket(fileno=control))
    try:
        zygote.serve()
    finally:
        zygote.kill_all()
    return 0


def take_over(control: int, names: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Live as a fork of the command: it lets go of all that is the command's, then serves as the program does."""
    code = 1
    try:
        os.setsid()
        reset_signals()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        close_others(control)
        sys.path[:] = _search_path(environment)
        os.environ.clear()
        os.environ.update(environment)
        code = serve(control, names)
    finally:
        os._exit(code)  # also after an exception: it must not come out in what the command was doing


def _search_path(environment: Mapping[str, str]) -> list[str]:
    """Return `sys.path` as a Python has it that is started in this environment, with PYTHONSAFEPATH."""
    first = 0 if getattr(sys.flags, "safe_path", False) else 1  # the folder of the command's script
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    after = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    return list(dict.fromkeys([*after, *(entry for entry in sys.path[first:] if entry not in before)]))


def _modules(name: str) -> Iterator[str]:
    """Yield a module, or all that a package holds but for its command."""
    package = name.removesuffix(".*")
    yield package
    if package != name and package in sys.modules:
        for found in pkgutil.walk_packages(sys.modules[package].__path__, f"{package}."):
            if not found.name.endswith(".__main__"):
                yield found.name


def _warm_up(name: str) -> None:
    module, _, function = name.partition(":")
    loaded = importlib.import_module(module)
    if function:
        getattr(loaded, function)()


class Zygote:
    """The loop of the warm parent."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, _Child] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ)
        self._awake, wake = os.pipe()
        os.set_blocking(self._awake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(self._awake, selectors.EVENT_READ)

    def serve(self) -> None:
        """Serve until the command is gone and every child has ended."""
        open_ = True
        while open_ or self._children:
            due = [child.kill_at for child in self._children.values() if child.kill_at is not None]
            for key, _ in self._selector.select(max(0.0, min(due) - time.monotonic()) if due else None):
                if key.fd == self._awake:
                    _drain(self._awake)
                elif key.fileobj is self._control:
                    open_ = self._accept()
                else:
                    self._end(key.data)
            if not open_:
                self._end_all()
            self._kill_overdue()
            self._reap()

    def kill_all(self) -> None:
        """End what still runs, should this process not come to its ordinary end."""
        for pid in self._children:
            signal_group(pid, signal.SIGKILL)

    def _accept(self) -> bool:
        """Take one request; False when there will be no more."""
        try:
            byte, descriptors, _, _ = socket.recv_fds(self._control, 1, _DESCRIPTORS_MAX, socket.MSG_CMSG_CLOEXEC)
        except OSError:
            byte, descriptors = b"", []
        if not byte:
            self._selector.unregister(self._control)
            return False
        channel, hold = socket.socket(fileno=descriptors[0]), descriptors[4:]
        streams = (descriptors[1], descriptors[2], descriptors[3])
        line = _line(channel)
        if not line:  # the command died before it had said what it wants
            channel.close()
            _close_all([*streams, *hold])
            return True
        request = json.loads(line)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            become(request["argv"], request["cwd"], request["environment"], streams, parent)
        try:
            os.setpgid(pid, pid)
        except OSError:
            pass  # the child was first, or is gone
        _close_all([*streams])
        child = _Child(pid, channel, hold, request["grace_s"])
        self._children[pid] = child
        self._selector.register(channel, selectors.EVENT_READ, child)
        _tell(channel, STARTED)
        return True

    def _end(self, child: _Child) -> None:
        """End a child: the command wants it to end, or is gone. Nothing else is ever sent on its channel."""
        self._selector.unregister(child.channel)
        child.ending, child.kill_at = True, time.monotonic() + child.grace_s
        if child.grace_s > 0:
            signal_group(child.pid, signal.SIGTERM)

    def _end_all(self) -> None:
        """End every child: a command that is about to end may still hold the channels of some."""
        for child in self._children.values():
            if not child.ending:
                self._end(child)

    def _kill_overdue(self) -> None:
        for child in self._children.values():
            if child.kill_at is not None and time.monotonic() >= child.kill_at:
                child.kill_at = None
                signal_group(child.pid, signal.SIGKILL)

    def _reap(self) -> None:
        for child in list(self._children.values()):
            if os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                continue
            # What it left behind in its group goes too; it is still unreaped, so the number is still its own.
            signal_group(child.pid, signal.SIGKILL)
            _, status = os.waitpid(child.pid, 0)
            _tell(child.channel, f"{os.waitstatus_to_exitcode(status)}\n".encode())
            if not child.ending:
                self._selector.unregister(child.channel)
            child.channel.close()
            _close_all(child.hold)
            del self._children[child.pid]


def _line(channel: socket.socket) -> bytes:
    """Return the first line of a channel, which the command sends at once; empty when it ends before."""
    data = bytearray()
    while not data.endswith(b"\n"):
        block = channel.recv(1 << 16)
        if not block:
            return b""
        data += block
    return bytes(data)


def _tell(channel: socket.socket, data: bytes) -> None:
    try:
        channel.sendall(data)
    except OSError:
        pass  # nobody listens any more


def _drain(descriptor: int) -> None:
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        pass


def _close_all(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())
