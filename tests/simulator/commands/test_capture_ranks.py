"""`capture` of several ranks: its flags, the names of what it writes, and whose numbers they are."""

import numpy as np
import pytest

from neff_bench.simulator.commands.capture import capture, first_cores
from neff_bench.simulator.commands.capture_options import CaptureOptions
from neff_bench.simulator.commands.view import load_profile, summary_record
from neff_bench.simulator.errors import CaptureError
from neff_bench.simulator.files.neff import write_neff
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record
from tests.simulator.commands.test_cli import run

install()

import nki.collectives as ncc  # noqa: E402 - after install
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402

FILE = "file.neff"


def kernel(x):
    src, dst, out = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(3))
    nisa.dma_copy(dst=src, src=x)
    ncc.all_reduce([src], [dst], ncc.ReplicaGroup([[0, 1], [2, 3]]), nl.add)
    nisa.dma_copy(dst=out, src=dst)
    return out


@pytest.fixture
def folder(tmp_path, monkeypatch):
    program = record(Call(kernel, "k", [InputSpec("x", (2, 8), "float32")], outputs=("out",)), "trn2", 2)
    write_neff(program, str(tmp_path / FILE))
    for rank in range(4):
        np.full((2, 8), 10.0**rank, np.float32).tofile(tmp_path / f"x{rank}.bin")
    (tmp_path / "inputs.txt").write_text("".join(f"x x{rank}.bin\n" for rank in range(4)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_capture_of_ranks_writes_a_trace_and_the_outputs_of_each(folder):
    words = ["--num-exec=2", "--profile-nth-exec=2", "--save-nth-output=2", "--multi-input=inputs.txt"]
    done = run("capture", "--save-output", "--collectives-workers-per-node=4", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in folder.glob("*.ntff")) == [f"profile_rank_{r}_exec_2.ntff" for r in range(4)]
    assert 'saved output "out" as "output_worker_3/out.2"' in done.stdout.splitlines()
    sums = [np.fromfile(folder / f"output_worker_{rank}/out.2", np.float32)[0] for rank in range(4)]
    assert sums == [11, 11, 1100, 1100]


def test_the_traces_are_of_neighbouring_logical_cores(folder, monkeypatch):
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "4-6,9")
    capture(CaptureOptions(neff=FILE, session="p.ntff"))
    cores = [load_profile(FILE, f"p_rank_{rank}.ntff").core_ids for rank in range(4)]
    assert cores == [(8, 9), (10, 11), (12, 13), (18, 19)]
    first, last = (summary_record(load_profile(FILE, f"p_rank_{rank}.ntff")) for rank in (0, 3))
    assert next(iter(first.values()))["nc_idx"] == 17 and next(iter(last.values()))["nc_idx"] == 37


def test_one_rank_may_be_traced_and_ranks_that_the_neff_names_run_unasked(folder):
    capture(CaptureOptions(neff=FILE, session="p.ntff", traced="2"))
    assert [path.name for path in folder.glob("*.ntff")] == ["p_rank_2.ntff"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"ranks": 2}, "communicates between 4 ranks, -r 2 runs fewer"),
        ({"ranks": 8}, "for ranks 0 to 3, and 8 run"),
        ({"traced": "4"}, "-i 4: ranks are 0 to 3"),
        ({"multi_input": "short.txt"}, "2 lines, expected NAME FILE ... for each of 4 ranks"),
        ({"multi_input": "absent.txt"}, "--multi-input: .*No such file"),
    ],
)
def test_a_wrong_call_is_told(folder, changes, error):
    (folder / "short.txt").write_text("x x0.bin\nx x1.bin\n")
    with pytest.raises(Exception, match=error):
        capture(CaptureOptions(neff=FILE, session="p.ntff", save_output=True, **changes))


def test_inputs_on_the_command_line_exclude_those_in_a_file(folder):
    done = run("capture", "-m", "inputs.txt", "x", "x0.bin", cwd=folder)
    assert (done.returncode, "exclude each other" in done.stderr) == (2, True)


def test_a_core_that_is_no_number_is_refused(folder, monkeypatch):
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "all")
    with pytest.raises(CaptureError, match="takes numbers"):
        first_cores(load_profile(FILE, None).neff.program, 2)
