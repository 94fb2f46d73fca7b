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
CTRL = 2  # of the DevTools protocol's modifiers
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
    browser.value(
        f"(neffBench.timeline.host.scrollIntoView({{block: 'nearest'}}), neffBench.bring({event}), {PAINTED})"
    )
    place = browser.value(f"neffBench.locate({event})")
    browser.click(place["x"], place["y"])
    browser.wait("document.querySelector('#side .details dl')")
    assert browser.value("neffBench.timeline.selected") == event


def find(browser, text):
    browser.value(
        f"(() => {{ const box = document.querySelector('.case.shown .search'); box.value = {json.dumps(text)}; box.oninput(); }})()"
    )


def details(browser):
    return browser.value("document.querySelector('#side .details').textContent")


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
    assert browser.value("document.querySelector('.lines tr[aria-current] td').textContent") == "mm.py:2"
    assert browser.value("document.querySelector('.case.shown h3 .badge').hidden") is False


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
    browser.mouse("mouseWheel", place["x"], place["y"], deltaX=0, deltaY=-100, modifiers=CTRL)
    browser.wait(f"neffBench.timeline.view.to < {spans[-1][1]}")
    browser.press("f")
    assert view(browser) == whole
    browser.press(".")
    first = browser.value("neffBench.timeline.selected")
    browser.press(".")
    assert browser.value("neffBench.timeline.selected") == first + 1 > 0
    browser.press("Escape")
    find(browser, "mm.py:1")
    browser.wait("neffBench.timeline.found")
    wanted = sum(
        "mm.py:1" in (row.nki_source_location or "") for table in (timeline.instructions, timeline.dma) for row in table
    )
    assert browser.value("neffBench.timeline.found.count") == wanted > 0
    find(browser, "/./")
    located = sum(bool(row.nki_source_location) for table in (timeline.instructions, timeline.dma) for row in table)
    browser.wait(f"neffBench.timeline.found.count === {located}")
    assert wanted < located < len(timeline.instructions) + len(timeline.dma)
    plane = browser.value(
        "(() => { const b = neffBench.timeline.base.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })()"
    )
    browser.drag(plane[0] + 200, plane[1] + 40, plane[2] - 20, plane[3] - 20)
    browser.wait("document.querySelector('#side table')")
    assert "TensorMatrix core 0" in details(browser)
    assert "mm.py:2" in browser.value("document.querySelector('#side table:last-child').textContent")


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


def test_profiles_are_compared_event_by_event_and_printed(browser, tmp_path):
    later = small()
    later.instructions[1].timestamp, later.instructions[1].duration = 310, 500
    sides = (Side("A", small()), Side("B", later), Side("C", small()))
    shown(browser, tmp_path / "page.html", document("diff", [Case("three", sides)]))
    titles = browser.value("neffBench.timeline.lanes.filter(lane => lane.kind === 'track').map(lane => lane.title)")
    assert titles[:3] == ["A Q1 hardware core 0", "B Q1 hardware core 0", "C Q1 hardware core 0"]
    click(browser, event_named(browser, "MATMUL"))
    browser.wait("document.querySelector('#side').textContent.includes('the same in C')")
    assert "B begins +0.010 us, takes +0.300 us" in details(browser).replace("MATMUL, B TensorMatrix core 0", "B")
    browser.value("document.querySelector('.lines tr[data-line]').click()")
    browser.wait("neffBench.timeline.found")
    assert browser.value("neffBench.timeline.found.count") == 3  # on each side
    browser.value("document.getElementById('theme').click()")
    assert browser.value("document.documentElement.dataset.theme") == "dark"
    assert browser.call("Page.printToPDF")["data"]
    assert browser.errors() == []


def test_a_click_on_a_row_brings_the_timeline_into_the_window_and_tabs_reach_it(browser, profile, tmp_path):
    timeline = read_timeline(profile, linked=True)
    grid = Grid([Column("case"), Column("us", right=True)], [[f"case {number}", str(number)] for number in range(40)])
    cases = [Case(f"case {number}", (Side("", timeline),), notes=("note " * 40,)) for number in range(2)]
    page = document("title", cases, grid, [0, 1, *[None] * 38])
    (tmp_path / "page.html").write_bytes(page)
    browser.open(tmp_path / "page.html", READY, width=1280, height=800)
    presses = 0
    while browser.value("document.activeElement.className") != "base":
        browser.tab()
        presses += 1
        assert presses <= 5
    browser.value("document.querySelectorAll('#rows tbody tr')[1].click()")
    browser.wait("neffBench.ready === 1 && scrollY > 0")
    assert 0 <= browser.value("neffBench.timeline.base.getBoundingClientRect().top") < 800
    click(browser, event_named(browser, "MATMUL"))
    browser.value("scrollTo(0, document.documentElement.scrollHeight)")
    box = browser.value("(({top, bottom}) => [top, bottom])(document.getElementById('side').getBoundingClientRect())")
    assert box[0] >= 0 and box[1] <= 800


