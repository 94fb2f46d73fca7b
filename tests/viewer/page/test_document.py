"""The document, without a browser."""

import json
import re
from dataclasses import replace

from neff_bench.parsers.event_rows import UsageRow
from neff_bench.parsers.event_tables import timeline_of_json
from neff_bench.terminal.answer import Column, Grid
from neff_bench.viewer.page.cases import notes_of
from neff_bench.viewer.page.differences import aligned_lines, by_counter, by_line, by_track
from neff_bench.viewer.page.document import Case, document
from neff_bench.viewer.page.events import Side, events_of
from neff_bench.viewer.page.html import BADGE
from neff_bench.viewer.roofline import Point, roofline
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
    assert re.search(
        r"<dt>bound by</dt><dd>[\w ]+, [0-9.]+ % of the critical path, which is [0-9.]+ us long</dd>", glance
    )
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


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_the_scripts_get_names_places_tracks_and_memory_of_each_case():
    timeline = small()
    timeline.instructions[0].opcode = "EVENT_SEMAPHORE"
    timeline.instructions[2].nki_source_location, timeline.instructions[2].hlo_name = None, "%dot.3"
    usage = [*reversed(timeline.usage), UsageRow(9, "psum", 0.25, "sg00"), UsageRow(9, "other", 0.5, "")]
    side = Side("", replace(timeline, usage=usage), {"kernel.py": "\tx = 1\n"})
    data = data_of(document("t", [Case("a", (side,)), Case("b", problem="none")]).decode())
    first, second = data["cases"]
    assert second == {"name": "b", "simulated": False, "count": 0}
    assert (first["name"], first["simulated"], first["count"], first["aligned"]) == ("a", False, 6, [])
    assert first["names"] == ["EVENT_SEMAPHORE", "MATMUL", "COPY", "lhs", "S[8]"] and first["waits"] == [0]
    assert first["lines"] == ["kernel.py:3", "kernel.py:4", "kernel.py:9", "%dot.3"]
    assert first["stacks"] == [[], [0], [1, 2], [3]]
    assert first["places"] == [[0, 3], [0, 4], [0, 9], None]
    [(file, key)] = first["files"]
    assert file == "kernel.py" and data["texts"] == {key: "    x = 1\n"} and len(key) == 16
    assert [track["title"] for track in first["tracks"]][:2] == ["Q1 hardware core 0", "Sync core 0"]
    assert first["tracks"][2] == {
        "title": "TensorMatrix core 0", "name": "TensorMatrix", "kind": "engine", "family": "tensor", "letter": "", "core": "core 0", "rows": [[3, 4]],
    }  # fmt: skip
    assert first["usage"] == [
        {"title": "other", "memory": "other", "letter": "", "core": "", "values": [9, 0.5]},
        {"title": "PSUM core 0", "memory": "psum", "letter": "", "core": "core 0", "values": [9, 0.25]},
        {"title": "SBUF core 0", "memory": "sbuf", "letter": "", "core": "core 0", "values": [60, 0.5, 600, 0.0]},
    ]
    assert data["dependences"] == ["flow", "anti", "output", "ordered", "other"]
    assert data["psum"] == [0x2000000, 0x3000000] and data["itemBytes"]["bfloat16"] == 2


def test_a_comparison_has_no_advice_and_no_path_and_one_timeline_no_difference():
    roofs, point = roofline("trn2", 1), Point("x", 40.0, 1e12)
    one = document("t", [Case("a", (Side("", small()),), roofs=roofs, points=(point,))]).decode().split("<script")[0]
    two = document("t", [Case("a", (Side("A", small()), Side("B", small())), roofs=roofs, points=(point,))]).decode().split("<script")[0]  # fmt: skip
    titles = [re.findall(r"<h3>([^<]*)</h3>", page) for page in (one, two)]
    shared = ["Source", "Events"]
    assert titles[0] == ["What to do first", *shared, "Source lines and operations", "Advice", "Shares of engines and DMA", "Roofline", "Critical path", "Summary"]  # fmt: skip
    assert titles[1] == [
        "Difference by engine and queue",
        "Difference by source line",
        "Difference by counter",
        *shared,
        "Roofline",
    ]
    assert [re.findall(r'<section class="panel (\w+)">', page) for page in (one, two)] == [
        ["heat", "list", "lines", "advice", "shares", "roofline", "path", "figures"],
        ["tracks", "lines", "counters", "heat", "list", "roofline"],
    ]
    without = document("t", [Case("a", (Side("", small()),), roofs=roofs)]).decode()
    assert "<h3>Roofline</h3>" not in without and '<select id="case">' not in without


def test_several_cases_can_be_chosen_and_rows_have_their_rooflines():
    grid = Grid([Column("case")], [["a"]])
    rooflines = [(roofline("trn2", 1), [Point("x", 40.0, 1e12)])]
    page = document("t", [Case("a", (Side("", small()),)), Case("b", problem="none")], grid, [0], rooflines).decode()
    assert '<select id="case"><option value=0>a</option><option value=1>b</option></select>' in page
    assert "<h3>Roofline of the rows: trn2, LNC 1</h3>" in page and "<h2>Rows</h2>" in page
    assert '<section id="rows">' not in document("t", [Case("b", problem="none")]).decode()


def test_text_of_a_profile_cannot_end_a_script():
    page = document("t", [Case("</script>\u2028\u2029", (Side("", small()),))]).decode()
    data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert "<" not in data and "\u2028" not in data and "\u2029" not in data


def test_a_page_of_two_timelines_aligns_their_lines_and_says_simulated_where_one_of_its_cases_is():
    pair = Case("pair", (Side("A", small()), Side("B", small())))
    simulated = Case("s", (Side("", small(simulated=True)),))
    first, second = data_of(document("t", [pair, simulated]).decode())["cases"]
    assert [len(group) for group in first["aligned"]] == [2] * (len(first["lines"]) // 2) != []
    assert (first["simulated"], second["simulated"]) == (False, True)
    for cases, marks in (([pair], 0), ([pair, simulated], 1), ([simulated], 1)):
        assert document("t", cases).decode().split("<article")[0].count(BADGE) == marks
