"""The page of `neff-bench watch` in a real Chromium."""

import pytest

from tests.doors.watch.watching import INPUTS, KERNEL, Watch
from tools.chromium import Chromium, find_chromium

STATE = "neffBenchWatch.state"


@pytest.fixture(scope="module")
def browser():
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium on this machine; Debian has it as the package chromium")
    found = Chromium(program)
    yield found
    found.close()


@pytest.fixture
def running(tmp_path, browser):
    (tmp_path / "my_kernels.py").write_text(KERNEL)
    found = Watch(tmp_path, "my_kernels.py:scale_rows", *INPUTS)
    yield found
    browser.call("Page.navigate", url="about:blank")  # else the page complains that its server is gone
    found.end()


def text(browser, name):
    return browser.value(f"document.getElementById({name!r}).textContent")


def test_a_save_repaints_the_page_and_keeps_what_is_looked_at(browser, running):
    browser.open(running.address, "window.neffBenchWatch && neffBenchWatch.painted")
    row = browser.value(f"{STATE}.rows[0]")
    low, high = row["total_time_low_us"], row["total_time_high_us"]
    assert text(browser, "number").startswith(f"{row['total_time_us']:.2f} us ({low:.0f}–{high:.0f})")
    inner = "document.querySelector('iframe').contentWindow"
    asked = f"{inner}.location.hash = 'case=0&from=20000&to=21000&event=2'"  # again, where the page has just written its own
    browser.wait(f"{inner}.neffBench.timeline.selected === 2 || void ({asked})")
    seen = browser.value(f"{inner}.neffBench.state()")
    running.save(KERNEL.replace("rows, columns = x.shape", "rows, columns = x.shape\n    rows //= 2"))
    browser.wait(f"{STATE}.save === 2 && neffBenchWatch.painted === 2")
    faster = browser.value(f"{STATE}.rows[0].total_time_us")
    assert (
        faster < row["total_time_us"]
        and f"{faster:.2f} us" in text(browser, "number")
        and "−" in text(browser, "number")
    )
    assert browser.value(f"{inner}.neffBench.state()") == seen
    assert "critical path since the last save" in text(browser, "changes")
    assert browser.errors() == []


def test_a_broken_save_keeps_the_last_good_picture_grey(browser, running):
    browser.open(running.address, "window.neffBenchWatch && neffBenchWatch.painted")
    running.save(KERNEL.replace("nl.multiply", "nl.multiplx"))
    browser.wait(f"{STATE}.broken")
    assert "my_kernels.py:15" in text(browser, "broken")
    assert browser.value("document.querySelector('#pictures.old iframe') !== null")
    running.save(KERNEL)
    browser.wait(f"{STATE}.broken === null && neffBenchWatch.painted === 3")
    assert browser.value("document.querySelector('#pictures.old')") is None


def test_two_tabs_show_the_same_and_a_pin_in_one_is_seen_in_the_other(browser, running):
    other = Chromium(find_chromium())
    try:
        for one in (browser, other):
            one.open(running.address, "window.neffBenchWatch && neffBenchWatch.painted")
        browser.value("document.getElementById('pin').click()")
        other.wait(f"{STATE}.pinned === 1")
        running.save(KERNEL.replace("rows, columns = x.shape", "rows, columns = x.shape\n    rows //= 2"))
        for one in (browser, other):
            one.wait(f"{STATE}.save === 2 && neffBenchWatch.painted === 2 && !{STATE}.busy")
            assert "engines since the pinned save 1" in text(one, "changes")
    finally:
        other.close()


def test_the_picture_over_the_last_one_has_the_tracks_of_both(browser, running):
    browser.open(running.address, "window.neffBenchWatch && neffBenchWatch.painted")
    running.save(KERNEL.replace("rows, columns = x.shape", "rows, columns = x.shape\n    rows //= 2"))
    browser.wait(f"{STATE}.save === 2 && !{STATE}.busy && neffBenchWatch.painted === 2")
    inner = "document.querySelector('iframe:not(.next)').contentWindow"
    browser.value("(() => { const over = document.getElementById('over'); over.value = 'last'; over.onchange(); })()")
    browser.wait("neffBenchWatch.paintedAt === 'picture/2?over=1'")
    tracks = browser.value(f"{inner}.neffBench.timeline.head.tracks.map(one => one.letter)")
    assert {"A", "B"} == set(tracks)
    browser.value("document.getElementById('over').value = ''; document.getElementById('constants').click()")
    browser.wait("neffBenchWatch.paintedAt === 'picture/2?constants'")
    assert "better by a factor of two" in browser.value(f"{inner}.document.body.textContent")
    assert browser.errors() == []


def test_what_a_kernel_says_is_text_and_never_markup(browser, running):
    browser.open(running.address, "window.neffBenchWatch && neffBenchWatch.painted")
    running.save(KERNEL.replace("rows, columns = x.shape", "raise ValueError('<img src=x onerror=alert(1)>')"))
    browser.wait(f"{STATE}.broken")
    assert "<img src=x" in text(browser, "broken") and browser.value("document.querySelector('img')") is None
    browser.value(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.head.append(s); })()"
    )
    assert browser.value("window.ran") is None
    assert any("Content Security Policy" in one for one in browser.errors())
