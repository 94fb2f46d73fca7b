"""The document, without a browser."""

import re

from neff_bench.parsers.event_tables import timeline_of_json
from neff_bench.terminal.answer import Column, Grid
from neff_bench.viewer.page.cases import notes_of
from neff_bench.viewer.page.differences import aligned_lines, by_counter, by_line, by_track
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
    case = Case(HOSTILE, (Side("", small(HOSTILE), {f"kernel{HOSTILE}.py": f"\n\n{HOSTILE}\n"}),), notes=(HOSTILE,))
    page = document(HOSTILE, [case, Case(HOSTILE, problem=HOSTILE)], grid, [0]).decode()
    assert "<img" not in page and "\u202e" not in page
    assert (
        page.count("<script") == page.count("</script>") == 4
    )  # the data, two blobs for the case with a timeline, and our own


def test_the_first_screen_says_how_long_what_bounds_it_what_to_do_and_how_busy_the_engines_are(tmp_path):
    timeline = timeline_of_json(simulated_json(tmp_path), linked=True)
    page = document("title", [Case("a", (Side("", timeline),))]).decode()
    glance = page[page.index('class="glance"') : page.index('class="timeline"')]
    total, low, high = (
        timeline.summary[f"{name}total_time"] * 1e6 for name in ("", "simulator_low_", "simulator_high_")
    )
    assert f"<dd>{total:.2f} us ({low:.2f} to {high:.2f})</dd>" in glance
    assert re.search(r"<dt>bound by</dt><dd>[\w ]+, [0-9.]+ % of the critical path</dd>", glance)
    assert 1 <= len(re.findall(r"<li>[^<]+ <b>gain [0-9.]+ us</b></li>", glance)) <= 3
    for name, key in (("Tensor", "tensor_engine_active_time_percent"), ("DMA", "dma_active_time_percent")):
        assert re.search(f"{name}</th>.*?{100 * timeline.summary[key]:.1f} %", glance)


def test_where_the_file_tells_no_path_the_first_screen_says_so_and_names_the_busiest(tmp_path):
    timeline = timeline_of_json(simulated_json(tmp_path))
    glance = document("title", [Case("a", (Side("", timeline),))]).decode()
    shares = {
        name: f"{100 * timeline.summary[f'{key}_active_time_percent']:.1f} %"
        for name, key in (("Tensor", "tensor_engine"), ("DMA", "dma"))
    }
    busiest = max(shares, key=lambda name: float(shares[name].split()[0]))
    said = f"not known: the file does not say which instruction waits for which. The busiest is {busiest}, {shares[busiest]} of the total"
    assert f"<dt>bound by</dt><dd>{said}</dd>" in glance


def test_a_measured_profile_without_a_range_shows_its_total_alone():
    glance = document("title", [Case("a", (Side("", small()),))]).decode()
    assert "<dd>1.00 us</dd>" in glance and "<dd>trn2.48xlarge</dd>" in glance


def test_a_comparison_says_what_differs_by_engine_line_and_counter():
    a, b, c = small(), small(), small()
    b.instructions[1].duration = 500
    b.summary["total_time"] = 2e-6
    sides = [Side("A", a), Side("B", b), Side("C", c)]
    events = events_of(sides)
    cells = r"{}</td><td class=\"n\">0.200</td><td class=\"n\">0.500</td><td class=\"n\">0.200</td><td class=\"n\">\+0.300</td><td class=\"n\">2.5</td><td class=\"n\">\+0.000"
    assert re.search(cells.format("TensorMatrix core 0"), by_track(events, "ABC"))
    assert re.search(cells.format("kernel.py:4"), by_line(events, sides))
    counters = by_counter(sides)
    assert "total_time</td>" in counters and "hbm_read_bytes" not in counters
    assert "the same" in by_counter([sides[0], sides[2]])


def test_lines_are_aligned_by_their_text_and_its_occurrence():
    a, b = small(), small()
    for row, line in zip(b.instructions, (4, 6, 5)):
        row.nki_source_location = f"elsewhere/kernel.py:{line}"
    before, after = "\n\nload()\nwork()\nwork()\n\n\n\ncall()", "\n\n# new\nload()\nwork()\nwork()\n\n\ncall()"
    sides = [Side("A", a, {"kernel.py": before}), Side("B", b, {"elsewhere/kernel.py": after, "kernel.py": after})]
    events = events_of(sides)
    groups = {tuple(events.lines[line] for line in group) for group in aligned_lines(events, sides)}
    assert {("kernel.py:3", "elsewhere/kernel.py:4"), ("kernel.py:4", "elsewhere/kernel.py:5")} <= groups
    assert ("kernel.py:5", "elsewhere/kernel.py:6") in groups and ("kernel.py:9", "kernel.py:9") in groups


def test_lines_whose_text_is_not_known_are_aligned_by_number():
    sides = [Side("A", small()), Side("B", small())]
    events = events_of(sides)
    assert all(events.lines[a] == events.lines[b] for a, b in aligned_lines(events, sides))
