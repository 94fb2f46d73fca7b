"""A new format is one file, and every command answers in it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from neff_bench.installation import PACKAGE

LINES = '''"""Lines of `key=value`."""

SUFFIX = ".lines"


def render(answer, page):
    return "".join(f"{key}={value}\\n" for record in answer.records for key, value in record.items())
'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("copy")
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, root / "neff_bench", ignore=skipped)
    (root / "neff_bench" / "terminal" / "formats" / "lines.py").write_text(LINES)
    (root / "rows.json").write_text('[{"case": "a", "status": "profiled", "total_time_us": 1.0}]')
    (root / "stairs.csv").write_text("M,K,N,latency_ms\n" + "".join(f"{m},8,8,{m}.0\n" for m in range(64, 1025, 64)))
    graph = '{"NC": 0, "CycleCount": 1, "TotalInstructionTraceCount": 1, "EventsCount": 1, "ErrorCount": 0}'
    (root / "session.json").write_text('{"NeffNodes": [{"NodeInfo": {"Name": "x", "Graphs": [' + graph + "]}}]}")
    return root


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["inspect", "session.json"], "kind=session"),
        (["compare", "rows.json", "rows.json"], "case=a"),
        (["tiling", "stairs.csv"], "M=64"),
        (["buckets", "stairs.csv"], "count=5"),
        (["doctor", "--toolchain", "sim"], "part=What runs here"),
    ],
)
def test_a_format_is_one_file(copy, words, expected):
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    argv = [sys.executable, "-m", "neff_bench", *words]
    done = subprocess.run([*argv, "--format", "lines"], cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and expected in done.stdout.splitlines(), done.stderr
    subprocess.run([*argv, "--output", "o.lines"], cwd=copy, env=environment, capture_output=True, check=True)
    assert expected in (copy / "o.lines").read_text().splitlines()
