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
