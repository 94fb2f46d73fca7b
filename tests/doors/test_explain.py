"""`neff-bench explain`: of several cases, and of words."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from neff_bench.chips import CHIPS
from neff_bench.doors import explain_cli
from neff_bench.doors.explain_cli import explain, words
from neff_bench.simulator.chips import what_if
from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.timing.interval import SURE, sure_ratio
from neff_bench.stage1_generate.cli import generate
from neff_bench.stage2_profile.metrics.rows import METRICS, NAMES

KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    return out
"""
SHAPES = """cases:
  - {kernel: copy.py:copy, implementation: nki, target: trn2, inputs: {x: {shape: [128, 64], dtype: bfloat16}}}
  - {kernel: copy.py:copy, implementation: nki, target: trn2, inputs: {x: {shape: [128, 128], dtype: bfloat16}}}
"""


def told(*arguments: str) -> str:
    done = CliRunner().invoke(explain, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    (folder / "copy.py").write_text(KERNEL)
    (folder / "mine.yaml").write_text(SHAPES)
    built = CliRunner().invoke(generate, ["--shapes", str(folder / "mine.yaml"), "--out", str(folder / "neffs")])
    assert built.exit_code == 0, built.output
    return folder / "neffs"


def test_a_store_or_several_neffs_are_explained_one_case_after_the_other(store):
    names = sorted(path.parent.name for path in store.glob("*/file.neff"))
    of_store = told(str(store))
    assert len(names) == 2 and all(f"{name}:" in of_store for name in names) and of_store.count("bound by") == 2
    assert told(*(str(store / name / "file.neff") for name in names)) == of_store


def test_only_the_cases_of_a_store_that_a_glob_matches_are_explained(store):
    wide = next(path.parent.name for path in store.glob("*128x128*/file.neff"))
    assert told(str(store), "--only", "*_128x128_*") == told(str(store / wide))
    assert told(str(store), "--only", "copy.copy") == told(str(store))
    assert '"bound_by"' in told(str(store), "--only", wide, "--format", "json")


@pytest.mark.parametrize(
    "place, said", [("", "--only cpoy*: matches none of the cases"), ("file.neff", "--only chooses among")]
)
def test_only_names_what_there_is_where_it_matches_nothing(store, place, said):
    name = sorted(path.parent.name for path in store.glob("*/file.neff"))[0]
    done = CliRunner().invoke(explain, [str(store / name / place) if place else str(store), "--only", "cpoy*"])
    assert done.exit_code == 2 and said in str(done.exception) + done.output
    assert place or name in str(done.exception) + done.output


def test_a_damaged_case_of_a_store_is_told(store, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    damaged, whole = sorted(path.parent for path in copy.glob("*/file.neff"))
    (damaged / "case.json").write_text("{")
    done = CliRunner().invoke(explain, [str(copy)])
    assert done.exit_code == 0 and done.stdout.count("bound by") == 1
    assert "warning: " in done.stderr and damaged.name in done.stderr and whole.name not in done.stderr


def test_the_directory_of_a_case_is_explained_as_its_neff(store):
    case = sorted(store.glob("*/file.neff"))[0].parent
    assert told(str(case)) == told(str(case / "file.neff"))


def test_several_cases_are_not_written_to_one_file(store):
    done = CliRunner().invoke(explain, [str(store), "--format", "json"])
    assert done.exit_code != 0 and "take one case" in str(done.exception) + done.output


@pytest.mark.parametrize("word", ["waits us", "gain us", "critical path us", "shape", "check", "by", "range", "~", "*", "DMA issue", "LNC"])  # fmt: skip
def test_a_word_of_our_tables_is_explained(word):
    assert word.lower().removesuffix(" us") in told(word).lower()


def test_the_glossary_in_the_package_is_the_page():
    page = Path(__file__).parents[2] / "docs" / "glossary.md"
    assert Path(explain_cli.__file__).with_name("glossary.md").read_text() == page.read_text(), (
        "cp docs/glossary.md neff_bench/doors/"
    )


def test_each_key_of_a_row_and_each_constant_that_what_if_takes_is_explained():
    explained = {*explain_cli.words(), *METRICS}
    with pytest.raises(SimulatorError) as refused:
        what_if(CHIPS["trn2"], "luck=2x")
    constants = str(refused.value).partition("expected one of ")[2].split(", ")
    assert len(constants) > 40
    assert [name for name in (*NAMES, *constants) if name not in explained] == []


@pytest.mark.parametrize("word", ["HFU", "MBU", "FLOPs/byte", "self-check", "packet time"])
def test_a_word_of_inspect_is_explained(word):
    assert word in told(word)


def test_a_profile_is_told_what_reads_its_folder(tmp_path):
    (tmp_path / "ntff.json").write_text("{}")
    done = CliRunner().invoke(explain, [str(tmp_path / "ntff.json")])
    said = f"ntff.json is a profile, not a NEFF; for profiles that were measured: profile-neffs {tmp_path} --hot"
    assert (done.exit_code, said in done.output) == (2, True)


def test_the_answer_for_a_metric_has_what_the_glossary_says_of_its_head(tmp_path):
    assert words()["dma"] in told("DMA") and words()["dma"] not in told("total_time_us")
    told("DMA", "--format", "json", "--output", str(tmp_path / "dma.json"))
    assert [one["metric"] for one in json.loads((tmp_path / "dma.json").read_text())] == ["dma_active_us"]


def test_the_track_of_matmuls_is_explained():
    assert told("TensorMatrix").startswith("TensorMatrix (on a page): the track")


def test_a_folder_of_measured_profiles_is_told_what_reads_it(tmp_path):
    (tmp_path / "file.neff").write_bytes(b"measured")
    done = CliRunner().invoke(explain, [str(tmp_path)])
    assert done.exit_code == 2
    assert "no simulated case in it" in str(done.output) + str(done.exception)
    assert "--hot" in str(done.output) + str(done.exception)


def test_the_glossary_tells_from_which_factor_on_an_order_is_sure():
    text = told("SURE")
    assert (
        f"(the longer time is {sure_ratio():.2f} times the shorter or more)" in text
        and f"in {100 * SURE:.0f} of 100 such pairs" in text
    )
