import json
import os
import subprocess

import pytest

from neff_bench.terminal.answer import Answer, Column, Grid
from neff_bench.terminal.formats import FORMATS, Page, render
from neff_bench.terminal.text import csv_cell, markdown, plain, plain_json, shell_word

HOSTILE = "a\x1b[31m\u202eb\nc\udcff"


def test_plain_text_stays_as_it_is():
    assert plain("mlp größe × 日本 /a b/") == "mlp größe × 日本 /a b/"


@pytest.mark.parametrize("character", ["\x1b", "\u202e", "\n", "\r", "\x9b", "\u2028", "\udcff", "\x7f", "\u200b"])
def test_what_does_not_print_is_written_out(character):
    shown = plain(f"a{character}b")
    assert shown.isprintable() and shown[0] == "a" and shown[-1] == "b" and "\\" in shown


@pytest.mark.parametrize("format", FORMATS)
def test_no_format_lets_a_control_code_or_a_line_through(format):
    grid = Grid([Column("name")], [[HOSTILE]], [HOSTILE], HOSTILE)
    text = render(Answer([{"name": HOSTILE}], ["name"], [grid]), format, Page())
    assert all(line.isprintable() for line in text.splitlines())
    assert "\x1b" not in text and "\u202e" not in text
    text.encode()
    if format == "json":
        assert json.loads(text) == [{"name": plain(HOSTILE)}]
    if format == "csv":
        assert len(text.splitlines()) == 2


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@sum", "-36 to +17 %"])
def test_a_cell_is_no_formula(text):
    assert csv_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["-1.5", "+3", "-1e-7", "mlp", -2, None, 1.5])
def test_a_cell_that_is_a_number_or_plain_text_stays(value):
    assert csv_cell(value) == value


@pytest.mark.parametrize("text", ["[x](http://a.b)", "![x](a)", "www.a.b", "<b>", "@user", "https://a.b", "a|b", "`x`"])
def test_markdown_makes_nothing_of_a_name(text):
    shown = markdown(text)
    for mark in ("](", "://", "www.", "<", "@", " | "):
        assert mark not in shown
    assert "|" not in shown.replace("\\|", "") and "`" not in shown


def test_json_keeps_what_it_says_and_shows_no_control_code():
    document = json.dumps({"name": HOSTILE[:-1] + "\x7f"}, ensure_ascii=False, indent=2).encode()
    shown = plain_json(document)
    assert all(line.isprintable() for line in shown.splitlines())
    assert json.loads(shown) == json.loads(document)


def test_a_shell_takes_a_word_for_what_it_is():
    for word in ("a b", "it's", "x\ny\x1b[31m'\\z", "\udcff"):
        done = subprocess.run(["bash", "-c", f"printf %s {shell_word(word)}"], capture_output=True, check=True)
        assert os.fsdecode(done.stdout) == word and shell_word(word).isprintable()
