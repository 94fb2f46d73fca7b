"""The rows of the five documents: each has a call that exists here, and a word on how it compares."""

from __future__ import annotations

import re
import shlex
from functools import reduce

import click
import pytest
import tomllib

import neff_bench.cli
from neff_bench.simulator.commands.cli import main as neuron_sim
from tests.tools.documents import ROOT, calls, rows

ROWS_OF = {
    "matmul-latency.md": 36,
    "tiles-and-neff-files.md": 24,
    "mlp-comparison.md": 36,
    "profiling-a-kernel.md": 30,
    "linear-projections.md": 34,
}
"""Page -> capabilities, commands, options, fields and behaviours of its document: 160 in all."""

STAGES = {"generate-neffs": "generate", "profile-neffs": "profile"}
"""The commands of the stages are subcommands of neff-bench too."""


EVERY = [pytest.param(*row, id=f"{page}: {row[0]}") for page in ROWS_OF for row in rows(page)]


def test_no_row_is_left_out():
    assert {page: len(rows(page)) for page in ROWS_OF} == ROWS_OF
    assert sum(ROWS_OF.values()) == 160


def call_exists(words: list[str]) -> None:
    """Raises click's own error for an unknown command, option or value."""
    if words[0] in STAGES:
        words = ["neff-bench", STAGES[words[0]], *words[1:]]
    name, *arguments = words
    group = {"neff-bench": neff_bench.cli.main, "neuron-sim": neuron_sim}[name]
    context = group.make_context(name, list(arguments))
    while isinstance(context.command, click.Group):
        inner, command, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(inner, rest, parent=context)


@pytest.mark.parametrize(("row", "here", "verdict"), EVERY)
def test_a_row_has_a_call_that_exists_and_a_verdict(row, here, verdict, tmp_path, monkeypatch):
    (tmp_path / "nki-library").mkdir()
    monkeypatch.chdir(tmp_path)
    assert row and re.fullmatch(r"same|(same|better): \S.*", verdict)
    found = calls((row, here, verdict))
    assert found and re.sub(r"`[^`]+`", "", here).strip(" ,") == ""
    for call in found:
        exists(call)


def exists(call: str) -> None:
    words = shlex.split(call)
    if call.startswith("neff_bench."):
        assert reduce(getattr, call.split(".")[1:], neff_bench)
    elif words[:2] == ["pip", "install"]:
        extra = re.fullmatch(r"(?:neff-bench|\.)\[(\w+)\]", words[2])[1]
        assert extra in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    else:
        call_exists(words)


def test_a_call_that_does_not_exist_is_noticed():
    for call in ("neff-bench latencies", "neff-bench latency --presets llm", "profile-neffs neffs --hot x"):
        with pytest.raises(click.ClickException):
            call_exists(shlex.split(call))
