"""Pages judged in a real Chromium: `python -m tools.pages STORE_OR_PROFILE...`.

A store is profiled into one page (`profile-neffs STORE --output`), any other argument is given to `neff-bench view` as it stands; words joined by a comma go
together (`file.neff,profile.ntff`). For each page: its number of events is that of the JSON, counted without our readers, where there is a JSON; for each case, clicking an
instruction tells its opcode and its source line, and where it has none, how to get it; nothing stands in the console; nothing but the page is asked for.
Exit code 1 when something of it is wrong.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.chromium import PROGRAMS, Chromium, find_chromium

TABLES = ("instruction", "dma", "semaphore_update")
CHOSEN = """
(() => {
  const e = neffBench.timeline.events;
  let plain = -1;
  for (let i = 0; i < e.count; i++) {
    if (e.stack[i] && /MATMUL|ACTIVATE|COPY/.test(e.names[e.name[i]])) return [i, e.names[e.name[i]], e.lines[e.stacks[e.stack[i]][0]]];
    if (plain < 0 && /MATMUL/.test(e.names[e.name[i]])) plain = i;
  }
  return [plain, plain < 0 ? "" : e.names[e.name[plain]], null];
})()
"""
PAINTED = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def main() -> int:
    program = find_chromium()
    if program is None:
        raise SystemExit(f"no Chromium: none of {', '.join(PROGRAMS)} on PATH")
    wrong = 0
    browser = Chromium(program)
    try:
        with tempfile.TemporaryDirectory() as directory:
            for number, words in enumerate(sys.argv[1:]):
                page = Path(directory, f"{number}.html")
                profiles = write(words.split(","), page)
                lines: list[str | None] = []
                found = list(judge(browser, page, profiles, lines))
                wrong += bool(found)
                told = "; ".join(found) or "good"
                size, clicked = page.stat().st_size / 1e6, [line for line in lines if line]
                cases = f"{len(lines)} cases clicked, {len(clicked)} with a line ({', '.join(clicked[:2])})"
                print(f"{words}: {size:.1f} MB, {events_said(page)} events, {cases}: {told}")
    finally:
        browser.close()
    return 1 if wrong else 0


def write(words: Sequence[str], page: Path) -> list[Path]:
    """Write the page; returns the profile JSONs behind it."""
    store = Path(words[0])
    is_store = store.is_dir() and bool([*store.glob("*/case.json")])
    command = ["stage2_profile.cli", str(store)] if is_store else ["cli", "view", *words]
    done = subprocess.run(
        [sys.executable, "-m", f"neff_bench.{command[0]}", *command[1:], "--output", str(page)],
        capture_output=True,
        text=True,
        check=False,
    )
    if not page.is_file():
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip().splitlines()[-1]}")
    if not is_store:
        return [Path(word) for word in words if word.endswith(".json")]
    newest = {
        path.parents[2]: path
        for path in sorted(store.glob("*/profiles/*/profile-*.json"), key=lambda path: int(path.parent.name))
    }
    return list(newest.values())


def events_said(page: Path) -> int:
    head = page.read_text().partition('neff-bench-events" content="')[2]
    return int(head.partition('"')[0])


def judge(browser: Chromium, page: Path, profiles: Sequence[Path], lines: list[str | None]) -> Iterator[str]:
    """Yield what is wrong. `lines`: gets the line of each click."""
    browser.open(page, "window.neffBench && neffBench.ready !== null")
    if profiles:
        counted = sum(len(json.loads(path.read_bytes()).get(name, ())) for path in profiles for name in TABLES)
        if events_said(page) != counted:
            yield f"{events_said(page)} events, the JSON has {counted}"
    counts = browser.value("neffBench.counts()")
    for case, count in enumerate(counts):
        if not count:
            continue
        browser.value(f"location.hash = 'case={case}'")
        browser.wait(f"neffBench.ready === {case} && neffBench.timeline && neffBench.timeline.painted")
        event, opcode, line = browser.value(CHOSEN)
        if event < 0:
            continue
        lines.append(line)
        browser.value(
            f"(document.querySelector('.case.shown .timeline').scrollIntoView(), neffBench.bring({event}), {PAINTED})"
        )
        place = browser.value(f"neffBench.locate({event})")
        browser.click(place["x"], place["y"])
        browser.wait("document.querySelector('.case.shown .details dl')")
        text = browser.value("document.querySelector('.case.shown .details').textContent")
        if opcode not in text:
            yield f"case {case}: a click on event {event} does not tell {opcode}"
        if line is not None and line not in text:
            yield f"case {case}: a click on event {event} does not tell {line}"
        if (
            line is None
            and "NKI_DEBUG_INFO" not in browser.value("document.querySelector('.case.shown').textContent")
            and "HLO" not in text
        ):
            yield f"case {case}: no line, and not how to get one"
    yield from (f"console: {error}" for error in browser.errors())
    yield from (
        f"request: {address}" for address in browser.requests() if address.partition("#")[0] != page.resolve().as_uri()
    )


if __name__ == "__main__":
    sys.exit(main())
