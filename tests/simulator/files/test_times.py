from dataclasses import fields, replace

import numpy as np
import pytest

from neff_bench.chips import CHIPS
from neff_bench.simulator.errors import ViewError
from neff_bench.simulator.files.times import decode_times, encode_times
from neff_bench.simulator.timing.schedule import CoreSchedule, Runs, schedule
from tests.simulator.programs import matmul


@pytest.fixture(scope="module", params=[False, True])
def timed(request):
    return schedule(matmul(lnc=2, tiles=5), first_execution=request.param)


def codes_of(timed):
    return [core.code for core in timed.cores]


def test_a_schedule_comes_back_bit_for_bit(timed):
    found = decode_times(encode_times(timed), codes_of(timed), CHIPS["trn2"], timed.first_execution)
    for name in ("first", "total_ns", "fixed_ns", "first_execution", "overheads"):
        assert getattr(found, name) == getattr(timed, name)
    for core, expected in zip(found.cores, timed.cores, strict=True):
        for name in (field.name for field in fields(CoreSchedule) if field.name != "runs"):
            assert np.array_equal(getattr(core, name), getattr(expected, name)), name
        for name in (field.name for field in fields(Runs)):
            assert np.array_equal(getattr(core.runs, name), getattr(expected.runs, name)), name


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"", lambda data: b"\x01"])
def test_damaged_times_are_one_line(timed, damage):
    with pytest.raises(ViewError, match="damaged NTFF"):
        decode_times(damage(encode_times(timed)), codes_of(timed), CHIPS["trn2"], False)


def test_times_of_other_code_are_refused(timed):
    other = codes_of(schedule(matmul(lnc=2, tiles=4)))
    with pytest.raises(ViewError, match="not those of the NEFF's instructions"):
        decode_times(encode_times(timed), other, CHIPS["trn2"], False)
    fewer = [replace(code, transfers=code.transfers[:-1]) for code in codes_of(timed)]
    with pytest.raises(ViewError, match="not those of the NEFF's instructions"):
        decode_times(encode_times(timed), fewer, CHIPS["trn2"], False)
