"""The page in a real Chromium, without a network: what it shows, and that nobody's name runs as code."""

import json

import pytest

from neff_bench.parsers.event_tables import read_timeline
from neff_bench.terminal.answer import Column, Grid
from neff_bench.viewer.page.document import Case, document
from neff_bench.viewer.page.events import Side
from tests.viewer.page.profiles import HOSTILE, rows_in, simulated_json, small
from tools.chromium import Chromium, find_chromium

READY = "window.neffBench && neffBench.ready !== null && neffBench.timeline.painted"
PAINTED = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests here."""
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium on this machine; Debian has it as the package chromium")
    found = Chromium(program)
    yield found
    found.close()


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    """A whole-profile JSON of the simulator."""
    return simulated_json(tmp_path_factory.mktemp("profile"))


def shown(browser, path, content):
    """Open a page; it may ask for nothing but itself."""
    path.write_bytes(content)
    browser.open(path, READY)
    assert browser.requests() == [path.resolve().as_uri()] and browser.errors() == []


def event_named(browser, name):
    return browser.value(
        f"(() => {{ const e = neffBench.timeline.events; return e.name.indexOf(e.names.indexOf({json.dumps(name)})); }})()"
    )


def click(browser, event):
    browser.value(f"(neffBench.bring({event}), {PAINTED})")
    place = browser.value(f"neffBench.locate({event})")
    browser.click(place["x"], place["y"])
    browser.wait("document.querySelector('.case.shown .details dl')")
    assert browser.value("neffBench.timeline.selected") == event


def details(browser):
    return browser.value("document.querySelector('.case.shown .details').textContent")


def view(browser):
    return browser.value("[neffBench.timeline.view.from, neffBench.timeline.view.to]")


def test_every_event_is_there_and_an_instruction_tells_its_line(browser, profile, tmp_path):
    timeline = read_timeline(profile, linked=True)
    shown(browser, tmp_path / "page.html", document("title", [Case("case", (Side("", timeline),))]))
    assert browser.value("document.querySelector('meta[name=neff-bench-events]').content") == str(rows_in(profile))
    assert browser.value("neffBench.counts()") == [rows_in(profile)]
    starts = browser.value("[...neffBench.timeline.events.start].sort((a, b) => a - b)")
    assert starts == sorted(
        row.timestamp for table in (timeline.instructions, timeline.dma, timeline.semaphores) for row in table
    )
    click(browser, event_named(browser, "MATMUL"))
    place = browser.value(f"neffBench.locate({event_named(browser, 'MATMUL')})")
    browser.mouse("mouseMoved", place["x"], place["y"])
    browser.wait("!document.querySelector('.case.shown .tip').hidden")
    assert (
        "MATMUL" in (tip := browser.value("document.querySelector('.case.shown .tip').textContent"))
        and "mm.py:2" in tip
    )
    text = details(browser)
    assert "mm.py:2" in text and "stationary=" in text and "waited for" in text and "the last to end" in text
    assert browser.value("document.querySelector('tr[aria-current] td').textContent") == "mm.py:2"
    assert browser.value("document.querySelector('.case.shown h3 .badge').hidden") is False
    at = browser.value("location.hash")
    browser.open(tmp_path / "page.html", f"{READY} && neffBench.timeline.selected >= 0", at=at[1:])
    assert browser.value("neffBench.timeline.selected") == event_named(browser, "MATMUL")


def test_keys_and_wheel_move_the_view_and_a_search_finds_what_python_finds(browser, profile, tmp_path):
    timeline = read_timeline(profile, linked=True)
    shown(browser, tmp_path / "page.html", document("title", [Case("case", (Side("", timeline),))]))
    whole = view(browser)
    spans = [whole]
    for key in "wdsa":
        browser.press(key)
        spans.append(view(browser))
    zoomed, panned = spans[1], spans[2]
    assert zoomed[1] - zoomed[0] < whole[1] - whole[0] and panned[0] > zoomed[0]
    place = browser.value(f"neffBench.locate({event_named(browser, 'MATMUL')})")
    browser.mouse("mouseWheel", place["x"], place["y"], deltaX=0, deltaY=-100)
    browser.wait(f"neffBench.timeline.view.to < {spans[-1][1]}")
    browser.press("f")
    assert view(browser) == whole
    browser.press(".")
    first = browser.value("neffBench.timeline.selected")
    browser.press(".")
    assert browser.value("neffBench.timeline.selected") == first + 1 > 0
    browser.press("Escape")
    browser.value("(() => { const box = document.querySelector('.search'); box.value = 'mm.py:1'; box.oninput(); })()")
    browser.wait("neffBench.timeline.found")
    wanted = sum(
        "mm.py:1" in (row.nki_source_location or "") for table in (timeline.instructions, timeline.dma) for row in table
    )
    assert browser.value("neffBench.timeline.found.count") == wanted > 0
    browser.value("(() => { const box = document.querySelector('.search'); box.value = '/./'; box.oninput(); })()")
    located = sum(bool(row.nki_source_location) for table in (timeline.instructions, timeline.dma) for row in table)
    browser.wait(f"neffBench.timeline.found.count === {located}")
    assert wanted < located < len(timeline.instructions) + len(timeline.dma)
    plane = browser.value(
        "(() => { const b = neffBench.timeline.base.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })()"
    )
    browser.drag(plane[0] + 200, plane[1] + 40, plane[2] - 20, plane[3] - 20)
    browser.wait("document.querySelector('.details table')")
    assert "TensorMatrix sg00" in details(browser)
    assert "mm.py:2" in browser.value("document.querySelector('.details table:last-child').textContent")


def test_names_that_are_markup_are_text_and_a_click_on_a_row_opens_its_case(browser, tmp_path):
    grid = Grid([Column("case"), Column("us", right=True)], [["first", "9"], [HOSTILE, "10"], ["failed", ""]])
    cases = [
        Case("first", (Side("", small()),)),
        Case(HOSTILE, (Side("", small(HOSTILE)),)),
        Case("failed", problem=HOSTILE),
    ]
    shown(browser, tmp_path / "page.html", document(HOSTILE, cases, grid, [0, 1, 2]))
    cells = "[...document.querySelectorAll('#rows tbody tr:not([hidden])')].map(row => row.cells[1].textContent)"
    browser.value("document.querySelectorAll('#rows th button')[1].click()")
    assert browser.value(cells) == ["9", "10", ""]
    browser.value("(() => { const box = document.getElementById('filter'); box.value = 'img'; box.oninput(); })()")
    assert browser.value(cells) == ["10"]
    browser.value("document.querySelector('#rows tbody tr:not([hidden])').click()")
    browser.wait("neffBench.ready === 1 && neffBench.timeline.painted")
    click(browser, event_named(browser, "MATMUL"))
    assert "<img" in details(browser)
    assert browser.value("window.hacked") is None and browser.value("document.querySelector('img')") is None
    assert browser.errors() == []


def test_an_instruction_that_could_not_be_aligned_says_so(browser, tmp_path):
    timeline = small()
    last = timeline.instructions[-1]
    last.nki_source_location, last.alignment = None, "unaligned"
    shown(browser, tmp_path / "page.html", document("title", [Case("case", (Side("", timeline),))]))
    click(browser, event_named(browser, "COPY"))
    assert "could not be laid over the NEFF's" in details(browser)


def test_two_timelines_are_compared_and_printed(browser, tmp_path):
    shown(browser, tmp_path / "page.html", document("diff", [Case("pair", (Side("A", small()), Side("B", small())))]))
    titles = browser.value("neffBench.timeline.lanes.filter(lane => lane.kind === 'track').map(lane => lane.title)")
    assert titles[:2] == ["A Q1 hardware sg00", "B Q1 hardware sg00"]
    browser.value("document.getElementById('theme').click()")
    assert browser.value("document.documentElement.dataset.theme") == "dark"
    assert browser.call("Page.printToPDF")["data"]
    assert browser.errors() == []
