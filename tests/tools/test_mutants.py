"""The mutants of tools/mutate.py, and how their tests are chosen."""

import ast
import random

import pytest

from tools import mutate
from tools.mutants import mutants

CASES = {
    "x = 5": {"6"},
    "x = 0.5": {"0.55"},
    "x = True": {"False"},
    "x = a < b": {"a <= b", "a >= b"},
    "x = a <= b < c": {"a < b < c", "a > b < c", "a <= b <= c", "a <= b >= c"},
    "x = (a + b) * c": {"(a + b) / c", "a - b"},
    "x = (y := a) is not b": {"(y := a) is b"},
    "x = a and b and c": {"((b) and (c))", "((a) and (c))", "((a) and (b))"},
    "x = not a": {"bool(a)"},
    "x = a if b else c": {"(a)", "(c)"},
    "x = min(é, b)": {"max"},
    "x = f(é, b, 'c')": {"f(b, é, 'c')"},
    "x = zip(a, b, strict=True)": {"zip(b, a, strict=True)"},
    "class A(B, gc=False, frozen=True): pass": set(),
    "class A(B, kw_only=True): pass": {"False"},
    "x = decode(a, strict=True)": {"False"},
    "x = build(a, frozen=True)": {"False"},
    'x: list[3] = f"{1} of {2}"': set(),
    'x = "a" + b': set(),
}


@pytest.mark.parametrize("line", CASES)
def test_a_line_has_its_mutants(line):
    found = mutants("a.py", line.encode())
    assert {mutant.new for mutant in found} == CASES[line]
    for mutant in found:
        assert mutant.place(line.encode()).decode() == line.replace(mutant.old, mutant.new, 1)


def test_mutants_of_the_product_are_python():
    rooms = (
        "neff_bench/chips",
        "neff_bench/terminal",
        "parsers",
        "neffs",
        "stage1_generate/shapes",
        "stage2_profile/gate",
    )
    every = mutate.choose(list(rooms), 10**9, 1)
    assert {room for room in rooms for mutant in every if mutant.path.startswith(room)} == set(rooms)
    for mutant in random.Random(1).sample(every, 300):
        ast.parse(mutant.place((mutate.ROOT / mutant.path).read_bytes()))


def test_a_choice_is_that_of_its_seed():
    first, again, other = (mutate.choose(["parsers"], 20, seed) for seed in (1, 1, 2))
    assert first == again != other


@pytest.fixture
def tests(monkeypatch, tmp_path):
    """A record of three tests: two of a function, one that only imports."""
    from coverage import CoverageData

    monkeypatch.setattr(mutate, "RECORD", tmp_path)
    (tmp_path / "seconds.json").write_text('{"t.py::slow": 50, "t.py::quick[a b]": 1, "t.py::other": 2}')
    data = CoverageData(str(tmp_path / "coverage"))
    lines = {
        "": [1],
        "t.py::slow|run": [1, 2, 5],
        "t.py::quick[a b] (call)": [2],
        "t.py::other|run": [3],
        "t.py::failed|run": [2],
    }
    for context, numbers in lines.items():
        data.set_context(context)
        data.add_lines({"a.py": numbers})
    data.write()
    return mutate.Tests()


SOURCE = b"A = 1\ndef f(b): return b < A\ndef g(): return 2\n@cache\ndef h(): return 3\n"
ALL = ["t.py::quick[a b]", "t.py::other", "t.py::slow"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (2, ["t.py::quick[a b]", "t.py::slow"]),
        (3, ["t.py::other"]),
        (1, ALL),
        (5, ALL),
    ],
)
def test_tests_are_those_that_run_the_line_or_the_file_of_what_runs_once_the_quickest_first(tests, line, expected):
    mutant = next(mutant for mutant in mutants("a.py", SOURCE) if mutant.line == line)
    assert tests.of(mutant) == expected


def test_tests_that_have_another_name_now_are_not_asked(tests, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "-q"\n')
    (tmp_path / "t.py").write_text("def test_one(): ...\nclass TestTwo:\n    def test_two(self): ...\n")
    (tmp_path / "test_t.py").write_text("from t import *\n")
    assert mutate.collected(tmp_path) == {"test_t.py::test_one", "test_t.py::TestTwo::test_two"}
    tests.keep({"t.py::slow"})
    assert tests.of(next(mutant for mutant in mutants("a.py", SOURCE) if mutant.line == 2)) == ["t.py::slow"]


def test_tests_end_with_the_budget(tests, monkeypatch):
    monkeypatch.setattr(mutate, "BUDGET_S", 10.0)
    assert tests.of(mutants("a.py", SOURCE)[1]) == ["t.py::quick[a b]"]


def test_the_page_counts_by_room_and_leaves_equivalent_ones_out(tmp_path):
    import argparse

    one, two, *_ = mutants("neff_bench/viewer/a.py", SOURCE)
    verdicts = [mutate.Verdict(one, True, 3), mutate.Verdict(two, False, 3), mutate.Verdict(two, False, 0, "the same")]
    text = mutate.page(verdicts, argparse.Namespace(of=["neff_bench"], seed=1))
    assert "| viewer | 1 | 1 | 0 | 1 | 50% |" in text
    assert "- `neff_bench/viewer/a.py:2: b < A -> b <= A`: the same" in text


def test_equivalent_mutants_are_mutants_of_today():
    for path, line, old, new in mutate.equivalent():
        found = mutants(path, (mutate.ROOT / path).read_bytes())
        known = {(m.text(mutate.ROOT), mutate.one_line(m.old), mutate.one_line(m.new)) for m in found}
        assert (line, old, new) in known, (path, line, old, new)
