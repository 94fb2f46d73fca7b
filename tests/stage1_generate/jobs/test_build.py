"""The builder with real worker processes and the embedded toolchain, on kernels that behave and that do not."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from neff_bench.neffs.bundle import verify_bundle
from neff_bench.neffs.store import Store

MISBEHAVE = """

def misbehave(s):
    import os, sys, time
    if s == 2:
        os.abort()
    if s == 3:
        os.system("sleep 600 & echo $! > {pids}/child")
        time.sleep(600)
    if s == 4:
        bytearray(1 << 45)
    if s == 5:
        raise ValueError("no such thing")
    if s == 6:
        sys.stderr.write("x" * 79 + chr(10))
        for _ in range(20):
            sys.stderr.write(("y" * 127 + chr(10)) * (1 << 13))
    if s == 7:
        os.kill(os.getpid(), 9)
"""
CASES = "cases: [{{kernel: mlp, implementation: nkilib, b: 1, s: {s}, h: 128, i: 128, lnc: 2}}]"


def name(s):
    return f"mlp_nkilib_b1_s{s}_h128_i128_bfloat16_trn2_lnc2"


def alive(pid):
    """Whether the process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_case_that_dies_costs_one_row_and_leaves_no_process(generate, checkout, shapes_file, tmp_path):
    nkilib = checkout(MISBEHAVE.replace("{pids}", str(tmp_path)))
    shapes = shapes_file(CASES.format(s="1:7:1"))
    done = generate("--shapes", shapes, "--nkilib", nkilib, "--timeout", 8, "--jobs", 2)
    assert done.returncode == 1
    assert done.stdout.startswith("2 built, 5 failed in ")
    assert "Traceback" not in done.stdout + done.stderr

    store = Store(tmp_path / "out")
    reasons = {s: store.find(name(s)).manifest.reason for s in range(1, 8)}
    assert reasons[1] is None and reasons[6] is None
    assert "SIGABRT" in reasons[2]
    assert reasons[3] == "took longer than 8 s (--timeout)"
    assert "ran out of memory" in reasons[4]
    assert "no such thing" in reasons[5] and str(tmp_path) not in reasons[5]
    assert "killed by SIGKILL" in reasons[7]
    for s in (2, 3, 4, 5, 7):
        assert {path.name for path in (store.path / name(s)).iterdir()} == {"case.json", "compile.log"}
    verify_bundle(store.find(name(1)))
    assert (store.path / name(6) / "compile.log").stat().st_size < 17 << 20
    assert not alive(int((tmp_path / "child").read_text()))


def test_a_second_run_builds_nothing_and_says_so(generate, checkout, shapes_file, tmp_path):
    nkilib, shapes = checkout(), shapes_file(CASES.format(s=1))
    assert generate("--shapes", shapes, "--nkilib", nkilib).returncode == 0
    before = (tmp_path / "out" / name(1)).stat().st_ino
    left = tmp_path / "out" / ".store" / "staging" / f"{name(1)}-1-abcd"  # of a killed writer
    left.mkdir()
    left.with_name(f"{left.name}.lock").touch()
    done = generate("--shapes", shapes, "--nkilib", nkilib)
    assert (done.returncode, done.stdout) == (0, "nothing to build: out is up to date (1 case)\n")
    assert list(left.parent.iterdir()) == []
    assert (tmp_path / "out" / name(1)).stat().st_ino == before
    generate("--shapes", shapes, "--nkilib", nkilib, "--force")
    assert (tmp_path / "out" / name(1)).stat().st_ino != before


@pytest.mark.parametrize("damage", ["kernel", "missing", "short", "manifest"])
def test_what_changed_is_built_again(generate, checkout, shapes_file, tmp_path, damage):
    nkilib, shapes = checkout(), shapes_file(CASES.format(s=1))
    generate("--shapes", shapes, "--nkilib", nkilib)
    bundle = tmp_path / "out" / name(1)
    if damage == "kernel":
        checkout("# another line\n")
    elif damage == "missing":
        (bundle / "ref-out-000.bin").unlink()
    elif damage == "short":
        (bundle / "ref-out-000.bin").write_bytes(b"")
    else:
        (bundle / "case.json").write_text("{")
    done = generate("--shapes", shapes, "--nkilib", nkilib)
    assert done.stdout.startswith("1 built in ")
    assert ("warning: " in done.stderr) == (damage != "kernel")
    verify_bundle(Store(tmp_path / "out").find(name(1)))


