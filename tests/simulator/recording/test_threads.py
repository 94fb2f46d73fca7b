"""Each thread records a kernel of its own."""

import threading

import pytest

from neff_bench.simulator.errors import KernelError
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.recording.recorder import is_recording, recorder, recording


def _in_a_thread(call):
    found = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    return found[0]


def _copies(count):
    with recording("trn2") as now:
        tile = nl.ndarray((128, 8), nl.float32)
        for _ in range(count):
            nisa.tensor_copy(dst=tile, src=tile)
        return len(now.instructions)


def test_a_kernel_gets_its_own_instructions_while_another_thread_records():
    with recording("trn1") as now:
        tile = nl.ndarray((128, 8), nl.float32)
        assert _in_a_thread(lambda: _copies(3)) == 3
        nisa.tensor_copy(dst=tile, src=tile)
        assert recorder() is now and len(now.instructions) == 1


def test_a_thread_that_records_nothing_has_no_kernel():
    def outside():
        assert not is_recording()
        with pytest.raises(KernelError, match="inside a kernel only"):
            recorder()
        return True

    with recording("trn2"):
        assert _in_a_thread(outside)


def test_a_kernel_that_records_another_one_goes_on_with_its_own():
    with recording("trn2") as outer:
        with recording("trn1") as inner:
            assert recorder() is inner
        assert recorder() is outer
    assert not is_recording()
