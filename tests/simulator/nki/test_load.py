"""Kernels that several threads load."""

import sys
import threading
from types import ModuleType

from neff_bench.simulator.nki import load


def test_a_thread_that_waits_for_its_turn_does_not_judge_by_the_modules_of_another(tmp_path, monkeypatch):
    (tmp_path / "k.py").write_text("def kernel(x):\n    return x\n")
    found = []

    def use():
        with load.loaded(f"{tmp_path / 'k.py'}:kernel") as kernel:
            found.append(kernel.__name__)

    thread = threading.Thread(target=use)
    with load._turn:
        sys.modules["nki.isa"] = ModuleType("nki.isa")  # as while another thread's stand-ins go, one by one
        thread.start()
        thread.join(0.3)
        del sys.modules["nki.isa"]
    thread.join()
    assert found == ["kernel"]
