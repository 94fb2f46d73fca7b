"""`neuron-sim nkilib-tests` up to the pytest process."""

import os
from pathlib import Path

from click.testing import CliRunner

from simulator import nkilib_tests


def test_a_directory_that_is_no_checkout_is_one_line(tmp_path):
    result = CliRunner().invoke(nkilib_tests.main, [str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr.strip() == f"error: {tmp_path}: no nki-library checkout: src/nkilib_src is missing"


def test_missing_packages_are_named(tmp_path, monkeypatch):
    (tmp_path / "src" / "nkilib_src").mkdir(parents=True)
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "conftest.py").touch()
    monkeypatch.setattr(nkilib_tests, "_PACKAGES", {"no_such_module": "no-such-package", "click": "click"})
    result = CliRunner().invoke(nkilib_tests.main, [str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr.strip().endswith("pip install no-such-package")


def test_the_users_arguments_reach_pytest_in_their_order():
    made = nkilib_tests.command(("test/integration/nkilib/core/mlp", "-k", "cte"), "/scratch")
    assert made[made.index("simulation") + 1 :] == [
        "test/integration/nkilib/core/mlp",
        "-k",
        "cte",
        "--output-directory",
        "/scratch",
        "--force-local-cleanup",
    ]


def test_run_all_lifts_the_rule_about_large_shapes():
    variable = "NKILIB_SIMULATION_RUN_ALL"
    assert nkilib_tests.environment(Path("/library"), run_all=True)[variable] == "1"
    assert variable not in nkilib_tests.environment(Path("/library"), run_all=False)


def test_both_trees_are_importable():
    paths = nkilib_tests.environment(Path("/library"), run_all=False)["PYTHONPATH"].split(os.pathsep)
    assert paths[1:3] == ["/library/src", "/library"]
    assert (Path(paths[0]) / "simulator" / "nki").is_dir()
