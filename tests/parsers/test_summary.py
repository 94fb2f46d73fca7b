"""The profiler's summary: its keys by one rule, and which values a key may have."""

import pytest

from neff_bench.parsers.summary import Summary, attribute, summary_from


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("total_time", "total_time_s"), ("mfu_estimated_percent", "mfu_estimated_fraction"), ("event_count", "event_count"),
        ("throttle_time", "throttle_time_s"), ("percent", "percent"), ("time", "time"),
    ],
)  # fmt: skip
def test_a_key_has_a_name_with_its_unit(key, name):
    assert attribute(key) == name


def test_keys_are_known_throttling_or_kept_as_they_stand():
    found = summary_from(
        {
            "total_time": 2,
            "event_count": 3.0,
            "instance_type": "trn2",
            "is_simulation": True,
            "throttle_a_percent": 1,
            "new": [1],
        }
    )
    assert found == Summary(
        total_time_s=2.0, event_count=3, instance_type="trn2", is_simulation=True, throttle={"throttle_a_fraction": 1.0},
        unknown={"new": [1]},
    )  # fmt: skip
    assert isinstance(found.total_time_s, float) and isinstance(found.event_count, int)
    assert summary_from({"total_time": None}) == Summary()


def test_a_key_that_has_the_name_of_an_attribute_is_no_mapping():
    assert summary_from({"throttle": 1, "unknown": 2}).unknown == {"throttle": 1, "unknown": 2}


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("total_time", "1", "expected a number, found str"), ("event_count", True, "expected a number, found bool"),
        ("event_count", 1.5, "expected a whole number, found 1.5"), ("event_count", 1 << 63, "is no count, time or fraction"),
        ("total_time", float("nan"), "nan is no count"), ("nc_idx", -(1 << 63), "is no count, time or fraction"),
        ("total_time", float("-inf"), "-inf is no count"), ("total_time", -1e-9, "-1e-09 is negative"),
        ("mfu_estimated_percent", -1, "-1 is negative"), ("instance_type", 1, "expected str, found int"),
        ("is_simulation", 1, "expected bool, found int"), ("throttle_time", -1, "-1 is negative"),
        ("throttle_x", None, "expected a number, found NoneType"),
    ],
)  # fmt: skip
def test_a_value_that_its_key_cannot_have_is_told(key, value, says):
    with pytest.raises(ValueError, match=f"^summary key {key}: .*{says}"):
        summary_from({key: value})


def test_the_largest_number_and_negative_indices_are_values():
    found = summary_from({"event_count": (1 << 63) - 1, "nc_idx": -1, "total_time": 0, "throttle_x": -2})
    assert (found.event_count, found.nc_idx, found.total_time_s, found.throttle) == (
        (1 << 63) - 1,
        -1,
        0.0,
        {"throttle_x": -2.0},
    )


def test_a_summary_without_any_time_is_no_profiles():
    assert not Summary(event_count=1, dma_active_cycles=1).has_times
    assert Summary(total_time_s=0.0).has_times and Summary(cc_op_time_s=1.0).has_times
