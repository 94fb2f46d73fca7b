"""One line for a file that cannot be read."""

from pathlib import Path

import pytest

from neff_bench.parsers.errors import ParseError, guarded


@pytest.mark.parametrize(
    ("offset", "said"), [(None, "a/b.ntff: torn"), (0, "a/b.ntff: offset 0: torn"), (17, "a/b.ntff: offset 17: torn")]
)
def test_an_error_says_file_and_offset(offset, said):
    assert str(ParseError(Path("a/b.ntff"), offset, "torn")) == said


@pytest.mark.parametrize(("length", "shown"), [(400, "x" * 400), (401, "x" * 400 + "...")])
def test_a_damaged_file_does_not_fill_the_screen(length, shown):
    assert ParseError("a", None, "x" * length).what == shown


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (("a.ntff",), ValueError("no"), "a.ntff: damaged (ValueError: no)"),
        ((Path("a.ntff"),), FileNotFoundError(2, "No such file"), "a.ntff: No such file"),
        (("a.ntff",), OSError("odd"), "a.ntff: odd"),
        ((b"bytes",), RecursionError(), "<bytes>: nested too deeply"),
        ((), MemoryError(), ": reading it needs more memory than there is"),
        (("a.ntff",), ParseError("b.ntff", 3, "known"), "b.ntff: offset 3: known"),
    ],
)
def test_whatever_is_wrong_is_told_of_the_file(arguments, error, said):
    @guarded
    def read(*_):
        raise error

    with pytest.raises(ParseError) as caught:
        read(*arguments)
    assert str(caught.value) == said