def test_the_wheel_scrolls_the_tracks_and_then_the_page(browser, profile, tmp_path):
    timeline = read_timeline(profile, linked=True)
    (tmp_path / "page.html").write_bytes(document("title", [Case("case", (Side("", timeline),))]))
    browser.open(tmp_path / "page.html", READY, width=1280, height=500)
    whole = view(browser)
    box = browser.value("(({left, top}) => [left, top])(neffBench.timeline.base.getBoundingClientRect())")
    for condition in ("neffBench.timeline.scroll > 0", "scrollY > 0"):
        browser.mouse("mouseWheel", box[0] + 400, box[1] + 60, deltaX=0, deltaY=2000)
        browser.wait(condition)
    assert view(browser) == whole


def test_two_fingers_zoom(browser, profile, tmp_path):
    timeline = read_timeline(profile, linked=True)
    shown(browser, tmp_path / "page.html", document("title", [Case("case", (Side("", timeline),))]))
    whole = view(browser)
    box = browser.value("(({left, top}) => [left, top])(neffBench.timeline.base.getBoundingClientRect())")
    for kind, apart in (("touchStart", 100), ("touchMove", 150), ("touchMove", 200), ("touchEnd", None)):
        points = (
            []
            if apart is None
            else [{"x": box[0] + 500 + side * apart, "y": box[1] + 60, "id": side + 1} for side in (0, 1)]
        )
        browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
    browser.wait(f"neffBench.timeline.view.to - neffBench.timeline.view.from < {0.7 * (whole[1] - whole[0])}")


def test_a_link_shows_what_its_sender_saw(browser, profile, tmp_path):
    timeline = read_timeline(profile, linked=True)
    shown(
        browser, tmp_path / "page.html", document("title", [Case("a", problem="no"), Case("b", (Side("", timeline),))])
    )
    click(browser, event_named(browser, "MATMUL"))
    find(browser, "mm.py")
    for key in "wwd":
        browser.value("neffBench.timeline.base.focus()")
        browser.press(key)
    seen = "JSON.stringify((({from, to, event, find, case: of}) => [from, to, event, find, of])(neffBench.state()))"
    sent = browser.value(seen)
    browser.wait(f"location.hash.includes('find=mm.py') && location.hash.includes('from={json.loads(sent)[0]}&')")
    at = browser.value("location.hash")
    browser.open(tmp_path / "page.html", f"{READY} && neffBench.timeline.selected >= 0", at=at[1:])
    assert browser.value(seen) == sent
    assert browser.value("neffBench.timeline.found.count") > 0


def test_the_whole_source_is_linked_with_the_timeline(browser, profile, tmp_path):
    timeline = read_timeline(profile, linked=True)
    text = "\n".join(f"line {number}" for number in range(1, 300))
    shown(browser, tmp_path / "page.html", document("title", [Case("case", (Side("", timeline, {"mm.py": text}),))]))
    rows = "[...document.querySelectorAll('.sources tbody tr')]"
    assert browser.value(f"{rows}.length") == 299
    hot = browser.value(f"{rows}.filter(row => row.dataset.line).map(row => row.cells[2].textContent)")
    assert hot == sorted(
        {str(row.nki_source_location).partition(":")[2] for row in timeline.instructions if row.nki_source_location},
        key=int,
    )
    browser.value(f"{rows}.find(row => row.cells[2].textContent === '2').click()")
    browser.wait("neffBench.timeline.found")
    assert browser.value("neffBench.timeline.found.count") == sum(
        row.nki_source_location == "mm.py:2" for table in (timeline.instructions, timeline.dma) for row in table
    )
    click(browser, event_named(browser, "MATMUL"))
    browser.wait("document.querySelector('.sources tr[aria-current]')")
    assert browser.value("document.querySelector('.sources tr[aria-current] .code').textContent") == "line 2"


