"""A timeline in process, as columns, beside the one that is read from the profile's JSON."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from neff_bench.doors.estimation import record_kernel, simulated
from neff_bench.parsers.event_tables import timeline_of_json
from neff_bench.simulator.files.in_process import shown, unlinked, with_sensitivities
from neff_bench.simulator.files.neff import read_neff_content, write_neff
from neff_bench.simulator.files.profile import full_profile
from neff_bench.viewer.advice import advise
from neff_bench.viewer.critical_path import critical_path
from neff_bench.viewer.page.cases import page_of
from tests.simulator.programs import meeting

MATMUL = "neff_bench.stage1_generate.kernels.matmul_nki:matmul"


@pytest.fixture(scope="module", params=[1, 2, "two that meet"])
def both(request, tmp_path_factory):
    """The same program's timeline, in process and from JSON, and the program."""
    inputs = {"lhs": ((256, 512), "bfloat16"), "rhs": ((512, 128), "bfloat16")}
    cores = request.param
    program = meeting() if cores == "two that meet" else record_kernel(MATMUL, inputs, "trn2", cores, {})
    path = tmp_path_factory.mktemp("in_process") / "x.neff"
    write_neff(program, str(path))
    timed = simulated(program)
    tables = full_profile(
        read_neff_content(str(path)), timed.schedule, timed.timeline, range(program.lnc), "x.neff", "x.ntff"
    )
    data = orjson.dumps(tables, option=orjson.OPT_SERIALIZE_NUMPY)
    here = shown("x", program, timed.schedule, timed.timeline, timed.keys)
    return (
        with_sensitivities(here, program, timed.schedule),
        replace(timeline_of_json(data, linked=True), path="x"),
        data,
    )


def test_its_rows_are_those_of_the_json(both):
    here, read, data = both
    for name in ("instructions", "dma", "semaphores", "usage", "sensitivity"):
        assert list(getattr(here, name)) == list(getattr(read, name)), name
    assert here.instructions[5] == read.instructions[5] and here.dma[-1:] == read.dma[-1:]
    plain, read_plain = unlinked(here), timeline_of_json(data)
    assert list(plain.instructions) == read_plain.instructions and list(plain.dma) == read_plain.dma


def test_columns_and_rows_give_the_same_path_advice_and_page(both):
    here, read, _ = both
    assert critical_path(here) == critical_path(read) != ()
    assert advise(here) == advise(read) != ()
    assert page_of([here], []) == page_of([replace(read, summary=here.summary)], [])
