import pytest

from neff_bench.parsers.errors import ParseError
from neff_bench.simulator.files.neff import read_neff_content, write_neff
from neff_bench.simulator.files.ntff import write_ntff
from neff_bench.simulator.hlo.lower import lower_hlo
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.timeline import timeline_of
from neff_bench.stage1_generate.kernels.matmul_xla import matmul
from neff_bench.stage1_generate.toolchains.xla import trace
from neff_bench.stage2_profile.view.simulated import simulated_events


def made(directory, columns):
    program = lower_hlo(trace(matmul, [((128, 128), "float16"), ((128, columns), "float16")]), "inf2", 1)
    neff, ntff = directory / f"{columns}.neff", directory / f"{columns}.ntff"
    write_neff(program, str(neff))
    timed = schedule(program)
    write_ntff(read_neff_content(str(neff)), timed, timeline_of(timed), str(ntff))
    return neff, ntff


def test_a_simulated_trace_beside_its_neff_has_the_names_of_its_program(tmp_path, capsys):
    neff, ntff = made(tmp_path, 64)
    where = {event.where for event in simulated_events(ntff, neff)}
    assert any(text.startswith("%dot") for text in where)
    other, _ = made(tmp_path, 32)
    with pytest.raises(ParseError):
        simulated_events(ntff, other)
    assert "without source lines: " in capsys.readouterr().err
