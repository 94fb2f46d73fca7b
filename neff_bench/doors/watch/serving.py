"""Runs a watch from its start to Ctrl-C: it follows the files, and serves the page."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Callable

import uvicorn
from watchfiles import awatch

from neff_bench.doors.subject import Subject
from neff_bench.doors.watch.server import Bell, app_of
from neff_bench.doors.watch.session import Session, State
from neff_bench.errors import NeffBenchError
from neff_bench.system.warm import WarmParent

STEP_MS, DEBOUNCE_MS = 5, 50
"""How long a file must rest, and how long at most is waited for that."""
ANYWAY_MS = 1000
"""How often the files are looked at though nothing was heard: network file systems tell nothing."""
CLOCK_NS = 20_000_000
"""How far the clock of a file system may be behind."""


def serve(
    subject: Subject,
    warm: WarmParent,
    port: int,
    timeout_s: float,
    say: Callable[[str], None],
    tell: Callable[[State], None],
) -> None:
    """Watch until the command is ended. `say`: gets the address; `tell`: the state whenever it has changed. Raises NeffBenchError."""

    async def run() -> None:
        bell, token = Bell(), secrets.token_urlsafe(24)

        def changed() -> None:
            bell.ring()
            tell(session.state())

        session = Session(subject, warm, timeout_s, changed)
        config = uvicorn.Config(
            app_of(session, bell, token), log_level="critical", access_log=False, lifespan="off",
            timeout_graceful_shutdown=0,
        )  # fmt: skip
        server = uvicorn.Server(config)
        say(f"http://127.0.0.1:{listening.getsockname()[1]}/{token}/")
        following = asyncio.create_task(_follow(session))
        try:
            await server.serve(sockets=[listening])
        finally:
            following.cancel()
            session.end()

    try:
        listening = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise NeffBenchError(f"--port {port}: {error.strerror}") from None
    with listening:
        asyncio.run(run())


async def _follow(session: Session) -> None:
    """Look now, and whenever a file that matters has changed."""
    seen = _stamps(session)
    session.look()
    while True:
        folders = _folders(session)
        here = [folder for folder in folders if os.path.isdir(folder)]
        async for events in awatch(
            *here, watch_filter=None, recursive=False, step=STEP_MS, debounce=DEBOUNCE_MS, rust_timeout=ANYWAY_MS,
            yield_on_timeout=True, raise_interrupt=False,
        ):  # fmt: skip
            now = _stamps(session)
            changed = [
                file
                for file, stamp in now.items()
                if seen.get(file, stamp) != stamp or _is_new(file, seen, stamp, session)
            ]
            # A file that is being replaced is gone for a moment.
            gone = [] if events else [file for file in seen if file in session.files and file not in now]
            seen = {**seen, **now}
            for file in gone:
                del seen[file]
            if changed or gone:
                session.look()
            if _folders(session) != folders:
                break


def _folders(session: Session) -> set[str]:
    return {os.path.dirname(file) for file in session.files}


Stamp = tuple[int, int, int, int]


def _stamps(session: Session) -> dict[str, Stamp]:
    """Return what a save changes of each file that is there; the last number says when."""
    found = {}
    for file in session.files:
        try:
            status = os.stat(file)
        except OSError:
            continue
        found[file] = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns)
    return found


def _is_new(file: str, seen: dict[str, Stamp], stamp: Stamp, session: Session) -> bool:
    """Say whether a file that was not followed when the look began was saved since then."""
    return file not in seen and stamp[-1] > session.began_ns - CLOCK_NS
