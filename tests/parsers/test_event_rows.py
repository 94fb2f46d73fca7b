"""Names in the rows of a timeline."""

import pytest

from neff_bench.parsers.event_rows import Dependence, InstructionRow, LinkedDmaRow, LinkedInstructionRow, core_name


@pytest.mark.parametrize(
    ("subgraph", "name"),
    [("sg00", "core 0"), ("sg12", "core 12"), ("sg", "sg"), ("0", "0"), ("sgx", "sgx"), ("", ""), ("sg-1", "sg-1")],
)
def test_a_subgraph_is_called_after_its_core(subgraph, name):
    assert core_name(subgraph) == name


def test_a_dependence_of_another_kind_is_another_one():
    assert Dependence("FLOW_DEPENDENCE") is Dependence.FLOW and Dependence("NEW") is Dependence.OTHER


def test_a_number_that_a_file_does_not_tell_is_minus_one():
    row = LinkedInstructionRow()
    assert (InstructionRow().pc, row.pc, row.id, row.meets, LinkedDmaRow().trigger) == (-1,) * 5
