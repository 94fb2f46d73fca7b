"""Cases of a page from timelines alone."""

from dataclasses import replace

from neff_bench.viewer.page.cases import case_of, notes_of, page_of
from neff_bench.viewer.roofline import Point
from tests.viewer.page.profiles import small


def test_a_case_has_the_sources_roofs_and_place_of_its_timeline(tmp_path):
    (tmp_path / "kernel.py").write_text("x = 1\n")
    case = case_of(small(), [tmp_path])
    assert case.name == "profile" and case.sides[0].texts == {"kernel.py": "x = 1\n"} and case.problem is None
    assert case.roofs.target == "trn2" and case.points == (Point("profile", 40.0, 4e9),)
    assert case_of(replace(small(), summary={}), []).points == ()
    assert b'<option value=1>profile</option>' in page_of([small(), small()], [])


def test_a_file_that_only_a_call_stack_names_is_shown_too(tmp_path):
    timeline = small()
    timeline.instructions[1].nki_call_stack = ("caller.py:9",)
    timeline.instructions[2].nki_source_location, timeline.instructions[2].nki_call_stack = None, ("lost.py:1",)
    for name in ("caller.py", "lost.py"):
        (tmp_path / name).write_text(name)
    assert case_of(timeline, [tmp_path]).sides[0].texts == {"caller.py": "caller.py"}


def test_a_simulated_timeline_says_by_whom_and_how_far_off():
    unknown = "SIMULATED by neuron-sim, model of the trace: no device ran. Times: the trace does not say how far off they are."
    assert notes_of(small(simulated=True)) == (unknown,)
    said = {"profiler_version": "neuron-sim 1", "simulator_model": "trn2-2", "simulator_time_error": "5 %"}
    known = "SIMULATED by neuron-sim 1, model trn2-2: no device ran. Times: 5 %."
    assert notes_of(replace(small("x", simulated=True), summary=said)) == ("note x", known)


def test_a_timeline_of_a_cold_execution_says_so():
    cold = {"total_time": 1870e-6, "tensor_engine_active_time": 2e-6, "dma_active_time": 2.3e-6}
    [note] = case_of(replace(small(), summary=cold), []).notes
    assert note.startswith(
        "engines and DMAs are active for at most 5 of 1870 us: this looks like a first (cold) execution"
    )
    assert case_of(replace(small(), summary=cold | {"dma_active_time": 900e-6}), []).notes == ()
    assert case_of(replace(small(), summary={"total_time": 1870e-6}), []).notes == ()


def test_instructions_without_a_name_are_counted():
    assert notes_of(small()) == ()
    [note] = notes_of(replace(small(), unnamed_count=2))
    assert note == "2 of 3 instructions could not be laid over the NEFF's: they have no name and no source line."
