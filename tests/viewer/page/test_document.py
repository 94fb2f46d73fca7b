"""The document, without a browser."""

import re

from neff_bench.parsers.event_tables import timeline_of_json
from neff_bench.terminal.answer import Column, Grid
from neff_bench.viewer.page.cases import notes_of
from neff_bench.viewer.page.differences import by_counter, by_line, by_track
from neff_bench.viewer.page.document import Case, document
from neff_bench.viewer.page.events import Side, events_of
from tests.simulator.programs import ProgramBuilder
from tests.viewer.page.profiles import HOSTILE, simulated_json, small


def test_the_page_counts_its_events_and_names_no_other_address():
    page = document(
        "title", [Case("a", (Side("", small()),)), Case("b", (Side("", small()),)), Case("c", problem="none")]
    ).decode()
    assert '<meta name="neff-bench-events" content="12">' in page
    assert "default-src 'none'" in page
    assert not re.search(r"""(?:src|href)=(?!["']?(?:#|data:,))|https?://|@import|url\(""", page)
    assert "No timeline: none" in page


def test_what_is_simulated_says_so_on_every_view():
    page = document("title", [Case("a", (Side("", small(simulated=True)),))]).decode()
    views = re.findall(r"<h3>[^<]*(?:<span|</h3>)", page.split("<template")[0])
    assert len(views) >= 5 and all(view.endswith("<span") for view in views)
    assert "Simulated</span>" not in document("title", [Case("a", (Side("", small()),))]).decode().split("<template")[0]


def test_operations_that_were_never_compared_are_named_above_the_timeline(tmp_path):
    b = ProgramBuilder()
    tile = b.load_of("x", (128, 1024), "float32")
    b.step("reciprocal", tile, (128, 1024), "float32", "vector")
    b.copy(b.output("out", (128, 1024), "float32"), tile)
    (note,) = notes_of(timeline_of_json(simulated_json(tmp_path, program=b.program())))
    assert note.endswith("never compared with hardware: reciprocal on Vector.")


def test_nothing_of_a_profile_is_markup():
    grid = Grid([Column(HOSTILE)], [[HOSTILE]], [HOSTILE])
    case = Case(
        HOSTILE, (Side("", small(HOSTILE)),), notes=(HOSTILE,), texts={f"kernel{HOSTILE}.py": f"\n\n{HOSTILE}\n"}
    )
    page = document(HOSTILE, [case, Case(HOSTILE, problem=HOSTILE)], grid, [0]).decode()
    assert "<img" not in page and "\u202e" not in page
    assert page.count("<script") == page.count("</script>") == 6  # the data, two blobs for each case, and our own


def test_source_text_stands_with_the_heat_of_its_lines():
    text = "\n".join(f"line {number}" for number in range(1, 30))
    page = document("title", [Case("a", (Side("", small()),), texts={"kernel.py": text})]).decode()
    assert re.search(r'style="--heat:100.0%"[^\n]*?<td class="n">4</td><td class=code>line 4</td>', page)
    assert "line 15<" in page and "line 16<" not in page  # six lines around those that took time


def test_a_comparison_says_what_differs_by_engine_line_and_counter():
    a, b = small(), small()
    b.instructions[1].duration = 500
    b.summary["total_time"] = 2e-6
    events = events_of([Side("A", a), Side("B", b)])
    assert re.search(
        r"TensorMatrix sg00</td><td class=\"n\">0.200</td><td class=\"n\">0.500</td><td class=\"n\">\+0.300",
        by_track(events),
    )
    assert re.search(
        r"kernel.py:4</td><td class=\"n\">0.200</td><td class=\"n\">0.500</td><td class=\"n\">\+0.300", by_line(events)
    )
    assert "total_time</td>" in by_counter(a.summary, b.summary) and "hbm_read_bytes" not in by_counter(
        a.summary, b.summary
    )
    assert "the same" in by_counter(a.summary, a.summary)
