"""What pip and build make of the repository: an sdist, wheels from it and from a ZIP."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools.mutate import ROOT, copy_tree

LINKS = [path for path in (ROOT / "neff_bench").iterdir() if path.is_symlink()]


@pytest.fixture
def tree(tmp_path):
    """A copy, since a build writes beside the sources."""
    return copy_tree(tmp_path / "neff-bench-main")


@pytest.fixture
def quick_compiler(tmp_path):
    """The C compiler without its optimizer, which takes ten times as long; the last option counts."""
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\nexec cc "$@" -O0\n')
    compiler.chmod(0o755)
    return str(compiler)


def run(*words, cwd, **environment):
    done = subprocess.run(
        [sys.executable, "-m", *map(str, words)], cwd=cwd, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", **environment}
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def missing(wheel: Path, tree: Path) -> set[str]:
    """Files of the package that a wheel lacks."""
    there = {path.relative_to(tree) for path in (tree / "neff_bench").rglob("*") if path.is_file()}
    there |= {
        Path("neff_bench", path.relative_to(tree))
        for link in LINKS
        for path in (tree / link.name).rglob("*")
        if path.is_file()
    }
    return {str(path) for path in there} - set(zipfile.ZipFile(wheel).namelist())


def test_the_first_case_runs_in_a_wheel_that_the_sdist_made(tree, tmp_path, quick_compiler):
    run("build", "--no-isolation", "--outdir", tmp_path / "dist", tree, cwd=tmp_path, CC=quick_compiler)
    [wheel] = (tmp_path / "dist").glob("*.whl")
    assert missing(wheel, tree) == set()
    place = tmp_path / "installed"
    run("pip", "install", "--quiet", "--no-deps", "--no-index", "--target", place, wheel, cwd=tmp_path)
    first = "matmul_nki_M128_*"
    at = {"cwd": tmp_path, "PYTHONPATH": str(place)}
    run("neff_bench", "generate", "--shapes", ROOT / "shapes.yaml", "--only", first, "--out", "out", **at)
    assert "passed" in run("neff_bench", "profile", "out", "--format", "csv", **at)
    assert str(place) in run("timeit", "-n1", "-r1", "import neff_bench; print(neff_bench.__file__)", **at)


def test_an_archive_without_links_becomes_a_whole_wheel(tree, tmp_path):
    archive = tmp_path / "main.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in tree.rglob("*"):
            name = str(path.relative_to(tmp_path))
            if path.is_symlink():
                file.writestr(name, str(path.readlink()))
            elif path.is_file():
                file.write(path, name)
    # Without a compiler the extensions are left out, which is quicker.
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", tmp_path)
    run("pip", "wheel", *options, archive, cwd=tmp_path, CC="false")
    [wheel] = tmp_path.glob("*.whl")
    assert missing(wheel, tree) == set()
    assert wheel.name.endswith("-py3-none-any.whl")


def test_a_checkout_without_links_is_told_what_to_do(tree):
    (tree / ".git").mkdir()
    link = tree / "neff_bench" / "parsers"
    link.unlink()
    link.write_text("../parsers")
    done = subprocess.run([sys.executable, "setup.py", "--version"], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        "neff_bench/parsers: this checkout has no links: git config core.symlinks true && git checkout -- neff_bench\n"
    )


def test_an_editable_install_runs_the_files_of_the_repository(tree, tmp_path):
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", tmp_path / "site")
    run("pip", "install", *options, "--editable", tree, cwd=tmp_path, CC="false")
    [path] = (tmp_path / "site").glob("*.pth")
    assert Path(path.read_text().strip()).resolve() == tree.resolve()
