"""Which changes of a source file are changes of what it means."""

import json

import pytest

from neff_bench.simulator.timing import meaning
from neff_bench.simulator.timing.meaning import meaning_of, meanings

PYTHON = b'X_NS = 12.5\n"""A constant."""\n\ndef f(a, b):\n    return a + b * X_NS\n'
C = b'#define N 4\nint f(int a) { return a * N; }  /* times */\nchar *s = "a  b";\n'


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        (PYTHON.replace(b"A constant.", b"Measured on trn2."), ".py"),
        (PYTHON.replace(b"\n\ndef", b"  # ns\n\n\n# two lines\ndef"), ".py"),
        (PYTHON.replace(b"(a, b)", b"(\n    a,\n    b,\n)"), ".py"),
        (C.replace(b"times", b"four times").replace(b"{ return", b"{\n    return"), ".c"),
    ],
)
def test_comments_docstrings_and_layout_mean_nothing(text, suffix):
    assert meaning_of(text, suffix) == meaning_of(PYTHON if suffix == ".py" else C, suffix)


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        (PYTHON.replace(b"12.5", b"12.6"), ".py"),
        (PYTHON.replace(b"a + b", b"b + a"), ".py"),
        (PYTHON.replace(b"    return", b"    a = b\n    return"), ".py"),
        (C.replace(b"N 4", b"N 5"), ".c"),
        (C.replace(b"a  b", b"a b"), ".c"),
        (C.replace(b"a * N", b"a + N"), ".c"),
    ],
)
def test_constants_and_code_have_a_meaning(text, suffix):
    assert meaning_of(text, suffix) != meaning_of(PYTHON if suffix == ".py" else C, suffix)


def test_meanings_are_remembered_by_the_bytes_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not" / "there yet"))
    source = tmp_path / "a.py"
    source.write_bytes(PYTHON)
    first = meanings([source])
    [cache] = tmp_path.rglob("model-sources.json")
    [key] = json.loads(cache.read_text())
    cache.write_text(json.dumps({key: "remembered"}))
    assert meanings([source]) == ["remembered"]
    source.write_bytes(PYTHON + b"Y = 1\n")
    assert meanings([source]) not in (first, ["remembered"])


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', "{"])
def test_a_damaged_cache_is_made_anew(tmp_path, monkeypatch, text):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = tmp_path / "a.py"
    source.write_bytes(PYTHON)
    (tmp_path / "neff-bench").mkdir()
    (tmp_path / "neff-bench" / "model-sources.json").write_text(text)
    assert meanings([source]) == [meaning_of(PYTHON, ".py")]


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("in the way")
    source = tmp_path / "a.py"
    source.write_bytes(PYTHON)
    assert meanings([source]) == [meaning_of(PYTHON, ".py")]


def test_two_installations_remember_side_by_side(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("a = 1\n")
    other.write_text("a = 2\n")
    for path in (one, other, one):
        meanings([path])
    [cache] = tmp_path.rglob("model-sources.json")
    assert len(json.loads(cache.read_text())) == 2


def test_the_newest_digests_are_remembered_and_all_of_one_call(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(meaning, "_KEPT", 2)
    paths = [tmp_path / f"{number}.py" for number in range(4)]
    digests = []
    for number, path in enumerate(paths):
        path.write_text(f"a = {number}\n")
        digests.append(meaning_of(path.read_bytes(), ".py"))

    def kept():
        [cache] = tmp_path.rglob("model-sources.json")
        return list(json.loads(cache.read_text()).values())

    for number in range(3):
        assert meanings([paths[number]]) == [digests[number]]
    assert kept() == digests[1:3]
    assert meanings(paths) == digests and kept() == digests
    meanings(paths[:1])
    assert kept() == digests
    assert list(tmp_path.glob("neff-bench/*")) == [tmp_path / "neff-bench" / "model-sources.json"]


def test_strings_and_lines_of_the_preprocessor_keep_their_blanks_and_a_blank_stays_one():
    for one, other, same in (
        (b"a  b", b"a b", True), (b"a b", b"ab", False), (b"#if  A\n", b"#if A\n", False), (b'"/* a */"', b'" "', False),
        (b'"\\"//"', b'"\\"//" ', True), (b"  a\n", b"a", True),
    ):  # fmt: skip
        assert (meaning_of(one, ".c") == meaning_of(other, ".c")) is same, (one, other)
