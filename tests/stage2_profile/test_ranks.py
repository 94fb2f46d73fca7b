"""A case of four ranks on every tool: one capture, a trace and a row for each rank, and the row of the slowest."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from neff_bench.neffs.bundle import Manifest, RankFiles, TensorFile, read_bundle, record_files, write_manifest
from neff_bench.neffs.store import Store
from neff_bench.stage2_profile.capture.runs import read_run
from neff_bench.stage2_profile.capture.safety import check_links
from neff_bench.stage2_profile.compare.profiles import compare
from neff_bench.stage2_profile.errors import UnsafePath

RANKS = 4
KERNEL = """
import nki, nki.isa as nisa, nki.language as nl, nki.collectives as ncc
import numpy as np

@nki.jit
def total(x, ranks):
    src, dst, out = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(3))
    nisa.dma_copy(dst=src, src=x)
    ncc.all_reduce([src], [dst], ncc.ReplicaGroup([list(range(ranks))]), nl.add)
    nisa.dma_copy(dst=out, src=dst)
    return out

def right(x):
    return np.broadcast_to(x.sum(axis=0), x.shape)

def wrong_on_rank_2(x):
    sums = np.array(right(x))
    sums[2] += 1
    return sums
"""
SHAPES = """
defaults: {{target: trn2, lnc: 2, dtype: float32}}
cases:
  - kernel: mine.py:total
    implementation: nki
    ranks: 4
    M: 8
    inputs: {{x: {{shape: [M, 16]}}}}
    arguments: {{ranks: {{arithmetic: ranks}}}}
    reference: mine.py:{reference}
"""
NAME = "mine.total_nki_M8_float32_trn2_lnc2_ranks4"


def by_rank(rows):
    """The row of the case, and those of its ranks."""
    assert [row["rank"] for row in rows] == [None, 0, 1, 2, 3]
    assert {row["ranks"] for row in rows} == {RANKS}
    assert [row["case"] for row in rows[1:]] == [f"{rows[0]['case']}.rank{rank}" for rank in range(RANKS)]
    return rows[0], rows[1:]


@pytest.fixture
def simulated(tmp_path):
    """Builds the case in a store and profiles it, both as commands; the reference is `right` or another one."""

    def go(*words, reference="right", store="store"):
        (tmp_path / "mine.py").write_text(KERNEL)
        (tmp_path / "shapes.yaml").write_text(SHAPES.format(reference=reference))
        stages = (("stage1_generate", ["--shapes", "shapes.yaml", "--out", store]), ("stage2_profile", [store, *words]))
        for stage, arguments in stages:
            command = [sys.executable, "-m", f"neff_bench.{stage}.cli", *arguments]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        return done

    return go


def test_four_ranks_on_the_simulator(simulated, tmp_path):
    done = simulated("--format", "json")
    assert done.returncode == 0, done.stderr
    case, ranks = by_rank(json.loads(done.stdout))
    assert {row["check"] for row in (case, *ranks)} == {"passed"} and case["slowest_rank"] == 0
    assert {row["total_time_us"] for row in ranks} == {case["total_time_us"]}
    assert "the model of collectives was never compared with hardware" in case["time_error"]
    assert case["total_time_low_us"] < 0.5 * case["total_time_us"]
    traces = sorted(path.name for path in (tmp_path / "store" / NAME).glob("profiles/1/*.ntff"))
    assert traces == [f"profile_rank_{rank}_exec_2.ntff" for rank in range(RANKS)]


def test_the_rank_whose_output_is_wrong_is_named(simulated):
    done = simulated("--format", "json", reference="wrong_on_rank_2")
    assert done.returncode == 1
    case, ranks = by_rank(json.loads(done.stdout))
    assert [row["check"] for row in ranks] == ["passed", "passed", "wrong", "passed"]
    assert case["check"] == "wrong" and case["reason"].startswith("rank 2: output output0: 128 of 128 values")


def test_the_table_hot_lines_compare_and_a_second_call(simulated, tmp_path):
    table = simulated().stdout
    assert "M8 4 ranks, slowest 0" in table and "M8 rank 3 of 4" in table
    hot = simulated("--hot", "2", "--format", "json")
    assert hot.returncode == 0 and "mine.py" in hot.stdout
    again = simulated()
    assert "cached" in again.stderr and again.stdout == table
    differences = compare(tmp_path / "store", tmp_path / "store")
    labels = {each.label for each in differences if each.metric == "total_time_us"}
    assert labels == {f"mine.total nki M8 float32 trn2/2 {which}" for which in
                      ("4 ranks", "rank 0 of 4", "rank 1 of 4", "rank 2 of 4", "rank 3 of 4")}  # fmt: skip


@pytest.fixture
def bundle_of_ranks(store, make_case):
    """A bundle whose NEFF the fakes run. `outs`: what rank r's reference is; the fakes give every rank the first."""

    def make(outs=(1.0, 1.0, 1.0, 1.0)):
        def fill(directory: Path) -> None:
            computed = np.full(8, outs[0], np.float32).tobytes()
            neff = json.dumps({"outputs": {"out": computed.hex()}, "total_time": 1e-4}).encode()
            (directory / "file.neff").write_bytes(neff)
            ranks = []
            for rank, value in enumerate(outs):
                files = []
                for name, data in (("inp-x", np.full(6, rank, np.float32)), ("ref-out", np.full(8, value, np.float32))):
                    file, raw = f"{name}-rank{rank}.bin", data.tobytes()
                    (directory / file).write_bytes(raw)
                    digest = hashlib.sha256(raw).hexdigest()
                    files.append(TensorFile(name[4:], data.shape, "float32", len(raw), file, digest))
                ranks.append(RankFiles((files[0],), (files[1],)))
            (directory / "inputs.txt").write_text("".join(f"x ../../inp-x-rank{r}.bin\n" for r in range(len(outs))))
            manifest = Manifest(
                make_case(ranks=RANKS), "key", "built", "neuron", "2026-01-01T00:00:00Z", tolerance=(1e-3, 1e-3),
                neff="file.neff", neff_sha256=hashlib.sha256(neff).hexdigest(), inputs=ranks[0].inputs,
                outputs=ranks[0].outputs, other_ranks=tuple(ranks[1:]), rank_inputs="inputs.txt",
            )  # fmt: skip
            write_manifest(directory, manifest)
            record_files(directory)

        return read_bundle(Store(store).publish(make_case(ranks=RANKS).name, fill))

    return make


