"""A chip is one file: a copy of chips/trn3.py under another name builds, profiles, divides by its peak and answers what-if."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from neff_bench.chips import CHIPS
from neff_bench.installation import PACKAGE

DEFAULT = re.compile(r'(default=|: str = )"inf2"')
KNOWN = re.compile(rf"""["']({"|".join(CHIPS)})["']""")
MEASURED_ON = {"parsers/clocks.py", "parsers/timeline.py", "experiments/simulated.py", "rules/rule.py"}
"""What was measured on one chip, and on which: the constants of inf2's clocks, how certain a trace's figures are, the host's latency; the
guides that rules are known from."""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the package with the chip trn4."""
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(PACKAGE, root / "neff_bench", ignore=shutil.ignore_patterns("__pycache__"))
    text = (root / "neff_bench" / "chips" / "trn3.py").read_text()
    (root / "neff_bench" / "chips" / "trn4.py").write_text(text.replace('name="trn3"', 'name="trn4"'))
    (root / "shapes.yaml").write_text(
        "defaults: {target: trn4, lnc: 2, dtype: bfloat16}\n"
        "cases:\n  - {kernel: matmul, implementation: nki, M: 128, K: 128, N: 512}\n"
    )
    return root


def run(project, *words):
    environ = {"PYTHONPATH": str(project), "PATH": "/usr/bin:/bin", "HOME": str(project)}
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=project, env=environ, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_file_is_a_chip(project):
    run(project, "neff_bench.stage1_generate.cli", "--shapes", "shapes.yaml", "--out", "store", "--toolchain", "sim")
    (row,) = json.loads(run(project, "neff_bench.stage2_profile.cli", "store", "--format", "json"))
    assert (row["status"], row["target"]) == ("profiled", "trn4")
    assert "none was measured on trn4" in row["time_error"]
    assert row["mfu_percent"] > 0 and row["check"] == "passed"
    (neff,) = (project / "store").glob("*/file.neff")
    explained = run(project, "neff_bench.simulator", "explain", str(neff), "--what-if", "pe_clock_ghz=2x")
    assert "pe_clock_ghz=2x" in explained
    assert "as trn2: measured" in run(project, "neff_bench.simulator", "explain", str(neff), "--constants")


def test_a_file_whose_chip_has_another_name_is_refused(project, tmp_path):
    for room in ("chips",):
        shutil.copytree(project / "neff_bench" / room, tmp_path / "neff_bench" / room)
    shutil.copy(project / "neff_bench" / "errors.py", tmp_path / "neff_bench")
    (tmp_path / "neff_bench" / "__init__.py").touch()
    (tmp_path / "neff_bench" / "chips" / "trn5.py").write_text("from neff_bench.chips.trn4 import CHIP as CHIP\n")
    done = subprocess.run(
        [sys.executable, "-c", "import neff_bench.chips; neff_bench.chips.CHIPS"], cwd=tmp_path, capture_output=True, text=True,
        env={"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert "chips/trn5.py: its CHIP is named 'trn4', expected 'trn5'" in done.stderr


def test_nothing_else_names_a_chip_to_decide_by():
    """A default is no decision: `trn2` may be chosen where nothing was said."""
    wrong = []
    rooms = [path for path in PACKAGE.iterdir() if path.is_dir() and path.name not in ("chips", "__pycache__")]
    for path in (path for room in rooms for path in room.rglob("*.py")):
        name = str(path.relative_to(PACKAGE))
        if name in MEASURED_ON or "/kernels/" in name or name.startswith("rules/declared/"):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if set(KNOWN.findall(line)) - {"trn2"} and not DEFAULT.search(line):
                wrong.append(f"{name}:{number}: {line.strip()}")
    assert wrong == []
