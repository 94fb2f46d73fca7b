"""What `inspect` says of a profile and of a directory."""

from pathlib import Path

import pytest

from neff_bench.parsers.describe import describe_profile, files_under
from neff_bench.parsers.metadata import Metadata
from neff_bench.parsers.summary import Summary

UNKNOWN = Metadata(None, None, None, None, None, None, None)


def test_a_profile_is_told_by_what_is_known_of_it():
    summary = Summary(total_time_s=1e-5, dma_active_time_s=4e-6, dma_active_time_fraction=0.4, is_simulation=True)
    found = describe_profile(Path("p.json"), summary, UNKNOWN)
    assert (found["kind"], found["path"], found["is_simulation"]) == ("profile", "p.json", True)
    assert found["summary"] == {
        "total_time_s": 1e-5, "dma_active_time_s": 4e-6, "dma_active_time_fraction": 0.4, "is_simulation": True
    }  # fmt: skip
    assert found["metadata"] == dict.fromkeys(UNKNOWN.__dataclass_fields__)
    assert (found["suspect"], found["warnings"], found["self_check"]) == ([], [], {"checked": 1, "disagreements": []})


def test_a_first_execution_is_a_warning_and_a_figure_that_cannot_be_a_suspect_one():
    summary = Summary(
        total_time_s=2e-3, dma_active_time_s=5e-6, tensor_engine_active_time_s=1e-6, mfu_estimated_fraction=9.0
    )
    found = describe_profile(Path("p.json"), summary, UNKNOWN)
    [warning] = found["warnings"]
    assert "active for at most 6 of 2000 us: this looks like a first (cold) execution" in warning
    assert found["suspect"] == ["mfu_estimated_percent is 900% of the peak, which no device reaches"]


def test_a_figure_that_its_counters_do_not_give_is_told_with_both():
    summary = Summary(total_time_s=1e-5, dma_active_time_s=4e-6, dma_active_time_fraction=0.5)
    [one] = describe_profile(Path("p.json"), summary, UNKNOWN)["self_check"]["disagreements"]
    assert one == {"name": "dma_active_time_fraction", "stated": 0.5, "computed": pytest.approx(0.4)}


def test_the_files_of_a_directory_are_those_that_a_reader_may_know_in_order(tmp_path):
    names = ["b.NEFF", "a.ntff", "x.txt", "d/c.json", ".hidden/e.json", "d/f.hlo", "p/Summary.parquet", "p/Other.json"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [str(path.relative_to(tmp_path)) for path in files_under(tmp_path, [])]
    assert found == ["a.ntff", "b.NEFF", "d/c.json", "d/f.hlo", "p"]
    assert files_under(tmp_path / "p", []) == [tmp_path / "p"]
    assert files_under(tmp_path / "x.txt", []) == [tmp_path / "x.txt"]
