"""The published schema of rows is that of the rows."""

import json
import subprocess
import sys
from dataclasses import replace

import jsonschema
import pytest

from neff_bench.doors.row_list import Rows
from neff_bench.doors.schema import row_schema
from neff_bench.stage2_profile.metrics.rows import Row, to_dict

ROW = Row(
    case="mlp", kernel="mlp", implementation="nki", dims=(("b", 1), ("s", 128)), dtype="bfloat16", target="trn2", lnc=1,
    source="simulated", status="profiled", check="passed", total_time_us=21.5, hbm_read_bytes=4096, warnings=("odd",),
)  # fmt: skip


def test_rows_follow_the_schema():
    rows = [to_dict(ROW), to_dict(Row(case="x", status="failed", reason="no"))]
    jsonschema.validate(json.loads(json.dumps(rows)), row_schema())


@pytest.mark.parametrize(
    "wrong",
    [{"status": "good"}, {"total_time_us": "21.5"}, {"hbm_read_bytes": 1.5}, {"check": "yes"}, {"warnings": "odd"}],
)
def test_other_values_break_it(wrong):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(json.dumps([{**to_dict(ROW), **wrong}])), row_schema())


def test_every_metric_names_its_unit():
    properties = row_schema()["items"]["properties"]
    assert properties["total_time_us"]["description"] == "Unit: us."
    assert properties["hbm_read_bytes"] == {"type": ["integer", "null"], "description": "Unit: bytes."}


def test_the_command_prints_it():
    done = subprocess.run([sys.executable, "-m", "neff_bench", "schema"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == row_schema()


def test_rows_become_tables():
    rows = Rows([ROW, replace(ROW, case="other", dims=(("M", 4),))])
    table = rows.to_arrow()
    assert table.num_rows == 2 and table["M"].to_pylist() == [None, 4]
    assert rows[1].case == "other" and len(rows[:1]) == 1
    assert rows.to_dicts()[0] == to_dict(ROW)
