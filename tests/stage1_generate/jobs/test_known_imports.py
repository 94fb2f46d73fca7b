"""Unchanged files are not parsed again, and nothing else follows from it."""

import pytest

from neff_bench.stage1_generate.jobs import closure
from neff_bench.stage1_generate.jobs.closure import Closures, known_imports


@pytest.fixture
def store(tmp_path):
    (tmp_path / "store" / ".store").mkdir(parents=True)
    return tmp_path / "store"


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "kernel.py").write_text("import helper\n")
    (folder / "helper.py").write_text("x = 1\n")
    (folder / "other.py").write_text("x = 1\n")
    return folder


def digest(source, store):
    known = known_imports(store)
    found = Closures((source,), known).digest("kernel")
    known.save()
    return found


def test_a_second_call_parses_nothing_and_finds_the_same(source, store, monkeypatch):
    plain = Closures((source,)).digest("kernel")
    assert digest(source, store) == plain
    monkeypatch.setattr(closure, "imports", None)
    assert digest(source, store) == plain


def test_a_changed_import_is_followed(source, store):
    before = digest(source, store)
    (source / "kernel.py").write_text("import other\n")
    assert digest(source, store) == Closures((source,)).digest("kernel") != before


def test_what_another_parser_or_nobody_wrote_is_not_believed(source, store, tmp_path, monkeypatch):
    digest(source, store)
    parsed = []
    monkeypatch.setattr(closure, "imports", lambda data, package: parsed.append(package) or [])
    (tmp_path / "parser.py").write_text("")
    Closures((source,), known_imports(store, tmp_path / "parser.py")).digest("kernel")
    assert parsed
    del parsed[:]
    document = (store / ".store" / "imports.json").read_bytes()
    (store / ".store" / "imports.json").write_bytes(document.replace(b'"helper"', b'"other"'))
    Closures((source,), known_imports(store)).digest("kernel")
    assert parsed


def test_a_directory_that_is_no_store_is_left_alone(source, tmp_path):
    digest(source, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source"]
