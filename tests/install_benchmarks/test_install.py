"""`benchmarks/` appears whole, is undone whole, and nothing that it did not write is touched."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from neff_bench.install_benchmarks.cli import install_benchmarks
from neff_bench.install_benchmarks.errors import InstallError
from neff_bench.install_benchmarks.install import install, remove


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    done = subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "src/nkilib_src/nkilib").mkdir(parents=True)
    (tmp_path / "src/nkilib_src/nkilib/__init__.py").touch()
    (tmp_path / ".gitignore").write_text("__pycache__/\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "x")
    return tmp_path


def test_remove_leaves_the_checkout_as_it_was(checkout):
    target = install(checkout)
    for cache in ("neff_bench/neffs/__pycache__", ".ruff_cache"):
        (target / cache).mkdir()
        (target / cache / "file").touch()
    remove(checkout)
    assert git(checkout, "status", "--porcelain", "--ignored") == ""
    assert not target.exists()


def test_installed_commands_run_without_installation(checkout):
    target = install(checkout)
    isolated = [sys.executable, str(target / "mlp/benchmark_mlp_step1_generate_neff.py"), "--help"]
    done = subprocess.run(isolated, cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--nkilib" in done.stdout


def test_the_umbrella_lists_what_was_installed(checkout):
    install(checkout)
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); from neff_bench.cli import main; main()"
    listed = [sys.executable, "-S", "-c", program, str(checkout / "benchmarks"), "--help"]
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path.endswith("site-packages"))}
    done = subprocess.run(listed, cwd=checkout, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "latency" in done.stdout
    assert "install-benchmarks" not in done.stdout


def test_neffs_and_traces_stay_out_of_git(checkout):
    target = install(checkout)
    (target / "x.neff").touch()
    (target / "x.ntff").touch()
    assert git(checkout, "check-ignore", "benchmarks/x.neff", "benchmarks/x.ntff").split() == [
        "benchmarks/x.neff",
        "benchmarks/x.ntff",
    ]


def test_a_second_install_replaces_the_first(checkout):
    assert install(checkout) == install(checkout)


def test_linked_packages_are_removed_and_their_sources_are_not(checkout):
    target = install(checkout, link=True)
    assert (target / "neff_bench").is_symlink()
    remove(checkout)
    assert not target.exists()
    from neff_bench.installation import PACKAGE

    assert (PACKAGE / "neffs/__init__.py").exists()


def test_a_foreign_benchmarks_directory_is_refused_and_kept(checkout):
    (checkout / "benchmarks").mkdir()
    (checkout / "benchmarks/mine.py").write_text("x = 1\n")
    with pytest.raises(InstallError, match="was not written by install-benchmarks"):
        install(checkout, allow_dirty=True)
    with pytest.raises(InstallError, match="was not written by install-benchmarks"):
        remove(checkout)
    assert (checkout / "benchmarks/mine.py").read_text() == "x = 1\n"


def test_a_changed_file_is_refused_and_kept(checkout):
    target = install(checkout)
    (target / "mlp/shapes.yaml").write_text("mine\n")
    for action in (install, remove):
        with pytest.raises(InstallError, match="shapes.yaml: was changed"):
            action(checkout)
    assert (target / "mlp/shapes.yaml").read_text() == "mine\n"


def test_a_file_added_by_others_survives_removal(checkout):
    target = install(checkout)
    (target / "mlp/mine.yaml").write_text("mine\n")
    remove(checkout)
    assert [path.name for path in target.rglob("*") if path.is_file()] == ["mine.yaml"]


def test_a_dirty_checkout_is_refused_with_the_first_change(checkout):
    (checkout / "src/nkilib_src/new.py").touch()
    result = CliRunner().invoke(install_benchmarks, [str(checkout)])
    assert result.exit_code == 1
    assert "1 uncommitted change(s), the first: ?? src/nkilib_src/new.py" in result.output
    assert not (checkout / "benchmarks").exists()
    assert CliRunner().invoke(install_benchmarks, [str(checkout), "--allow-dirty"]).exit_code == 0


def test_an_unknown_directory_is_refused(tmp_path):
    result = CliRunner().invoke(install_benchmarks, [str(tmp_path)])
    assert result.exit_code == 1
    assert "is not a checkout of nki-library" in result.output


def test_a_list_that_names_files_outside_is_refused(checkout):
    target = install(checkout)
    (checkout / "precious").touch()
    (target / ".neff-bench.json").write_text('{"files": {"../precious": "0"}}')
    with pytest.raises(InstallError, match="names a file outside"):
        remove(checkout)
    assert (checkout / "precious").exists()


def test_the_requirements_are_those_of_the_project():
    from neff_bench.install_benchmarks.layout import TEMPLATE
    from neff_bench.installation import IMPORT_ROOT

    project = (IMPORT_ROOT / "pyproject.toml").read_text().split("dependencies = [")[1].split("]")[0]
    wanted = [line.strip().strip('",') for line in project.strip().splitlines()]
    assert (TEMPLATE / "requirements.txt").read_text().split() == wanted
