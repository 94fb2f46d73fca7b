"""Which combinations are tried."""

import itertools

import pytest

from neff_bench.doors.tune.search import Search, choices_of
from neff_bench.errors import WrongCall


def test_words_become_values():
    found = choices_of(["TILE=128,256", "BUFS=1:4", "order=mnk,kmn", "fast=true"])
    assert found == {"TILE": (128, 256), "BUFS": (1, 2, 3, 4), "order": ("mnk", "kmn"), "fast": (True,)}


@pytest.mark.parametrize("word", ["TILE", "TILE=", "1x=2", "BUFS=4:1"])
def test_a_word_without_values_is_a_wrong_call(word):
    with pytest.raises(WrongCall, match="--vary"):
        choices_of([word])


def test_a_name_stands_once():
    with pytest.raises(WrongCall, match="twice"):
        choices_of(["TILE=1", "TILE=2"])


def test_a_small_grid_is_tried_whole():
    search = Search({"a": (1, 2), "b": ("x", "y")}, trials=4, seed=0)
    assert list(search) == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]


def planted(a, b, c):
    """A time with one best combination, (3, 1, "y")."""
    return 10.0 + (a - 3) ** 2 + 2 * abs(b - 1) + (c != "y")


@pytest.mark.parametrize("seed", range(3))
def test_a_search_finds_the_planted_best_and_repeats_nothing(seed):
    choices = {"a": tuple(range(10)), "b": tuple(range(8)), "c": ("x", "y", "z")}
    search, tried = Search(choices, trials=60, seed=seed), []
    for combination in search:
        tried.append(combination)
        search.tell(combination, planted(*combination))
    assert len(set(tried)) == len(tried) == 60
    assert (3, 1, "y") in tried


def test_combinations_that_are_no_good_are_left():
    """Failures do not end the search, and it does not stay among them."""
    choices = {"a": tuple(range(12)), "b": tuple(range(12))}
    search, bad = Search(choices, trials=60, seed=1), 0
    for a, b in search:
        bad += a < 6
        search.tell((a, b), None if a < 6 else 1.0 + b)
    assert bad < 30


def test_several_may_be_under_way():
    search = Search({"a": tuple(range(20)), "b": tuple(range(20))}, trials=30, seed=0)
    waiting = []
    for combination in search:
        waiting.append(combination)
        if len(waiting) == 3:
            search.tell(first := waiting.pop(0), float(sum(first)))
    assert len(set(itertools.chain(waiting, search._results))) == 30
