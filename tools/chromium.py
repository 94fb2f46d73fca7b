"""A headless Chromium, driven over the pipe of its DevTools protocol: for the tests of pages and for `bench/page.py`. No package is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
PATIENCE_S = 120.0
"""How long an answer may take; a loaded machine is slow."""


def find_chromium() -> str | None:
    """Return the browser of this machine; None where there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Chromium:
    """A browser without a network and with one page. Events of the page are kept until they are asked for."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        their_read, our_write = os.pipe()
        our_read, their_write = os.pipe()
        options = (
            "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-background-networking"
            " --disable-extensions --disable-component-update --hide-scrollbars --remote-debugging-pipe"
        ).split()
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{their_read} 4>&{their_write}', program, *options, f"--user-data-dir={self._profile}", "about:blank"],
            pass_fds=(their_read, their_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(their_read)
        os.close(their_write)
        self._read, self._write, self._buffer, self._number = our_read, our_write, b"", 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """End the browser and what it kept."""
        self._process.terminate()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> Any:
        """Return the result of a command of the protocol. Raises RuntimeError for its error, TimeoutError when there is no answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def _message(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("the browser does not answer")
            self._buffer += data
        whole, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(whole)
        return message

    def open(
        self, page: Path | str, wait_for: str, width: int = 1600, height: int = 1000, media: str = "", at: str = ""
    ) -> None:
        """Open a file, or an address, and wait until `wait_for`, an expression, is true. `media`: `dark` or `light`. `at`: what stands behind `#` in the address."""
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": media}] if media else []
        self.call("Emulation.setEmulatedMedia", media="", features=features)
        address = page if isinstance(page, str) else page.resolve().as_uri()
        self.call("Page.navigate", url=address + (f"#{at}" if at else ""))
        self.wait(wait_for)

    def value(self, expression: str) -> Any:
        """Return what an expression gives, awaited. Raises RuntimeError for an exception in the page."""
        done = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{expression}: {done['exceptionDetails'].get('exception', {}).get('description')}")
        return done["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until an expression is true. Raises TimeoutError."""
        end = time.monotonic() + PATIENCE_S
        while not self.value(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(f"the page never came to {condition}")
            time.sleep(0.02)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Send `mousePressed`, `mouseMoved`, `mouseReleased` or `mouseWheel` at a point of the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        """Click the left button, at a point of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def drag(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """Drag the left button from a point to another."""
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for part in (0.5, 1.0):
            self.mouse("mouseMoved", x + part * (to_x - x), y + part * (to_y - y), button="left", buttons=1)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press a key, by the name that the page gets."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def tab(self) -> None:
        """Press the key that goes to the next control."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)

    def screenshot(self, path: Path, whole: bool = False, clip: dict[str, float] | None = None) -> None:
        """Return a PNG of the window, of the whole page, or of a part of it."""
        part = {"clip": clip} if clip else {}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole or bool(clip), **part)[
            "data"
        ]
        path.write_bytes(base64.b64decode(data))

    def requests(self) -> list[str]:
        """Return the addresses that the page asked for since it was opened, its own first."""
        sent = [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in sent if not url.startswith("data:")]

    def errors(self) -> list[str]:
        """Errors and warnings of the console, and exceptions, since the page was opened."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"].get("exception", {}).get("description")))
            elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in (
                "error",
                "warning",
                "assert",
            ):
                found.append(str(parameters["args"]))
            elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
        return found


def main() -> None:
    """Write a PNG of the timeline of a page of ours, with what lies below it where an event is named: `python -m tools.chromium 'report.html#case=3&event=120' page.png`."""
    address, picture = sys.argv[1:]
    page, _, at = address.partition("#")
    program = find_chromium()
    if program is None:
        sys.exit(f"chromium: no browser on the path, tried {', '.join(PROGRAMS)}")
    browser = Chromium(program)
    try:
        browser.open(
            Path(page),
            "window.neffBench && neffBench.firstPaintMs",
            width=1280 if at else 1000,
            height=1000,
            media="light",
            at=at,
        )
        browser.value("document.querySelector('.case.shown .timeline').scrollIntoView()")
        if "event=" in at:
            browser.wait("document.querySelector('#side .details dl')")
        browser.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        box = browser.value(
            "(({x, y, width, height}) => ({x: x + scrollX, y: y + scrollY, width, height, scale: 1}))(document.querySelector('.case.shown .timeline').getBoundingClientRect())"
        )
        browser.screenshot(Path(picture), clip=None if "event=" in at else box)
    finally:
        browser.close()


if __name__ == "__main__":
    main()