@pytest.mark.parametrize("file", ["file.neff", "inp-hidden_tensor-000.bin", "ref-out-000.bin", "compile.log"])
def test_a_flipped_bit_of_a_bundle_is_found_and_mended(generate, checkout, shapes_file, tmp_path, file):
    nkilib, shapes = checkout(), shapes_file(CASES.format(s=1))
    generate("--shapes", shapes, "--nkilib", nkilib)
    path = tmp_path / "out" / name(1) / file
    good, status = path.read_bytes(), path.stat()
    path.write_bytes(bytes([good[0] ^ 1]) + good[1:])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    done = generate("--shapes", shapes, "--nkilib", nkilib)
    assert done.stdout.startswith("1 built in ")
    assert f"warning: {name(1)}: {file} was changed after it was written; it is built again\n" in done.stderr
    assert path.read_bytes()[0] == good[0]
    assert generate("--shapes", shapes, "--nkilib", nkilib).stdout.startswith("nothing to build")


def test_a_failed_case_is_tried_again_and_a_good_one_survives_a_failing_rebuild(
    generate, checkout, shapes_file, tmp_path
):
    flaky = "\n\ndef misbehave(s):\n    import os\n    if os.environ.get('FAIL'):\n        os.abort()\n"
    nkilib, shapes = checkout(flaky), shapes_file(CASES.format(s=1))
    assert generate("--shapes", shapes, "--nkilib", nkilib, env={"FAIL": "1"}).returncode == 1
    assert generate("--shapes", shapes, "--nkilib", nkilib).returncode == 0
    done = generate("--shapes", shapes, "--nkilib", nkilib, "--force", env={"FAIL": "1"})
    assert done.returncode == 1 and "SIGABRT" in done.stderr
    kept = Store(tmp_path / "out").find(name(1))
    assert kept.manifest.status == "built"
    verify_bundle(kept)


def test_fail_fast_ends_the_run(generate, checkout, shapes_file):
    nkilib = checkout("\n\ndef misbehave(s):\n    raise ValueError\n")
    done = generate("--shapes", shapes_file(CASES.format(s="1:9:1")), "--nkilib", nkilib, "--jobs", 1, "--fail-fast")
    assert done.returncode == 1
    assert "1 failed" in done.stdout and "not built" in done.stdout


def test_what_is_absent_is_a_failed_row_that_says_so(generate, shapes_file, tmp_path):
    shapes = shapes_file("cases: [{kernel: mlp, implementation: [nkilib, neuronxcc], b: 1, s: 1, h: 128, i: 128}]")
    done = generate("--shapes", shapes, "--toolchain", "sim")
    assert done.returncode == 1
    reasons = [bundle.manifest.reason for bundle in Store(tmp_path / "out").bundles()]
    assert "needs the AWS Neuron SDK" in reasons[0]
    assert "needs nki-library" in reasons[1]


def start(tmp_path, environment, nkilib, shapes):
    root = Path(__file__).parents[3]
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "neff_bench.stage1_generate.cli",
            "--out",
            "out",
            "--shapes",
            shapes,
            "--nkilib",
            nkilib,
        ],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_an_interrupted_run_leaves_what_was_good_and_nothing_running(
    environment, generate, checkout, shapes_file, tmp_path, how
):
    nkilib = checkout(MISBEHAVE.replace("{pids}", str(tmp_path)))
    generate("--shapes", shapes_file(CASES.format(s="1")), "--nkilib", nkilib)
    run = start(tmp_path, environment, nkilib, shapes_file(CASES.format(s="[1, 3, 8]"), "more.yaml"))
    wait_until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
    run.send_signal(how)
    counts, said = run.communicate(timeout=60)
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: not alive(child))
    if how != signal.SIGKILL:
        assert run.returncode == 128 + how
        assert "not built" in counts and "interrupted by SIG" in said.splitlines()[-1]
        assert "Traceback" not in said
    store = Store(tmp_path / "out")
    verify_bundle(store.find(name(1)))
    assert store.find(name(3)) is None
    store.sweep()
    assert list((store.path / ".store" / "staging").iterdir()) == []
    assert list((store.path / ".store" / "locks").iterdir()) == []


def test_two_processes_share_a_store_and_build_each_case_once(environment, checkout, shapes_file, tmp_path):
    built = tmp_path / "built"
    count = f"\n\ndef misbehave(s):\n    open({str(built)!r}, 'a').write(f'{{s}}\\n')\n"
    nkilib, shapes = checkout(count), shapes_file(CASES.format(s="1:6:1"))
    runs = [start(tmp_path, environment, nkilib, shapes) for _ in range(2)]
    for run in runs:
        run.communicate(timeout=120)
    assert [run.returncode for run in runs] == [0, 0]
    calls = built.read_text().split()
    assert {s: calls.count(s) for s in "123456"} == dict.fromkeys("123456", calls.count("1"))
    assert calls.count("1") == 2  # once for each core of the logical core
    assert os.listdir(tmp_path / "out" / ".store" / "staging") == []
