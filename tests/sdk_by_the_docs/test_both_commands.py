"""generate-neffs and profile-neffs, on an SDK that somebody wrote who did not know what this project expects."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sdk_by_the_docs import installation

HERE = Path(__file__).parent
MATRIX = "{{shape: [M, N], dtype: {}}}"
INPUTS = {
    "subtract": ("bfloat16", "a", "b"),
    "accumulate": ("float32", "x", "acc"),
    "append": ("float32", "k_cache", "k", "v_cache", "v"),
}
OUTPUTS = {"subtract": ("out",), "accumulate": ("acc",), "append": ("k_cache", "v_cache", "out")}
FLAG = "--write-tensors-per-exec alias"


class Host:
    """A folder with the SDK, the user's files and a store."""

    def __init__(self, folder: Path, **habits):
        folder.mkdir(exist_ok=True)
        self.folder, self.sdk = folder, folder / "sdk"
        self.environment = installation.install(self.sdk, **habits)
        for name in ("kernels.py", "references.py"):
            shutil.copy(HERE / name, folder)

    def run(self, *arguments):
        program = [sys.executable, "-m", "neff_bench", *arguments]
        return subprocess.run(program, cwd=self.folder, env=self.environment, capture_output=True, text=True)

    def generate(self, *kernels, lnc=1, outputs=False, copies=1):
        lines = [f"defaults: {{target: trn2, lnc: {lnc}, implementation: nki}}", "cases:"]
        for kernel in kernels:
            dtype, *names = INPUTS[kernel]
            tensors = ", ".join(f"{name}: {MATRIX.format(dtype)}" for name in names)
            line = f"  - {{kernel: 'kernels.py:{kernel}', M: 128, N: 64, dtype: {dtype}, inputs: {{{tensors}}}"
            if outputs:
                line += f", outputs: {{{', '.join(f'{name}: {MATRIX.format(dtype)}' for name in OUTPUTS[kernel])}}}"
            line += f", reference: 'references.py:{kernel}'"
            lines += (
                [f"{line}, seed: {seed}, name: '{kernel}{seed}'}}" for seed in range(copies)]
                if copies > 1
                else [line + "}"]
            )
        (self.folder / "shapes.yaml").write_text("\n".join(lines))
        return self.run("generate", "--shapes", "shapes.yaml", "--out", "neffs.out")

    def profile(self, *options):
        """The rows by the name of the kernel."""
        return {row["kernel"].partition(".")[2]: row for row in self.rows(*options)}

    def rows(self, *options):
        done = self.run("profile", "neffs.out", "--format", "json", *options)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def calls(self):
        return (self.sdk / "calls.txt").read_text().splitlines()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Three kernels, whose NEFFs have their inputs and outputs in another order than the parameters."""
    host = Host(tmp_path_factory.mktemp("built"), order="reversed")
    done = host.generate("subtract", "accumulate", "append")
    assert done.returncode == 0, done.stdout + done.stderr
    return host


def profiled(host, *options, **habits):
    """The rows after a capture by a tool with other habits, and what it was called with."""
    (host.sdk / "calls.txt").unlink(missing_ok=True)
    installation.change(host.sdk, **{**installation.PLAIN, "order": "reversed", **habits})
    rows = host.profile("--force", *options)
    return rows, [call for call in host.calls() if " capture " in call]


def test_kernels_that_write_into_inputs_pass_in_a_foreign_order(built):
    rows, captures = profiled(built)
    assert {name: row["check"] for name, row in rows.items()} == dict.fromkeys(OUTPUTS, "passed")
    assert not any(row["warnings"] for row in rows.values())
    assert {row["deterministic"] for row in rows.values()} == {True}
    assert len(captures) == 3
    assert all(FLAG in call for call in captures)  # as AWS's harness asks for it


def test_logs_around_the_json_and_no_show_session(built):
    rows, _ = profiled(built, log_on="stdout", saved_on="stderr", trailing_log=True, show_session=False)
    assert {row["check"] for row in rows.values()} == {"passed"}
    assert rows["subtract"]["total_time_us"] == pytest.approx(5.78)
    assert all("show-session: exit code 1: Unknown command" in row["warnings"][0] for row in rows.values())


def test_flags_that_a_release_lacks_are_left_out(built):
    refused = [FLAG.split()[0], "--save-nth-output"]
    rows, _ = profiled(built, refused=refused, saved_on="nowhere")
    assert rows["subtract"]["check"] == "passed"
    for name in ("accumulate", "append"):  # execution 2 saw what execution 1 wrote
        assert rows[name]["check"] == "unchecked"
        assert "writes into its inputs" in rows[name]["reason"]
    assert {row["deterministic"] for row in rows.values()} == {True, None}
    rows, _ = profiled(built, "--num-exec", "1", "--profile-nth-exec", "1", refused=refused)
    assert {row["check"] for row in rows.values()} == {"passed"}


@pytest.mark.parametrize(
    "refuses",
    [
        ("flag provided but not defined: -{name}", 2, "stderr"),
        (
            "usage: neuron-explorer capture [options]\nneuron-explorer capture: error: unrecognized arguments: {word}",
            2,
            "stdout",
        ),
        ("neuron-explorer: invalid option -- '{name}'", 1, "stdout"),
        ("what is {word}?", 64, "stderr"),
    ],
    ids=["go", "argparse", "getopt", "unheard"],
)
def test_a_flag_may_be_refused_in_any_words(built, refuses):
    refused = [FLAG.split()[0], "--save-nth-output", "--check-output-determinism"]
    rows, captures = profiled(built, "--only", "*subtract*", refused=refused, refuses=refuses)
    (row,) = rows.values()
    assert (row["check"], row["deterministic"], row["warnings"]) == ("passed", None, [])
    assert len(captures) == 4


@pytest.mark.parametrize(
    "habits",
    [{"drops_events": True}, {"output_file_counts": False}, {"no_json": True}],
    ids=lambda habits: next(iter(habits)),
)
def test_a_system_trace_tells_what_lies_between_executions(built, habits):
    rows, captures = profiled(built, "--only", "*subtract*", "--system-trace", **habits)
    (row,) = rows.values()
    assert (row["check"], row["gap_us"]) == ("passed", 40.0)
    (said,) = row["warnings"]
    assert said.startswith("system trace: 20 executions of 31.00 us; ")
    assert ("3 events were dropped" in said) == ("drops_events" in habits)
    assert said.endswith("layout not seen: no public file of this kind was found, it is read as AWS documents it")
    assert ["systrace" in call for call in captures] == [False, True]
    again = built.rows("--only", "*subtract*", "--system-trace")
    assert again[0]["gap_us"] == 40.0
    assert sum(" capture " in call for call in built.calls()) == 2  # nothing is captured again


def test_a_system_trace_that_cannot_be_had_costs_a_warning(built):
    rows, _ = profiled(built, "--only", "*subtract*", "--system-trace", refused=["--systrace-event-filter"])
    (row,) = rows.values()
    assert (row["check"], row["gap_us"]) == ("passed", None)
    assert "no system trace: neuron-explorer capture: exit code 1" in row["warnings"][0]


def test_executions_that_differ_are_told(built):
    rows, captures = profiled(built, "--only", "*subtract*", random_outputs=True)
    assert [("--check-output-determinism" in call) for call in captures] == [True, False]
    (row,) = rows.values()
    assert row["deterministic"] is False
    assert "the outputs differ from one execution to the next" in row["warnings"]


@pytest.mark.parametrize(
    ("summary", "word"),
    [
        ("zero", "total_time is 0 s"),
        ("active", "longer than the total_time"),
        ("engine", "vector_engine_active_time is 1 s"),
        ("mfu", "no device reaches"),
        ("counts", "vector_engine_instruction_count is 0, the NEFF has 1 instructions for it"),
        ("many_counts", "vector_engine_instruction_count is 501, the trace has 1 instructions for it"),
        ("milliseconds", "total_time is 0.00578 s, the trace of execution 2 says 5.78e-06 s"),
        ("two_roots", "2 summaries of one trace"),
    ],
)
def test_a_summary_that_cannot_be_is_no_result(built, summary, word):
    rows, _ = profiled(built, "--only", "*subtract*", summary=summary)
    (row,) = rows.values()
    assert row["check"] == "suspect" or row["status"] == "failed"
    assert word in row["reason"]


def test_the_trace_of_another_neff_is_no_result(built):
    rows, captures = profiled(built, "--only", "*subtract*", stale_trace=True)
    (row,) = rows.values()
    assert (row["status"], len(captures)) == ("failed", 2)
    assert "its trace profile_exec_2.ntff is of another NEFF (2 tries)" in row["reason"]


@pytest.mark.parametrize(
    "habits",
    [
        {"nki": "private_driver", "bf16_name": "|V2"},
        {"release": "2.28", "nki": "standalone", "programs": ["neuron-profile", "neuron-ls", "neuronx-cc"]},
        {"release": "2.33", "bf16_name": "unknown"},
    ],
    ids=lambda habits: habits.get("release", "2.32"),
)
def test_other_releases(tmp_path, habits):
    host = Host(tmp_path, order="reversed", **habits)
    done = host.generate("subtract", "append")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {row["check"] for row in host.profile().values()} == {"passed"}


@pytest.mark.parametrize("jax", [True, False], ids=["neuronx-cc", "torch_neuronx"])
def test_graphs_of_xla_in_a_foreign_order(tmp_path, jax):
    if jax:
        pytest.importorskip("jax")
    host = Host(tmp_path, order="reversed", jax=jax)
    lines = [
        "defaults: {target: trn2, lnc: 2, implementation: xla, dtype: float32}",
        "cases:",
        "  - {kernel: matmul, M: 64, K: 64, N: 64}",  # sizes do not tell lhs from rhs
        "  - {kernel: mlp, b: 1, s: 32, h: 64, i: 64}",
    ]
    (host.folder / "shapes.yaml").write_text("\n".join(lines))
    done = host.run("generate", "--shapes", "shapes.yaml", "--out", "neffs.out")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = host.rows()
    assert [(row["check"], row["reason"], row["warnings"]) for row in rows] == [("passed", None, [])] * 2
    assert {row["lnc"] for row in rows} == {2}


@pytest.mark.parametrize(("asked", "made"), [(1, 2), (2, 1)])
def test_an_lnc_that_nobody_asked_for_fails_with_both_values(tmp_path, asked, made):
    host = Host(tmp_path, lnc_made=made)
    done = host.generate("subtract", lnc=asked)
    assert done.returncode == 1
    (row,) = host.profile().values()
    assert row["check"] == "not built"
    assert row["reason"] == f"the NEFF has LNC {made}, its case LNC {asked}"


def test_logical_cores_of_two(tmp_path):
    host = Host(tmp_path)
    assert host.generate("subtract", lnc=2).returncode == 0
    (row,) = host.profile().values()
    assert (row["check"], row["lnc"]) == ("passed", 2)


def test_a_short_bad_day_has_no_wrong_row_without_a_word(tmp_path):
    from tests.sdk_by_the_docs.soak import soak

    seen, wrong = soak(tmp_path, captures=4, cases=4)
    assert (sum(seen.values()), wrong) == (4, [])
