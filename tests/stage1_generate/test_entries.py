import ast
import sys

import pytest

from neff_bench.stage1_generate import entries
from neff_bench.stage1_generate.entries import defined, line_of, load, place


def test_a_file_is_relative_to_its_folder(tmp_path):
    found = place("sub/mine.py:f", tmp_path)
    assert (found.entry, found.root, found.folder) == (
        f"{tmp_path}/sub/mine.py:f",
        tmp_path / "sub" / "mine.py",
        tmp_path / "sub",
    )


def test_a_module_stays_a_module(tmp_path):
    assert place("pack.mine:f", tmp_path).root == "pack.mine"


@pytest.mark.parametrize(("text", "root"), [("from . import tiles", "pack.mine"), ("import tiles", None)])
def test_a_file_of_a_package_is_a_module_where_it_imports_relatively(tmp_path, text, root):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "mine.py").write_text(text)
    assert place("pack/mine.py:f", tmp_path).root == (root or tmp_path / "pack" / "mine.py")


def test_a_file_is_loaded_once_and_finds_its_neighbours(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "neighbour_of_it.py").write_text("value = 7\n")
    (tmp_path / "loaded_once.py").write_text("import neighbour_of_it\n\nclass A:\n    b = neighbour_of_it.value\n")
    assert load(f"{tmp_path}/loaded_once.py:A.b") == 7
    assert load(f"{tmp_path}/loaded_once.py:A") is load(f"{tmp_path}/loaded_once.py:A")


def test_a_file_named_like_a_module_that_is_loaded_does_not_replace_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "dataclasses.py").write_text("mine = True\n")
    assert load(f"{tmp_path}/dataclasses.py:mine") is True
    assert not hasattr(sys.modules["dataclasses"], "mine")


def test_names_of_a_file_are_known_without_running_it(tmp_path):
    path = tmp_path / "a.py"
    path.write_text(
        "import os.path as p\nfrom x import y as z\nraise SystemExit\nif 1:\n  def f(): inside = 1\nk = lambda: 1\n"
    )
    assert defined(path) == ("p", "z", "f", "k")
    path.write_text("from x import *\n")
    assert defined(path) is None


def test_a_file_that_has_changed_is_loaded_again(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "changes_fast.py"
    for value in (1, 2):
        path.write_text(f"value = {value}\n")
        assert load(f"{path}:value") == value


def test_a_file_is_parsed_once_for_all_the_kernels_that_it_holds(tmp_path, monkeypatch):
    path, parsed = tmp_path / "many.py", []
    path.write_text("def first_of_many(): pass\n")
    monkeypatch.setattr(entries.ast, "parse", lambda source, parse=ast.parse: parsed.append(source) or parse(source))
    assert [defined(path), defined(path)] == [("first_of_many",)] * 2
    assert len(parsed) == 1
    path.write_text("def another_of_many(): pass\n")
    assert defined(path) == ("another_of_many",)


def test_a_line_is_the_innermost_of_the_file(tmp_path):
    path = tmp_path / "raises.py"
    path.write_text("def inner():\n    raise ValueError\n\n\ndef outer():\n    return inner()\n")
    outer = load(f"{path}:outer")
    with pytest.raises(ValueError) as error:
        outer()
    assert line_of(error.value, str(path)) == 2
    assert line_of(error.value, "other.py") is None and line_of(ValueError(), str(path)) is None


def test_a_file_that_cannot_be_loaded_leaves_no_module(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "breaks_at_once.py").write_text("raise ValueError\n")
    with pytest.raises(ValueError):
        load(f"{tmp_path}/breaks_at_once.py:f")
    assert "breaks_at_once" not in sys.modules and sys.path[0] == str(tmp_path)
