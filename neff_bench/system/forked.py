"""Makes calls in processes that are forked from this one, so that everything it has imported is warm.

The call may crash, hang or fill its memory: it costs that call, and the next fork starts from the same clean state. Call it from a process without
threads only: a fork copies a lock that another thread holds and never releases it.
"""

from __future__ import annotations

import gc
import os
import resource
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from neff_bench.system.child import die_with
from neff_bench.system.endings import ending

Item = TypeVar("Item")

_MESSAGE_BYTES = 8 * 1024
"""What is kept of the standard error of a call that died."""


@dataclass(frozen=True)
class Died:
    """A call that gave no answer. `reason`: one line for people."""

    reason: str


@dataclass
class _Child:
    item: Any
    pid: int
    answer: int
    messages: int
    deadline: float
    data: bytearray
    said: bytearray
    late: bool = False
    """Killed, because its time was over."""


def map_forked(
    function: Callable[[Item], bytes],
    items: Iterable[Item],
    *,
    jobs: int,
    timeout_s: float,
    memory_bytes: int,
    known: Callable[[Item], bytes | None] = lambda _: None,
) -> Iterator[tuple[Item, bytes | Died]]:
    """Yield (item, answer) for each item, in the order in which the answers come; `jobs` calls run at once. Items are taken when there is room.

    `known`: the answer to an item that needs no call, else None; it is asked in this process, before the fork.
    `memory_bytes`: what a call may allocate beside what this process holds. What a call prints to standard output is dropped.
    """
    if threading.active_count() > 1:
        raise RuntimeError("map_forked was called in a process with threads; a fork could inherit a held lock")
    selector = selectors.DefaultSelector()
    running: set[int] = set()
    waiting = iter(items)
    more = True
    try:
        while True:
            while more and len(running) < jobs:
                try:
                    item = next(waiting)
                except StopIteration:
                    more = False
                    break
                if (answer := known(item)) is not None:
                    yield item, answer
                    continue
                child = _start(function, item, timeout_s, memory_bytes)
                running.add(child.pid)
                selector.register(child.answer, selectors.EVENT_READ, child)
                selector.register(child.messages, selectors.EVENT_READ, child)
            if not running:
                return
            for child in _step(selector):
                running.discard(child.pid)
                yield child.item, _result(child, timeout_s)
    finally:
        for pid in running:
            _kill(pid)
            os.waitpid(pid, 0)
        for key in list(selector.get_map().values()):
            os.close(key.fd)
        selector.close()


def _start(function: Callable[[Item], bytes], item: Item, timeout_s: float, memory_bytes: int) -> _Child:
    answer, answer_end = os.pipe()
    messages, messages_end = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(answer)
        os.close(messages)
        _run(function, item, answer_end, messages_end, memory_bytes, parent)
    os.close(answer_end)
    os.close(messages_end)
    return _Child(item, pid, answer, messages, time.monotonic() + timeout_s, bytearray(), bytearray())


def _run(
    function: Callable[[Item], bytes], item: Item, answer: int, messages: int, memory_bytes: int, parent: int
) -> None:
    """Run the child; never returns. What it inherits is no garbage: looking at it would copy each of its pages."""
    gc.freeze()
    try:
        os.setpgid(0, 0)
        die_with(parent)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.dup2(messages, 2)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        limit = _virtual_bytes() + memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        me = os.getpid()
        data = function(item)
        if os.getpid() != me:  # the call forked: its child has no answer of its own
            os._exit(0)
        while data:
            data = data[os.write(answer, data) :]
        os._exit(0)
    except MemoryError:
        os.write(2, b"ran out of memory\n")
    except BaseException as error:  # SystemExit and KeyboardInterrupt of a kernel too
        os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(1)


def _virtual_bytes() -> int:
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _step(selector: selectors.BaseSelector) -> list[_Child]:
    """Read what there is, and return the children that have ended."""
    children = {key.data.pid: key.data for key in selector.get_map().values()}
    deadlines = [child.deadline for child in children.values() if not child.late]
    wait_s = max(0.0, min(deadlines) - time.monotonic()) if deadlines else None
    for key, _ in selector.select(wait_s):
        child: _Child = key.data
        block = os.read(key.fd, 1 << 16)
        if not block:
            selector.unregister(key.fd)
            os.close(key.fd)
        elif key.fd == child.answer:
            child.data += block
        else:
            child.said += block
            del child.said[:-_MESSAGE_BYTES]
    now = time.monotonic()
    for child in children.values():
        if now >= child.deadline and not child.late:
            child.late = True
            _kill(child.pid)
    open_pids = {key.data.pid for key in selector.get_map().values()}
    return [child for pid, child in children.items() if pid not in open_pids]


def _result(child: _Child, timeout_s: float) -> bytes | Died:
    _kill(child.pid)  # its group, should it have started programs
    _, status = os.waitpid(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if child.late:
        return Died(f"took longer than {timeout_s:g} s")
    if code == 0:
        return bytes(child.data)
    lines = child.said.decode(errors="replace").strip().splitlines()
    if code > 0 and lines:
        return Died(lines[-1])
    return Died(ending(code))


def _kill(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
