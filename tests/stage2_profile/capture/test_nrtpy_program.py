"""The program that uses nrtpy, here in this process: what it asks of nrtpy, and what it writes."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from neff_bench.stage2_profile.capture import nrtpy_program
from neff_bench.stage2_profile.capture.nrtpy_program import cores, folder_of, main

FAKE = Path(__file__).parents[1] / "fake_nrtpy" / "nrtpy.py"
CALL = ["--neff", "file.neff", "--warmup", "3", "--iterations", "4", "--output", "out"]


@pytest.fixture
def nrtpy(tmp_path, monkeypatch):
    """The stand-in for nrtpy as a module of this process, in a directory with a NEFF; `asked` holds how its model was called."""
    spec = importlib.util.spec_from_file_location("nrtpy", FAKE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "nrtpy", module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NEURON_RT_VISIBLE_CORES", raising=False)
    neff = {"outputs": {"out": np.arange(2, dtype=np.float32).tobytes().hex()}, "total_time": 1e-4}
    Path("file.neff").write_text(json.dumps(neff))
    module.asked = []

    class Model(module.NrtpyModel):
        @classmethod
        def load_from_neff(cls, path, **words):
            module.asked.append(("load", words))
            return super().load_from_neff(path, **words)

        def __call__(self, inputs, **words):
            module.asked.append(
                ("run", {name: (tensor.numpy().tolist(), tensor.shape) for name, tensor in inputs.items()})
            )
            return super().__call__(inputs, **words)

    module.NrtpyModel = Model
    return module


def call(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["nrtpy_program.py", *words])
    return main()


def result(folder=""):
    return json.loads(Path(folder, "benchmark.json").read_text())


@pytest.mark.parametrize(("text", "numbers"), [("3", [3]), ("0-1,4", [0, 1, 4]), ("2-2,7-9", [2, 7, 8, 9])])
def test_cores_are_numbers_and_ranges(text, numbers):
    assert list(cores(text)) == numbers


def test_a_single_rank_has_no_folder():
    assert [folder_of(0, 1), folder_of(0, 2), folder_of(1, 2)] == ["", "output_worker_0/", "output_worker_1/"]


def test_outputs_and_times_of_one_rank_are_written_whole(nrtpy, monkeypatch, capsys):
    np.array([1, 2, 3, 4, 5, 6], np.int16).tofile("inp-x-000.bin")
    np.array([7.0], np.float32).tofile("inp-s-000.bin")
    inputs = ["--input", "0", "x", "int16", "2x3", "inp-x-000.bin", "--input", "0", "s", "float32", "", "inp-s-000.bin"]
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "4-5")
    configured = []
    monkeypatch.setattr(nrtpy, "configure", lambda visible_cores: configured.append(visible_cores))
    made = nrtpy.NrtpyTensor.from_numpy
    monkeypatch.setattr(nrtpy.NrtpyTensor, "from_numpy", lambda array, name, core_id: made(array, name + f"@{core_id}"))
    assert call(monkeypatch, *CALL, *inputs) == 0
    given = {"x": ([1, 2, 3, 4, 5, 6], (2, 3)), "s": ([7.0], ())}
    assert nrtpy.asked == [("load", {"core_id": 0}), ("run", given)] and configured == [[4, 5]]
    assert Path("out").read_bytes() == np.arange(2, dtype=np.float32).tobytes()
    assert capsys.readouterr().out == 'saved output "out" as "out"\n'
    said = result()
    assert (said["nrtpy_version"], said["requested_iterations"], said["warmup_iterations"]) == ("2.34.10.0", 4, 3)
    assert (said["iterations"], len(said["durations_ms"]), said["mode"]) == (4, 4, "device")
    assert not Path("benchmark.json.part").exists()


def test_a_rank_of_several_writes_into_its_folder_and_has_its_own_inputs(nrtpy, monkeypatch):
    for rank in (0, 1):
        np.array([rank], np.int16).tofile(f"{rank}.bin")
    inputs = [word for rank in ("0", "1") for word in ("--input", rank, "x", "int16", "1", f"{rank}.bin")]
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "3")
    Path("output_worker_1").mkdir()  # that of an earlier try
    for rank in (1, 0):
        nrtpy._active = False  # each rank is a process of its own
        assert call(monkeypatch, *CALL, *inputs, "--ranks", "2", "--rank", str(rank)) == 0
        assert result(f"output_worker_{rank}")["iterations"] == 4 and Path(f"output_worker_{rank}/out").exists()
        loaded, (_, given) = nrtpy.asked[-2:]
        assert loaded == ("load", {"core_id": 0, "cc_enabled": True, "rank_id": rank, "world_size": 2})
        assert given == {"x": ([rank], (1,))}


def test_executions_are_taken_from_the_system_trace_where_there_is_one(nrtpy, monkeypatch):
    entered = []

    class Session:
        def __enter__(self):
            entered.append(len(nrtpy.asked))
            return self

        def __exit__(self, *_):
            entered.append(len(nrtpy.asked))

        def fetch_events_json(self):
            return json.dumps(
                {"events": [{"event_type": "nc_exec_running", "id": 1}, {"event_type": "nrt_execute"}, {}]}
            )

    traced = ModuleType("nrtpy._nrtpy")
    traced.SystemTraceSession = Session
    monkeypatch.setitem(sys.modules, "nrtpy._nrtpy", traced)
    nrtpy.__path__ = []
    assert call(monkeypatch, *CALL) == 0
    assert result()["events"] == [{"event_type": "nc_exec_running", "id": 1}] and "iterations" not in result()
    assert (result()["requested_iterations"], result()["warmup_iterations"]) == (4, 3)
    assert entered == [1 + 1 + 3, 1 + 1 + 3 + 4]  # the model was loaded, asked for its outputs, and warmed up


def test_an_output_that_the_neff_lacks_ends_the_program(nrtpy, monkeypatch, capsys):
    assert call(monkeypatch, *CALL[:-1], "lost") == 1
    assert "no output 'lost': it has 'out'" in capsys.readouterr().err and not Path("benchmark.json").exists()


def test_an_error_of_nrtpy_is_told_by_its_name(nrtpy, monkeypatch, capsys):
    monkeypatch.setenv("FAKE_NRTPY", "NRT_FAILURE(6)")
    assert call(monkeypatch, *CALL) == 1
    assert "nrtpy.NrtError: NRT Error NRT_FAILURE(6)" in capsys.readouterr().err


def test_the_version_is_that_of_the_wheel_else_what_the_module_says(nrtpy, monkeypatch, capsys):
    assert call(monkeypatch, "--version") == 0
    del nrtpy.__version__
    assert call(monkeypatch, "--version") == 0
    monkeypatch.setitem(sys.modules, "nrtpy", None)
    assert call(monkeypatch, "--version") == 1
    said = capsys.readouterr()
    assert said.out == "nrtpy 2.34.10.0\nnrtpy unknown\n" and "nrtpy cannot be imported" in said.err


class Process:
    """A process that ends at the `after`th look with this code."""

    def __init__(self, after, code):
        self.after, self.code, self.returncode, self.ended = after, code, None, False

    def wait(self, timeout=None):
        import subprocess

        self.after -= 1
        if timeout is not None and self.after > 0:
            raise subprocess.TimeoutExpired("rank", timeout)
        self.returncode = self.code

    def terminate(self):
        self.ended = True


@pytest.mark.parametrize(
    ("granted", "processes", "code", "ended", "on"),
    [
        (None, [(1, 0), (3, 0)], 0, [False, False], ["0", "1"]), ("4-5", [(2, 0), (1, 0)], 0, [False, False], ["4", "5"]),
        ("4", [(1, 0), (1, 0)], 0, [False, False], ["4", "1"]), (None, [(1, 0), (3, 7)], 1, [False, False], ["0", "1"]),
        (None, [(2, 7), (9, 0)], 1, [False, True], ["0", "1"]), (None, [(1, 0), (2, 3), (9, 0)], 1, [False, False, True], ["0", "1", "2"]),
    ],
)  # fmt: skip
def test_ranks_run_on_the_granted_cores_and_end_with_the_first_that_fails(
    monkeypatch, granted, processes, code, ended, on
):
    import subprocess

    if granted is None:
        monkeypatch.delenv("NEURON_RT_VISIBLE_CORES", raising=False)
    else:
        monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", granted)
    made, calls = [Process(*process) for process in processes], []

    def start(argv, env):
        calls.append((argv, env["NEURON_RT_VISIBLE_CORES"]))
        return made[len(calls) - 1]

    monkeypatch.setattr(subprocess, "Popen", start)
    words = ["--ranks", str(len(made))]
    assert call(monkeypatch, *words) == code
    assert [process.ended for process in made] == ended
    assert calls == [
        ([sys.executable, "nrtpy_program.py", *words, f"--rank={rank}"], core) for rank, core in enumerate(on)
    ]


def test_an_input_that_is_not_there_is_told(nrtpy, monkeypatch, capsys):
    assert call(monkeypatch, *CALL, "--input", "0", "x", "int16", "1", "none.bin") == 1
    assert "FileNotFoundError" in capsys.readouterr().err
    asked = SimpleNamespace(iterations=4, warmup=3)
    assert nrtpy_program.common(nrtpy, asked)["mode"] == "device"
