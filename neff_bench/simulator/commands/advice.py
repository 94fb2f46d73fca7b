"""Advice on a simulated program: the viewer's findings for its timeline, and what each constant of the chip would gain."""

from __future__ import annotations

from typing import NamedTuple

from neff_bench.parsers.event_tables import timeline_of_json
from neff_bench.simulator.commands.view import Profile, tables_of
from neff_bench.viewer.advice import Advice, advise, sensitivity


class Findings(NamedTuple):
    """Both by gain, the largest first. `sensitivity` is empty for a program that it would take long for."""

    advice: tuple[Advice, ...]
    sensitivity: tuple[Advice, ...]


def advice_on(profile: Profile, neff_name: str) -> Findings:
    """The same that `neff-bench view` and the pages say of the profile."""
    import orjson

    timeline = timeline_of_json(orjson.dumps(tables_of(profile, neff_name, "")), linked=True)
    return Findings(advise(timeline), sensitivity(timeline))
