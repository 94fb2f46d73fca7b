"""Files of public repositories are taken from the commit that the manifest names, and only with the contents that it names."""

import hashlib
import subprocess

import pytest

from validation import corpus

CONTENTS = b"figures"


def git(checkout, *words):
    identity = ["-c", "user.name=A", "-c", "user.email=a@b"]
    done = subprocess.run(["git", *identity, "-C", checkout, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """A repository whose file was changed after the commit that counts."""
    path = tmp_path / "checkout"
    path.mkdir()
    git(path, "init", "-q")
    (path / "folder").mkdir()
    (path / "folder" / "a.json").write_bytes(CONTENTS)
    git(path, "add", ".")
    git(path, "commit", "-qm", "first")
    (path / "folder" / "a.json").write_bytes(b"changed since")
    return path


def manifest(checkout, sha256=hashlib.sha256(CONTENTS).hexdigest(), tree=None):
    file = {"path": "folder/a.json", "to": "real/a.json", "bytes": len(CONTENTS), "sha256": sha256}
    unknown = {"path": "elsewhere.txt", "to": "b", "bytes": None, "sha256": None}
    trees = [{"path": "folder", "git_tree": tree or git(checkout, "rev-parse", "HEAD:folder")}]
    commit = git(checkout, "rev-parse", "HEAD")
    return [{"repository": "a/b", "commit": commit, "licence": "MIT", "files": [file, unknown], "trees": trees}]


def test_a_file_comes_from_the_commit_whatever_the_working_tree_holds(checkout, tmp_path):
    assert list(corpus.gather(manifest(checkout), [checkout], tmp_path / "out")) == []
    assert (tmp_path / "out" / "real" / "a.json").read_bytes() == CONTENTS


def test_other_contents_are_refused(checkout, tmp_path):
    [problem] = corpus.gather(manifest(checkout, sha256="0" * 64), [checkout], tmp_path / "out")
    assert problem.startswith("a/b at ") and problem.endswith("folder/a.json: has other contents")
    assert not (tmp_path / "out").exists()


def test_a_repository_without_a_checkout_is_named(checkout, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    problems = list(corpus.gather(manifest(checkout), [other], tmp_path / "out"))
    assert len(problems) == 2 and all("not found; name a checkout that has it" in problem for problem in problems)


def test_a_folder_must_be_the_one_of_the_commit(checkout, tmp_path):
    [problem] = corpus.gather(manifest(checkout, tree="0" * 40), [checkout], tmp_path / "out")
    assert "folder: not found" in problem


def test_the_real_manifest_is_gathered_or_every_missing_file_is_named(checkout, tmp_path, capsys):
    assert corpus.main([str(tmp_path / "out"), str(checkout)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 30 and all(line.startswith("corpus: ") for line in lines)
