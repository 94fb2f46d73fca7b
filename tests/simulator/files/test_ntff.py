import pytest

from neff_bench.parsers.ntff import read_ntff
from neff_bench.simulator.errors import ViewError
from neff_bench.simulator.files.neff import read_neff_content, write_neff
from neff_bench.simulator.files.ntff import read_head, write_ntff
from neff_bench.simulator.timing.counters import summarise
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.timeline import timeline_of
from tests.simulator.programs import matmul


@pytest.fixture
def trace(tmp_path):
    write_neff(matmul(lnc=2, tiles=5), str(tmp_path / "file.neff"))
    neff = read_neff_content(str(tmp_path / "file.neff"))
    timed = schedule(neff.program)
    timeline = timeline_of(timed)
    write_ntff(neff, timed, timeline, str(tmp_path / "p.ntff"))
    return tmp_path / "p.ntff", neff, summarise(neff.program, timed, timeline)


def test_the_common_reader_finds_the_figures_of_the_summary(trace):
    path, neff, summary = trace
    read = read_ntff(path)
    assert read.version == 230 and read.certainty == "simulated"
    assert read.uuid == neff.uuid.hex()
    assert read.total_time_s == pytest.approx(summary["total_time"])
    assert read.matmul_instruction_count == summary["matmul_instruction_count"]
    assert read.event_count == summary["event_count"]
    for name, engine in read.engines.items():
        assert engine.instruction_count == summary[f"{name}_engine_instruction_count"]
        assert engine.active_time_s == pytest.approx(summary[f"{name}_engine_active_time"])
    assert read.dma.active_time_s == pytest.approx(summary["dma_active_time"])
    assert not read.undecoded


def test_head_names_program_and_model(trace):
    path, neff, summary = trace
    head = read_head(str(path))
    assert head.uuid == neff.uuid
    assert max(head.core_ps) == head.total_ps == round(summary["total_time"] * 1e12)
    assert len(head.core_ps) == 2


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda data: b"", "empty"),
        (lambda data: data[: len(data) // 2], "damaged|truncated"),
        (lambda data: data[:100], "truncated"),
        (lambda data: b"\x07" + data[1:], "NTFF version 7 is not supported"),
        (lambda data: data[:-8] + b"\xff" * 8, "damaged"),
    ],
)
def test_damage_is_one_line(trace, damage, says):
    path = trace[0]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ViewError, match=says) as raised:
        read_head(str(path))
    assert "\n" not in str(raised.value)
