"""What a run says of its executions."""

from types import SimpleNamespace

import pytest

from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.metrics.summarise import _inputs_rewritten, _numbered, _single_io


def run(*commands, num_exec=2, tool="neuron-profile", executions=()):
    said = tuple(SimpleNamespace(step=step, argv=argv.split()) for step, argv in commands)
    found = tuple(SimpleNamespace(execution=number, summary=summary) for number, summary in executions)
    return SimpleNamespace(commands=said, num_exec=num_exec, tool=tool, executions=found)


ALIAS = "capture --write-tensors-per-exec alias"


@pytest.mark.parametrize(
    ("record", "rewritten"),
    [
        (run(), False), (run(num_exec=1), True), (run(tool=runs.UNTRACED), True), (run(("capture", ALIAS)), True),
        (run(("view", ALIAS)), False), (run(("capture", ALIAS), ("capture", "capture")), False),
        (run(("capture", "capture"), ("capture", ALIAS), ("view", "view")), True),
    ],
)  # fmt: skip
def test_inputs_are_as_they_were_where_the_last_capture_wrote_them_again(record, rewritten):
    assert _inputs_rewritten(record) == rewritten


def test_one_buffer_for_all_tensors_is_asked_for_by_a_capture():
    assert _single_io(run(("capture", "capture --single-io"))) and not _single_io(run(("view", "view --single-io")))


@pytest.mark.parametrize(
    ("executions", "numbers"),
    [
        (((4, "a"), (2, "b")), [2, 4]), (((4, "a"), (4, "b"), (2, None)), [2, 3]), ((), [2, 3]), (((4, None), (2, "b")), [2, 3]),
    ],
)  # fmt: skip
def test_summaries_have_the_numbers_of_their_executions_else_from_the_second_on(executions, numbers):
    assert [number for number, _ in _numbered(run(executions=executions), ["x", "y"])] == numbers
