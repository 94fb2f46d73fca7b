"""Both stages give the same files cold and warm."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from neff_bench.stage1_generate.cli import generate
from neff_bench.stage2_profile.cli import profile

SHAPES = """
defaults: {target: trn2, lnc: 2, dtype: bfloat16}
cases:
  - {kernel: matmul, implementation: [nki, xla], M: 129, K: 128, N: 64}
"""
TIMES = {"created", "compile_time_s", "seconds", "checksum"}


def call(command, *words) -> str:
    done = CliRunner().invoke(command, [*map(str, words)])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """What both stages leave and print, cold and warm, from the same directory: paths are a part of some files."""
    here, folder = os.getcwd(), tmp_path_factory.mktemp("stages")
    (folder / "shapes.yaml").write_text(SHAPES)
    os.chdir(folder)
    answers = {"folder": folder}
    try:
        for way in (["--cold"], []):
            call(generate, "--shapes", "shapes.yaml", "--out", "store", "--toolchain", "sim", *way)
            table = call(profile, "store", "--hot", "3", *way) + call(profile, "store")
            files = {
                str(path.relative_to("store")): path.read_bytes() for path in Path("store").rglob("*") if path.is_file()
            }
            answers["cold" if way else "warm"] = table, files
            os.rename("store", "cold" if way else "warm")
    finally:
        os.chdir(here)
    return answers


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(part) for key, part in value.items() if key not in TIMES}
    return [without_times(part) for part in value] if isinstance(value, list) else value


def test_tables_are_equal(stores):
    assert "passed" in stores["cold"][0]
    assert stores["warm"][0] == stores["cold"][0]


def test_every_file_is_equal_but_for_times(stores):
    cold, warm = (stores[way][1] for way in ("cold", "warm"))
    own = {name for name in cold if not name.startswith(".store/")}
    assert own == {name for name in warm if not name.startswith(".store/")}
    assert len(own) > 30
    records = {name for name in own if name.endswith(("case.json", "run.json"))}
    assert [name for name in own - records if warm[name] != cold[name]] == []
    for name in records:
        assert without_times(json.loads(warm[name])) == without_times(json.loads(cold[name]))


COMMAND = """
import sys
from neff_bench.stage2_profile.cli import main

try:
    main()
finally:
    print("numpy" in sys.modules, file=sys.stderr)
"""


def test_a_command_with_few_simulated_cases_leaves_numpy_to_its_children(stores):
    asked = [sys.executable, "-c", COMMAND, "warm", "--force", "--only", "*_nki_*", "--format", "json"]
    done = subprocess.run(asked, cwd=stores["folder"], capture_output=True, text=True)
    assert [row["check"] for row in json.loads(done.stdout)] == ["passed"]
    assert done.stderr.splitlines()[-1] == "False"