def test_events_are_filtered_sorted_and_saved_as_csv(browser, tmp_path):
    timeline = small()
    timeline.instructions[2].opcode = "=HYPERLINK()"
    shown(browser, tmp_path / "page.html", document("title", [Case("case", (Side("", timeline),))]))
    cells = "[...document.querySelectorAll('.events tbody tr')].map(row => row.cells[1].textContent)"
    for text, wanted in (("bytes>=2048", ["lhs", "lhs"]), ("track=tensor us>0.1", ["MATMUL"]), ("MATMUL COPY", [])):
        find(browser, text)
        browser.wait(f"document.querySelectorAll('.events tbody tr').length === {len(wanted)}")
        assert browser.value(cells) == wanted
    find(browser, "")
    browser.wait("document.querySelectorAll('.events tbody tr').length === 6")
    for _ in range(2):
        browser.value("document.querySelectorAll('.events th button')[3].click()")  # the longest first
    assert (
        browser.value(cells)[0] == "lhs"
        and browser.value("document.querySelectorAll('.events th')[3].ariaSort") == "descending"
    )
    find(browser, "kernel.py")
    browser.wait("document.querySelectorAll('.events tbody tr').length === 3")
    lines = browser.value("neffBench.csv()").splitlines()
    assert len(lines) == 4 and lines[0].startswith('"track","event","begin us"')
    assert any("\"'=HYPERLINK()\"" in line for line in lines)  # no formula in a spreadsheet
    browser.value("document.querySelector('.events tbody tr').click()")
    assert browser.value("neffBench.timeline.selected") >= 0


def test_the_pointer_over_a_memory_tells_what_lives_there(browser, profile, tmp_path):
    shown(
        browser,
        tmp_path / "page.html",
        document("title", [Case("case", (Side("", read_timeline(profile, linked=True)),))]),
    )
    product = event_named(browser, "MATMUL")
    place = browser.value(
        f"(() => {{ const t = neffBench.timeline, box = t.base.getBoundingClientRect(), lane = t.lanes.find(one => one.title.startsWith('PSUM'));"
        f" return [neffBench.locate({product}).x, box.top + lane.y - t.scroll + 8]; }})()"
    )
    browser.mouse("mouseMoved", *place)
    browser.wait("document.querySelector('.case.shown .tip').textContent.includes('a partition')")
    assert "PSUM" in browser.value("document.querySelector('.case.shown .tip').textContent")
    browser.click(*place)
    browser.wait("document.querySelector('#side table')")
    assert "written" in details(browser) and "KiB" in details(browser)


@pytest.mark.parametrize("media", ["light", "dark"])
def test_everybody_can_read_and_reach_the_page(browser, profile, tmp_path, media):
    grid = Grid([Column("a long name of a column " * 3), Column("us", right=True)], [["x" * 200, "10"]])
    case = Case("c" * 90, (Side("", read_timeline(profile, linked=True)),), notes=("n" * 300,))
    (tmp_path / "page.html").write_bytes(document("t" * 60, [case, case], grid, [0]))
    browser.open(tmp_path / "page.html", READY, width=400, height=800, media=media)
    assert browser.value("document.documentElement.scrollWidth") <= 400
    click(browser, event_named(browser, "MATMUL"))
    assert browser.value("document.documentElement.scrollWidth") <= 400
    assert browser.value(UNNAMED) == [] and browser.value(FAINT) == []


UNNAMED = """[...document.querySelectorAll("button, input, select, canvas:not([aria-hidden]), a, dialog, aside, svg[role]")].filter(one => !one.closest("template"))
  .filter(one => !(one.textContent.trim() || one.ariaLabel || one.labels?.length)).map(one => one.outerHTML)"""
FAINT = """(() => {
  const light = color => { const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = one => { const color = getComputedStyle(one).backgroundColor; return /, 0\\)$/.test(color) ? one.parentElement ? behind(one.parentElement) : "rgb(255, 255, 255)" : color; };
  const texts = [...document.querySelectorAll("body *")].filter(one => one.checkVisibility() && [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim()));
  return texts.filter(one => { const [a, b] = [getComputedStyle(one).color, behind(one)].map(light).sort((x, y) => y - x); return (a + 0.05) / (b + 0.05) < 4.5; })
    .map(one => one.outerHTML.slice(0, 200));
})()"""
