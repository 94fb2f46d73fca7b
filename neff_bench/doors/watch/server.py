"""Serves the page of a watch: on this machine alone, for whoever knows the token in its address. A request can change nothing but the pin."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from neff_bench.doors.watch.session import Session

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HERE = Path(__file__).parent
FILES = {"/": "watch.html", "/watch.js": "watch.js", "/watch.css": "watch.css"}
HOSTS = ("127.0.0.1", "localhost", "[::1]")
"""Whatever the port: it may be forwarded. A page of another name that leads here is refused."""
DIGITS = 10
"""The number of a save has fewer."""
OWN = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; img-src data:"
PICTURE = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
ALWAYS = "; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"


class Bell:
    """Wakes everybody who waits for a change."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Tell that something has changed."""
        self._event.set()
        self._event = asyncio.Event()

    async def heard(self) -> None:
        """Wait for the next change."""
        await self._event.wait()


def app_of(session: Session, bell: Bell, token: str) -> ASGIApp:
    """Return the pages of a session, below the token."""

    async def picture(request: Request) -> Response:
        number, asked = _number(request.path_params["save"]), request.query_params
        over, constants = _number(asked["over"]) if "over" in asked else None, "constants" in asked
        save = session.saves.get(number)
        page = save.page if save else None
        if over is not None or constants:
            drawing = session.drawing(number, over, constants)
            page = await asyncio.to_thread(session.draw, drawing) if drawing else None
        if page is None:
            return PlainTextResponse("this save is not kept any more", 404)
        return Response(page, media_type="text/html", headers={"content-security-policy": PICTURE + ALWAYS})

    async def events(_: Request) -> Response:
        return EventSourceResponse(_states(session, bell))

    async def pin(request: Request) -> Response:
        text = request.query_params.get("save", "")
        if not session.pin(_number(text) if text else None):
            return PlainTextResponse("no such save", 404)
        return Response(status_code=204)

    routes = [
        *(Route(path, _own(name)) for path, name in FILES.items()),
        Route("/events", events),
        Route("/picture/{save}", picture),
        Route("/pin", pin, methods=["POST"]),
    ]
    return _guarded(Starlette(routes=routes), token)


def _number(text: str) -> int:
    """Return the number of a save; -1, which none has, for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < DIGITS else -1


def _own(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        return FileResponse(HERE / name, headers={"content-security-policy": OWN + ALWAYS})

    return answer


async def _states(session: Session, bell: Bell) -> AsyncIterator[dict[str, str]]:
    while True:
        yield {"data": msgspec.json.encode(session.state()).decode()}
        await bell.heard()


def _guarded(inner: ASGIApp, token: str) -> ASGIApp:
    """Refuse what does not come from a page of ours."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refused = _refusal(scope, token)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    (b"referrer-policy", b"no-referrer"),
                    (b"x-content-type-options", b"nosniff"),
                    (b"cross-origin-resource-policy", b"same-origin"),
                    (b"cross-origin-opener-policy", b"same-origin"),
                    (b"cache-control", b"no-store"),
                ]
            await send(message)

        if refused is not None:
            await PlainTextResponse(refused[1], refused[0])(scope, receive, sent)
            return
        await inner({**scope, "path": scope["path"][len(token) + 1 :]}, receive, sent)

    return app


def _refusal(scope: Scope, token: str) -> tuple[int, str] | None:
    """Return status and reason, None for a request that may pass."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    host = headers.get("host", "")
    if host.rpartition(":")[0] not in HOSTS and host not in HOSTS:
        return 400, "unknown host"
    if not compare_digest(scope["path"].removeprefix("/").partition("/")[0].encode(), token.encode()):
        return 403, "wrong token"
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return 403, "not from another site"
    if headers.get("origin", f"http://{host}") != f"http://{host}":
        return 403, "not from another origin"
    return None
