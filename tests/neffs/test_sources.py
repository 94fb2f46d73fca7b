"""The text of a kernel's files goes into its bundle."""

import pytest

from neff_bench.neffs import sources
from neff_bench.neffs.sources import keep_sources


@pytest.fixture
def kept(tmp_path):
    """A function that keeps sources of these names from the folders `one` and `two`; returns text by path in the bundle."""

    def keep(*names):
        bundle = tmp_path / "bundle"
        keep_sources(bundle, names, [tmp_path / "one", tmp_path / "two"])
        return {str(path.relative_to(bundle / "sources")): path.read_text() for path in bundle.rglob("*") if path.is_file()}  # fmt: skip

    for name in ("one/a.py", "two/a.py", "two/p/b.py", "one/c.txt", "outside.py", "one/d.py/e.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return keep


def test_the_first_folder_that_has_a_file_gives_it(kept):
    assert kept("a.py", "p/b.py") == {"a.py": "one/a.py", "p/b.py": "two/p/b.py"}


def test_an_absolute_name_loses_its_slash_in_the_bundle(kept, tmp_path):
    assert kept(f"{tmp_path}/outside.py") == {f"{tmp_path}/outside.py"[1:]: "outside.py"}


def test_what_is_no_python_file_of_the_folders_is_left_out(kept):
    assert kept("none.py", "c.txt", "d.py", "../outside.py", "p/../../outside.py", "a.py\0", "\0.py") == {}


def test_names_after_one_that_is_left_out_are_kept(kept):
    assert list(kept("c.txt", "none.py", "a.py")) == ["a.py"]


@pytest.mark.parametrize(("most", "names"), [(8, ["a.py"]), (7, [])])
def test_the_largest_file_has_the_size_that_is_said(kept, monkeypatch, most, names):
    monkeypatch.setattr(sources, "BYTES_MAX", most)
    assert list(kept("a.py", "p/b.py")) == names


def test_a_file_of_four_mebibytes_is_the_largest():
    assert sources.BYTES_MAX == 4 << 20