@pytest.mark.parametrize("release", ["2.29", "2.30", "2.34"])
def test_four_ranks_on_the_profiler_of_a_release(release, release_on_path, profile_neffs, bundle_of_ranks, monkeypatch):
    release_on_path(release)
    monkeypatch.setenv("FAKE_SLOW_RANK", "2")
    bundle = bundle_of_ranks()
    done = profile_neffs("--format", "json", "--cores", "4-7")
    assert done.exit_code == 0, done.stderr
    case, ranks = by_rank(json.loads(done.stdout))
    assert case["slowest_rank"] == 2 and case["total_time_us"] == ranks[2]["total_time_us"] > ranks[0]["total_time_us"]
    assert {row["check"] for row in (case, *ranks)} == {"passed"}
    (path,) = bundle.path.glob("profiles/*/")
    run = read_run(path)
    capture = run.commands[0]
    assert capture.argv[-3:] == (
        "--collectives-workers-per-node=4", "--collectives-profile-id=all", "--multi-input=../../inputs.txt",
    )  # fmt: skip
    assert capture.environment["NEURON_RT_VISIBLE_CORES"] == "4-7"
    assert capture.environment["NEURON_RT_ROOT_COMM_ID"] == "127.0.0.1:62004"
    assert [(each.rank, each.ntff) for each in run.executions] == [
        (rank, f"profile_rank_{rank}_exec_2.ntff") for rank in range(RANKS)
    ]
    assert [rank.outputs["out"] for rank in run.by_rank] == [f"output_worker_{rank}/out" for rank in range(RANKS)]
    assert json.loads(profile_neffs("--format", "json", "--parse-only").stdout)[0]["slowest_rank"] == 2


def test_a_rank_without_a_trace_or_an_output_fails_the_capture(profile_neffs, bundle_of_ranks, monkeypatch):
    monkeypatch.setenv("FAKE_LOST_RANK", "3")
    bundle_of_ranks()
    done = profile_neffs("--format", "json")
    (row,) = json.loads(done.stdout)
    assert (done.exit_code, row["status"]) == (1, "failed")
    assert "it wrote no trace of rank 3" in row["reason"]


def test_the_whole_profile_is_that_of_the_slowest_rank(profile_neffs, bundle_of_ranks, monkeypatch):
    monkeypatch.setenv("FAKE_SLOW_RANK", "1")
    bundle = bundle_of_ranks()
    profile_neffs("--hot", "1")
    (path,) = bundle.path.glob("profiles/*/")
    assert [each.rank for each in read_run(path).executions if each.detail] == [1]


def test_four_ranks_on_nrtpy(profile_neffs, bundle_of_ranks, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).with_name("fake_nrtpy")))
    monkeypatch.setenv("NEFF_BENCH_LOCK_DIR", str(tmp_path / "locks"))
    monkeypatch.setenv("FAKE_SLOW_RANK", "3")
    bundle = bundle_of_ranks()
    done = profile_neffs("--tool", "nrtpy", "--format", "json", "--cores", "0-7")
    assert done.exit_code == 0, done.stderr
    case, ranks = by_rank(json.loads(done.stdout))
    assert case["slowest_rank"] == 3 and case["tool"].startswith("nrtpy")
    assert {row["check"] for row in (case, *ranks)} == {"passed"}
    results = sorted(bundle.path.glob("profiles/*/output_worker_*/benchmark.json"))
    seen = [json.loads((path.parent / "seen.json").read_text()) for path in results]
    assert [(each["rank_id"], each["world_size"], each["cores"], each["x"]) for each in seen] == [
        (rank, RANKS, str(rank), float(rank)) for rank in range(RANKS)
    ]


def test_a_rank_that_fails_in_nrtpy_ends_the_others(profile_neffs, bundle_of_ranks, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).with_name("fake_nrtpy")))
    monkeypatch.setenv("NEFF_BENCH_LOCK_DIR", str(tmp_path / "locks"))
    monkeypatch.setenv("FAKE_NRTPY_RANK_FAILS", "1")
    bundle_of_ranks()
    done = profile_neffs("--tool", "nrtpy", "--format", "json")
    (row,) = json.loads(done.stdout)
    assert done.exit_code == 1 and row["status"] == "failed"
    assert "NRT_FAILURE" in row["reason"] or "nrtpy" in row["reason"]


@pytest.mark.parametrize("file", ["inp-x-rank2.bin", "ref-out-rank3.bin", "inputs.txt"])
def test_a_link_among_the_files_of_any_rank_is_refused(bundle_of_ranks, tmp_path, file):
    bundle = bundle_of_ranks()
    (bundle.path / file).rename(tmp_path / "real")
    (bundle.path / file).symlink_to(tmp_path / "real")
    with pytest.raises(UnsafePath, match=f"{file} is a symbolic link"):
        check_links(bundle)
