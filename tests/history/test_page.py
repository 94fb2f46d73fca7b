"""The page of a history holds what the database holds, and opens in a browser."""

import base64
import json
import re
import shutil
import subprocess
from array import array

import pytest

from neff_bench.history import database, page
from neff_bench.history.database import SeriesKey
from neff_bench.history.errors import HistoryError

CHROMIUM = shutil.which("chromium")
BROWSER = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--virtual-time-budget=5000", "--dump-dom",
]  # fmt: skip


@pytest.fixture
def directory(tmp_path):
    with database.opened(tmp_path / "h", write=True) as connection:
        for number in range(12):
            rows = [
                (
                    SeriesKey("a</script>", "simulated", "m", ""),
                    "a</script><b>",
                    {"total_time_us": 30.0 + (number > 5)},
                    {},
                ),
                (SeriesKey("b", "measured", "t", "trn2"), "b", {"total_time_us": 10 + 0.01 * (number % 3)}, {}),
            ]
            database.add(connection, f"{number:040x}", f"2026-01-{number + 1:02d}T00:00:00+00:00", "subject", rows)
    return tmp_path / "h"


def unpack(places, values):
    whole, where, data = page.packed(places, values)
    count = where[1] - where[0] + 1 if whole else len(where)
    if isinstance(data, str):
        return list(array("f", base64.b64decode(data)))
    out = [0.0] * count
    for at, value in zip(data[::2], data[1::2], strict=True):
        out[at:] = [value] * (count - at)
    return out


@pytest.mark.parametrize("values", [[1.0] * 9, [1.0] * 8 + [2.0], [float(n) for n in range(9)], [3.0]])
def test_packed_values_come_back(values):
    assert unpack(list(range(len(values))), values) == values


def test_data_cannot_end_its_script_element(directory, tmp_path):
    page.write(directory, tmp_path / "h.html", None)
    text = (tmp_path / "h.html").read_text()
    assert text.count("</script>") == 1
    data = json.loads(re.search(r"const data = (.*);\n", text).group(1))
    assert "a</script><b>" in [series[0] for series in data["series"].values()]


def test_the_page_loads_nothing(directory, tmp_path):
    page.write(directory, tmp_path / "h.html", None)
    assert re.findall(r"""(?:src|href)=["']""", (tmp_path / "h.html").read_text()) == []


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_shows_the_series_and_the_changes(directory, tmp_path):
    page.write(directory, tmp_path / "h.html", "https://example.org/commit/{sha}")
    words = [CHROMIUM, *BROWSER, f"--user-data-dir={tmp_path / 'profile'}", (tmp_path / "h.html").as_uri()]
    dom = subprocess.run(words, capture_output=True, text=True, timeout=120).stdout
    assert 'data-ready="true"' in dom
    assert "2 of 2 series" in dom
    assert f"https://example.org/commit/{6:040x}" in dom
    assert "+3.33 %" in dom


@pytest.mark.parametrize(
    ("places", "whole", "where"), [([3, 4, 5], 1, [3, 5]), ([3, 4, 6], 0, [3, 4, 6]), ([7], 1, [7, 7])]
)
def test_places_are_a_range_where_no_commit_is_missing(places, whole, where):
    assert page.packed(places, [1.0] * len(places))[:2] == [whole, where]


def test_many_changes_are_kept_as_base64_and_few_as_steps():
    assert page.packed([0, 1, 2, 3], [1.0, 1.0, 2.0, 2.0])[2] == [0, 1.0, 2, 2.0]
    assert isinstance(page.packed([0, 1, 2, 3], [1.0, 2.0, 1.0, 2.0])[2], str)


@pytest.mark.parametrize("link", ["ftp://host/{sha}", "https://host/commit", "{sha}"])
def test_a_link_is_the_address_of_a_commit(directory, tmp_path, link):
    with pytest.raises(HistoryError, match="expected an address"):
        page.write(directory, tmp_path / "page.html", link)


def test_line_separators_of_unicode_are_escaped_in_a_script():
    assert page._script_safe("<\u2028\u2029".encode()) == r"\u003c\u2028\u2029"


def test_the_page_has_every_commit_series_and_change(tmp_path):
    """A commit is its place, also where a series has no value at some of them."""
    key, other = SeriesKey("a", "simulated", "m", ""), SeriesKey("b", "measured", "t", "mine")
    with database.opened(tmp_path, write=True) as connection:
        for number, value in enumerate((None, 1.0, 1.0, None, 2.0)):
            rows = [(other, "B", {"mfu_percent": 7.0}, {})]
            rows += [] if value is None else [(key, "A", {"total_time_us": value}, {})]
            database.add(connection, f"c{number}", f"2026-01-0{9 - number}", f"s{number}", rows)
    assert page.content(tmp_path, "https://x/{sha}") == {
        "link": "https://x/{sha}",
        "commits": [[f"c{number}", f"2026-01-0{9 - number}", f"s{number}"] for number in (4, 3, 2, 1, 0)],
        "series": {"1": ["B", "measured", "t", "mine", "b"], "2": ["A", "simulated", "m", "", "a"]},
        "lines": [
            [1, "mfu_percent", page.packed([0, 1, 2, 3, 4], [7.0] * 5), []],
            [2, "total_time_us", page.packed([0, 2, 3], [2.0, 1.0, 1.0]), [[2, 2.0, 1.0, "better"]]],
        ],
    }


@pytest.mark.parametrize(("changes", "steps"), [(1, True), (2, True), (3, False)])
def test_steps_are_kept_up_to_a_quarter_of_the_values(changes, steps):
    """Eight values: three steps at most, the first of which is the first value."""
    values = [float(min(at, changes)) for at in range(8)]
    assert isinstance(page.packed(list(range(8)), values)[2], list) == steps
    assert unpack(list(range(8)), values) == values


@pytest.mark.parametrize("link", [None, "http://host/{sha}", "https://host/{sha}#x"])
def test_a_page_is_written_with_a_link_or_without(directory, tmp_path, link):
    page.write(directory, tmp_path / "page.html", link)
    data = json.loads(re.search(r"const data = (.*);\n", (tmp_path / "page.html").read_text()).group(1))
    assert data["link"] == link
