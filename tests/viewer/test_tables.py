"""Timelines as tables: JSON, CSV, and which writer a suffix has."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from neff_bench.viewer.tables import COLUMNS, stack_text, to_csv, to_json, writer_for
from tests.viewer.page.profiles import small


def test_one_timeline_is_its_tables_and_several_name_their_file():
    alone = json.loads(to_json([small()]))
    assert list(alone) == ["summary", "metadata", "instruction", "dma", "semaphore_update"]
    assert [len(rows) for rows in alone.values()] == [1, 1, 3, 2, 1]
    assert alone["metadata"] == [{"is_simulation": False, "notes": []}]
    assert "file" not in alone["instruction"][0] and alone["instruction"][1]["nki_call_stack"] == ["kernel.py:9"]
    both = json.loads(to_json([small(), replace(small(simulated=True), path="b")]))
    assert [[row["file"] for row in rows] for rows in both.values()][:2] == [["profile", "b"]] * 2
    assert [row["file"] for row in both["dma"]] == ["profile", "profile", "b", "b"]
    assert [row["is_simulation"] for row in both["metadata"]] == [False, True]


def test_a_table_of_text_has_a_line_for_each_event_and_empty_cells_for_what_its_table_has_not():
    head, *lines = csv.reader(io.StringIO(to_csv([small()]).decode()))
    assert tuple(head) == COLUMNS and head[:2] == ["file", "table"]
    rows = [dict(zip(head, line)) for line in lines]
    assert [row["table"] for row in rows] == ["instruction"] * 3 + ["dma"] * 2 + ["semaphore_update"]
    assert rows[1]["opcode"] == "MATMUL" and rows[1]["nki_call_stack"] == "kernel.py:9"
    assert rows[1]["transfer_size"] == "" and rows[3]["transfer_size"] == "2048" and rows[5]["value"] == "1"


def test_a_call_stack_is_one_cell_the_outermost_first():
    assert stack_text({"nki_call_stack": ("a:1", "b:2")}) == {"nki_call_stack": "a:1 > b:2"}
    assert stack_text({"value": 1}) == {}


@pytest.mark.parametrize("suffix", [".json", ".csv", ".parquet", ".pftrace", ".CSV"])
def test_the_suffix_chooses_the_writer(suffix):
    assert writer_for(Path(f"x{suffix}")) is writer_for(Path(f"y{suffix.lower()}")) is not None
    assert writer_for(Path("x.xlsx")) is None
