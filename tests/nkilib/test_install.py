"""`benchmarks/` appears whole, is undone whole, and nothing that it did not write is touched."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from neff_bench.installation import IMPORT_ROOT, __version__
from neff_bench.nkilib.install import install, remove
from neff_bench.nkilib.install_cli import install_benchmarks
from neff_bench.nkilib.layout import TEMPLATE, InstallError
from neff_bench.stage1_generate.shapes.read import read_shapes


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
    target = install(checkout, vendor=True)
    for cache in ("neff_bench/neffs/__pycache__", ".ruff_cache"):
        (target / cache).mkdir()
        (target / cache / "file").touch()
    remove(checkout)
    assert git(checkout, "status", "--porcelain", "--ignored") == ""
    assert not target.exists()


def test_twelve_files_of_five_hundred_lines(checkout):
    target = install(checkout)
    files = [path for path in target.rglob("*") if path.is_file()]
    assert len(files) <= 12
    assert sum(len(path.read_text().splitlines()) for path in files) <= 500


def test_scripts_begin_with_the_licence_of_the_checkout(checkout):
    (checkout / "src/nkilib_src/nkilib/__init__.py").write_text("# Copyright of the Owner\n#\n# Licence\n\nimport os\n")
    target = install(checkout, allow_dirty=True)
    for script in target.rglob("*.py"):
        assert script.read_text().startswith('# Copyright of the Owner\n#\n# Licence\n"""')


def test_shapes_are_those_of_kernels_that_the_checkout_has(checkout):
    (checkout / "src/nkilib_src/nkilib/core/cumsum").mkdir(parents=True)
    (checkout / "src/nkilib_src/nkilib/core/cumsum/cumsum.py").touch()
    target = install(checkout, allow_dirty=True)
    kernels = {case.kernel for case in read_shapes(target / "shapes.yaml")}
    assert "cumsum" in kernels
    assert "mlp" in kernels
    assert "conv1d" not in kernels


def test_the_package_is_a_release_a_wheel_or_a_checkout(checkout, tmp_path_factory):
    def named(source=None):
        lines = (install(checkout, source=source) / "requirements.txt").read_text().splitlines()
        return [line for line in lines if not line.startswith("#")], len(lines)

    assert named() == ([f"neff-bench=={__version__}"], 3)  # and what to do as long as none is published
    assert named("0.3.1")[0] == ["neff-bench==0.3.1"]
    wheel = tmp_path_factory.mktemp("dist") / f"neff_bench-{__version__}-py3-none-any.whl"
    wheel.write_bytes(b"x")
    (line,), count = named(str(wheel))
    assert line.startswith(f"neff-bench @ file://{wheel}#sha256=2d71164")
    assert count == 1
    project = tmp_path_factory.mktemp("project")
    (project / "pyproject.toml").write_text('[project]\nname = "neff-bench"\n')
    assert named(str(project))[0] == [f"neff-bench @ file://{project}"]
    wrong = wheel.with_name("other.whl")
    wrong.touch()
    for source in (wrong, wheel.parent, "nightly"):
        with pytest.raises(InstallError, match="expected a version such as"):
            install(checkout, source=str(source))


def test_the_steps_of_the_mlp_build_and_profile_its_shapes(checkout):
    target = install(checkout, link=True)
    done = subprocess.run(
        [sys.executable, target / "mlp/benchmark_mlp_step1_generate_neff.py", "--list"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert {line.split("_")[0] for line in done.stdout.split()} == {"mlp"}
    done = subprocess.run(
        [sys.executable, target / "mlp/benchmark_mlp_step2_profile.py"], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "neuron_test_output/benchmarks" in done.stdout + done.stderr


def test_the_vendored_steps_run_without_installation(checkout):
    target = install(checkout, vendor=True)
    program = "import runpy, sys; sys.path[0] = sys.argv.pop(1); runpy.run_path(sys.argv[0], run_name='__main__')"
    script = str(target / "benchmark_step1_generate_neff.py")
    code = f"import sys; sys.argv = ['x', {str(target)!r}, '--help']; sys.argv[0] = {script!r}; {program}"
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path.endswith("site-packages"))}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=checkout, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "--nkilib" in done.stdout


def test_the_umbrella_lists_what_was_vendored(checkout):
    install(checkout, vendor=True)
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); from neff_bench.cli import main; main()"
    listed = [sys.executable, "-S", "-c", program, str(checkout / "benchmarks"), "--help"]
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path.endswith("site-packages"))}
    done = subprocess.run(listed, cwd=checkout, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "latency" in done.stdout
    assert "install-benchmarks" not in done.stdout


def test_workflows_pin_actions_give_no_permission_by_default_and_end_in_time():
    for path in (TEMPLATE / "ci").glob("*.yml"):
        workflow = yaml.safe_load(path.read_text())
        assert workflow["permissions"] == {}
        for job in workflow["jobs"].values():
            assert "timeout-minutes" in job
            assert "permissions" in job
            for step in job["steps"]:
                assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", step.get("uses", "actions/x@" + "0" * 40))


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
    (target / "shapes.yaml").write_text("mine\n")
    for action in (install, remove):
        with pytest.raises(InstallError, match="shapes.yaml: was changed"):
            action(checkout)
    assert (target / "shapes.yaml").read_text() == "mine\n"


def test_a_file_added_by_others_survives_removal(checkout):
    target = install(checkout)
    (target / "ci/mine.yaml").write_text("mine\n")
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


def test_a_vendored_copy_requires_what_the_project_does(checkout):
    project = (IMPORT_ROOT / "pyproject.toml").read_text().split("dependencies = [")[1].split("]")[0]
    wanted = [line.strip().strip('",') for line in project.strip().splitlines()]
    assert (install(checkout, vendor=True) / "requirements.txt").read_text().split() == wanted
