from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from neff_bench.doors.explain_cli import explain
from neff_bench.parsers.summary import summary_from
from neff_bench.stage2_profile.metrics.metric import Evidence, metric, metrics_of, values
from neff_bench.stage2_profile.metrics.rows import METRICS

ROOT = Path(__file__).resolve().parents[3]
LAST = "    total_time_iqr_us: "
LINE = '    sbuf_read_bytes: int | None = metric("bytes", "bytes read", "sbuf_read_bytes", better="lower", head="SBUF read")\n'


@dataclass(frozen=True)
class Sample:
    wait_us: float | None = metric("us", "waits", "dma_active_time_s", better="lower")
    packets: int | None = metric("count", "packets", ("static_dma_packet_count", "hardware_dynamic_dma_packet_count"))
    busy_percent: float | None = metric("percent", "busy", "hfu_estimated_fraction")
    compile_time_s: float | None = metric("s", "compiling")
    name: str = ""


def test_a_line_says_where_the_number_comes_from_and_in_which_unit():
    summary = summary_from({"dma_active_time": 2e-6, "static_dma_packet_count": 3, "hfu_estimated_percent": 0.25})
    numbers = values(metrics_of(Sample), Evidence(summaries=[summary]))
    assert numbers == {"wait_us": pytest.approx(2.0), "packets": 3, "busy_percent": 25.0}
    assert type(numbers["packets"]) is int
    assert {name: each.exact for name, each in metrics_of(Sample).items()} == {
        "wait_us": False,
        "packets": True,
        "busy_percent": False,
        "compile_time_s": False,
    }


@pytest.mark.parametrize(
    ("unit", "source"),
    [("us", "no_such_time_s"), ("us", "hbm_read_bytes"), ("percent", "total_time_s"), ("bytes", "total_time_s")],
)
def test_a_wrong_line_is_refused_when_it_is_imported(unit, source):
    with pytest.raises(TypeError, match=source):
        metric(unit, "meant", source)


def test_a_metric_made_from_one_below_it_is_refused_when_it_is_imported():
    @dataclass(frozen=True)
    class Wrong:
        ratio: float | None = metric("percent", "ratio", lambda evidence, numbers: numbers["later"])
        later: float | None = metric("percent", "busy", "hfu_estimated_fraction")

    with pytest.raises(KeyError):
        metrics_of(Wrong)


def test_one_line_adds_a_metric_everywhere(tmp_path):
    copy = tmp_path / "copy"
    for room in ("neff_bench", "neffs", "parsers", "stage2_profile"):
        shutil.copytree(ROOT / room, copy / room, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for link in (copy / "neff_bench").iterdir():
        if link.is_symlink() and not link.exists():
            link.unlink()
            link.symlink_to(ROOT / link.name)
    table = copy / "stage2_profile" / "metrics" / "rows.py"
    text = table.read_text()
    table.write_text(text.replace(LAST, LINE + LAST, 1))

    def run(*words, code=0):
        environment = {**os.environ, "PYTHONPATH": str(copy), "NO_COLOR": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "neff_bench", *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    for name, count in (("before", 4096), ("after", 8192)):
        (tmp_path / name).mkdir()
        profile = {"summary": [{"total_time": 1e-5, "sbuf_read_bytes": count}]}
        (tmp_path / name / "profile.json").write_text(json.dumps(profile))
    assert "SBUF read" in run("profile", "before", "--parse-only")
    (record,) = csv.DictReader(io.StringIO(run("profile", "before", "--parse-only", "--format", "csv")))
    assert record["sbuf_read_bytes"] == "4096"
    assert json.loads(run("profile", "before", "--parse-only", "--format", "json"))[0]["sbuf_read_bytes"] == 4096
    assert "sbuf_read_bytes 4096 8192 2.0000 worse" in " ".join(run("compare", "before", "after").split())
    assert "FAILED" in run("compare", "before", "after", "--fail-if", "sbuf_read_bytes:50%", code=1)
    assert "sbuf_read_bytes" in run("compare", "--list-metrics")


def test_explain_says_what_a_metric_means_by_its_name_or_by_the_head_of_its_column():
    for name in ("tensor_active_us", "tensor"):
        done = CliRunner().invoke(explain, [name, "--format", "json"])
        assert done.exit_code == 0, done.output
        (record,) = json.loads(done.stdout)
        assert record["metric"] == "tensor_active_us"
        assert record["meaning"].startswith("the time in which the Tensor Engine works")
    done = CliRunner().invoke(explain, ["tensor_activ_us"])
    assert (done.exit_code, "did you mean tensor_active_us?" in str(done.exception) + done.stderr) == (2, True)


def test_every_metric_has_a_meaning_of_its_own():
    meanings = [each.meaning for each in METRICS.values()]
    assert all(len(meaning.split()) > 3 for meaning in meanings)
    assert len(set(meanings)) > 0.9 * len(meanings)
