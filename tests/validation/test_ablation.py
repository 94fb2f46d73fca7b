import json
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("validation")
ROOT = Path(__file__).resolve().parents[2]
PASSES = ROOT / "neff_bench" / "simulator" / "compiler" / "passes"


def test_the_page_shows_the_table_that_the_code_prints():
    from validation.ablation import FIGURES, table

    page = (ROOT / "docs" / "model.md").read_text()
    [shown] = re.findall(r"<!-- ablation -->\n(.*?)<!-- end -->", page, re.DOTALL)
    assert shown == "\n".join(table(json.loads(FIGURES.read_bytes()))) + "\n"


def test_each_pass_and_each_fitted_number_is_an_entry():
    from neff_bench.chips import CHIPS
    from validation.ablation import ENTRIES

    of_passes = {name for entry in ENTRIES.values() for name in entry.passes}
    assert of_passes == {path.stem for path in PASSES.glob("*.py")} - {"__init__"}
    fitted = {name for chip in CHIPS.values() for name, source in chip.sources.items() if source.startswith("fitted")}
    assert fitted <= ENTRIES.keys()


def test_each_entry_that_stays_earns_its_keep_or_says_why_not():
    from validation.ablation import ENTRIES, EVIDENCE, FIGURES, GONE, earns_its_keep

    figures = json.loads(FIGURES.read_bytes())
    by_rows = {name for name in ENTRIES if earns_its_keep(figures.get(name, {}))}
    assert all(name in by_rows or entry.kept.startswith(EVIDENCE) for name, entry in ENTRIES.items())
    assert not [name for name in by_rows if ENTRIES[name].kept], "rows decide: nothing else has to"
    assert not any(earns_its_keep(figures.get(name, {})) for name in GONE if name != "_ROW_BYTES")


@pytest.mark.parametrize(
    ("means", "stays"),
    [
        ({"a/a": (9, 5.0, 7.0), "b/b": (1, 3.0, 4.0)}, True),
        ({"a/a": (9, 5.0, 7.0)}, False),
        ({"a/a": (9, 5.0, 7.0), "b/b": (1, 3.0, 4.0), "c/c": (2, 9.0, 3.0)}, False),
    ],
    ids=["two gain", "one gains", "another loses more"],
)
def test_an_entry_stays_where_two_repositories_gain_more_than_others_lose(means, stays):
    from validation.ablation import earns_its_keep

    assert earns_its_keep(means) == stays


def test_an_entry_that_is_switched_off_changes_the_program(monkeypatch):
    from neff_bench.simulator.compiler import imitation
    from validation.ablation import ENTRIES, switched_off

    merged = imitation.merged_tiles
    with switched_off(ENTRIES["merging"]) as changes:
        assert imitation.merged_tiles is not merged and changes == []
    assert imitation.merged_tiles is merged
    with switched_off(ENTRIES["dma_element_ns"]) as changes:
        assert changes == ["dma_element_ns=0"]


def test_an_entry_concerns_the_rows_of_its_dialects_and_chips():
    from validation.ablation import ENTRIES
    from validation.correlation.measured import Measured

    def concerned(target, dialect):
        row = Measured("a/a", "", "copy", "copy", "copy", target, 1, dialect, 1.0, lambda: None)
        return {name for name, entry in ENTRIES.items() if entry.concerns(row)}

    assert "merging" in concerned("trn1", "beta") and "merging" not in concerned("trn1", "nki")
    assert "dma_read_stall_ns" in concerned("trn2", "nki") and "dma_read_stall_ns" not in concerned("trn1", "nki")
    assert "spilling" not in concerned("trn2", "beta"), "it cannot be switched off"
