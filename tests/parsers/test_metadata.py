"""What a profile says of its device, under the keys of neuron-profile and of explorer."""

import pytest

from neff_bench.parsers.metadata import Metadata, metadata_from

OLD = {"pe_clock_freq": 2.4, "pe_clock_others": 1.4, "pe_num_rows": 128, "pe_num_cols": 64}
NEW = {
    "tensor_engine_clock_freq": 2.4, "neuroncore_clock_freq": 1.4, "tensor_engine_num_rows": 128.0, "tensor_engine_num_cols": 64,
}  # fmt: skip
BOTH = {"hbm_ddr_bandwidth": 716e9, "num_physical_cores": 2, "ntff_version": 6}


@pytest.mark.parametrize("keys", [OLD, NEW])
def test_both_tools_say_the_same(keys):
    assert metadata_from({**keys, **BOTH}) == Metadata(2.4e9, 1.4e9, 128, 64, 716e9, 2, 6)


def test_the_older_key_counts_where_both_are_there():
    assert metadata_from({**dict.fromkeys(NEW, 9), **OLD, **BOTH}) == metadata_from({**OLD, **BOTH})
    assert metadata_from({"pe_clock_freq": None, "tensor_engine_clock_freq": 3}).tensor_clock_hz == 3e9


@pytest.mark.parametrize("value", [None, "716", [1], 1e300, -1e300, float("inf")])
def test_what_is_no_number_of_a_device_is_not_known(value):
    assert metadata_from(dict.fromkeys({**OLD, **BOTH}, value)) == Metadata(*[None] * 7)


def test_nothing_said_is_nothing_known_and_zero_is_said():
    assert metadata_from({}) == Metadata(*[None] * 7)
    assert metadata_from(dict.fromkeys({**OLD, **BOTH}, 0)) == Metadata(*[0] * 7)
