"""Pages of profiles that others measured and published, where `../shared/data` is there."""

import json
import re
from pathlib import Path

import pytest

from neff_bench.parsers.event_tables import read_timeline
from neff_bench.viewer.page.cases import page_of
from neff_bench.viewer.perfetto import to_perfetto
from tests.viewer.page.profiles import rows_in

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "real"
PROFILES = sorted(DATA.rglob("ntff.json"))


@pytest.mark.skipif(not PROFILES, reason="the published profiles are not here")
def test_a_page_has_as_many_events_as_the_json_of_awss_profiler():
    page = page_of([read_timeline(path, linked=True) for path in PROFILES], ()).decode()
    assert int(re.search(r'neff-bench-events" content="(\d+)"', page)[1]) == sum(map(rows_in, PROFILES))
    assert page.count('<article class="case"') == len(PROFILES) and "Simulated</span>" not in page.split("<template")[0]


@pytest.mark.skipif(not PROFILES, reason="the published profiles are not here")
@pytest.mark.parametrize("path", PROFILES[-3:], ids=lambda path: path.parent.name)
def test_a_perfetto_trace_of_a_published_profile_has_a_slice_for_each_row(path):
    pytest.importorskip("perfetto")
    from tests.viewer.test_perfetto import Read

    tables = json.loads(path.read_bytes())
    rows = [
        (row["timestamp"], row["timestamp"] + row["duration"])
        for name in ("instruction", "dma")
        for row in tables[name]
    ]
    slices = Read(to_perfetto([read_timeline(path, linked=True)])).slices
    assert sorted((begin, end) for _, _, begin, end, _ in slices) == sorted(rows)
