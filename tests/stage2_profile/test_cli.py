from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys

import pytest


def rows(result):
    return json.loads(result.stdout)


def test_a_store_becomes_a_table(profile_neffs, make_bundle):
    make_bundle()
    result = profile_neffs()
    assert result.exit_code == 0, result.output
    assert "M2 K3 N4" in result.stdout
    assert "102.00" in result.stdout  # 100 us and 1 % for each execution, of which the second is profiled
    assert "passed" in result.stdout
    assert "Measured with neuron-profile 2.29.22.0" in result.stdout
    assert "profiling with neuron-profile 2.29.22.0" in result.stderr
    assert all(len(line) <= 120 for line in result.stdout.splitlines())


def test_rows_have_the_documented_keys_in_order(profile_neffs, make_bundle):
    make_bundle()
    (row,) = rows(profile_neffs("--format", "json"))
    assert (
        list(row)[:39]
        == (
            "case kernel implementation dims dtype target lnc ranks rank slowest_rank source status check max_abs_error total_time_us "
            "total_time_low_us total_time_high_us execution_time_us execution_time_low_us execution_time_high_us total_active_time_us tensor_active_us vector_active_us scalar_active_us gpsimd_active_us sync_active_us "
            "dma_active_us mfu_percent mfu_peak_tflops model_flops hardware_flops matmul_instruction_count hbm_read_bytes "
            "hbm_write_bytes arithmetic_intensity compile_time_s tensor_instruction_count vector_instruction_count "
            "scalar_instruction_count"
        ).split()
    )
    assert list(row)[-2:] == ["findings", "reason"]
    assert row["dims"] == {"M": 2, "K": 3, "N": 4}
    assert row["total_time_us"] == pytest.approx(102)
    assert row["tensor_active_us"] == pytest.approx(25.5)
    assert row["sync_active_us"] is None
    assert row["source"] == "measured"
    assert row["check"] == "passed"
    # 1e6 FLOPs in 102 us of a peak of a quarter of 78.6432 TFLOPS
    assert row["mfu_percent"] == pytest.approx(100 * 1e6 / (19.6608e12 * 102e-6))
    assert row["arithmetic_intensity"] == pytest.approx(1_000_000 / 1500)


def test_csv_has_the_dimensions_of_all_kernels(profile_neffs, make_bundle, make_case):
    make_bundle()
    make_bundle(make_case("mlp", dims=(("b", 1), ("s", 2), ("h", 3), ("i", 4))))
    text = profile_neffs("--format", "csv").stdout
    found = list(csv.DictReader(io.StringIO(text)))
    assert [(row["M"], row["b"]) for row in found] == [("2", ""), ("", "1")]


@pytest.mark.parametrize(("out", "check"), [([1] * 8, "wrong"), ([0] * 8, "wrong"), ([float("nan")] * 8, "wrong")])
def test_a_wrong_output_never_gets_a_time_without_a_mark(profile_neffs, make_bundle, out, check):
    make_bundle(out=out)
    result = profile_neffs("--format", "json")
    assert result.exit_code == 1
    (row,) = rows(result)
    assert row["check"] == check
    assert row["reason"]


def test_a_second_call_profiles_nothing_again(profile_neffs, make_bundle, tmp_path):
    make_bundle()
    first = profile_neffs("--format", "json")
    second = profile_neffs("--format", "json")
    assert rows(first) == rows(second)
    assert (tmp_path / "calls").read_text() == "x"
    profile_neffs("--force")
    assert (tmp_path / "calls").read_text() == "xx"


def test_parse_only_needs_no_tool_and_works_elsewhere(profile_neffs, make_bundle, store, tmp_path, fake_on_path):
    make_bundle()
    first = profile_neffs("--format", "json")
    moved = tmp_path / "elsewhere"
    shutil.move(store, moved)
    (fake_on_path / "neuron-profile").unlink()
    second = profile_neffs("--parse-only", "--format", "json", directory=moved)
    assert second.exit_code == 0
    assert rows(second) == rows(first)
    assert (moved / rows(first)[0]["case"]).is_dir()


def test_parse_only_without_a_profile_says_so(profile_neffs, make_bundle):
    make_bundle()
    result = profile_neffs("--parse-only", "--format", "json")
    assert result.exit_code == 0
    assert rows(result)[0]["status"] == "unprofiled"
    assert "no profile yet" in rows(result)[0]["reason"]


def test_a_failed_capture_is_a_row_and_a_rerun_does_only_it(profile_neffs, make_bundle, make_case, faults, tmp_path):
    make_bundle()
    make_bundle(make_case("mlp", dims=(("b", 1),)))
    faults("crash_before", "none")
    first = profile_neffs("--format", "json", "--jobs", "1")
    assert first.exit_code == 1
    assert [row["status"] for row in rows(first)] == ["failed", "profiled"]
    second = profile_neffs("--format", "json")
    assert second.exit_code == 0
    assert [row["status"] for row in rows(second)] == ["profiled", "profiled"]
    assert len((tmp_path / "calls").read_text()) == 3


def test_a_partial_trace_is_a_reason_and_is_captured_again(profile_neffs, make_bundle, faults):
    make_bundle()
    faults("partial", "none")
    first = profile_neffs("--format", "json")
    assert first.exit_code == 1
    assert "view" in rows(first)[0]["reason"]
    assert profile_neffs().exit_code == 0


def test_a_simulated_neff_is_not_given_to_a_device(profile_neffs, make_bundle):
    make_bundle(toolchain="sim")
    result = profile_neffs("--toolchain", "neuron", "--format", "json")
    assert result.exit_code == 1
    assert "built by the simulator" in rows(result)[0]["reason"]


def test_a_real_neff_is_not_given_to_the_simulator(profile_neffs, make_bundle):
    make_bundle()
    result = profile_neffs("--toolchain", "sim", "--format", "json")
    assert result.exit_code == 1
    assert "built by the Neuron SDK" in rows(result)[0]["reason"]


def test_no_tool_is_a_row_that_says_what_to_install(profile_neffs, make_bundle, fake_on_path, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    make_bundle()
    result = profile_neffs("--format", "json")
    assert result.exit_code == 1
    assert "install aws-neuronx-tools" in rows(result)[0]["reason"]


def test_only_and_skip(profile_neffs, make_bundle, make_case):
    make_bundle()
    make_bundle(make_case("mlp", dims=(("b", 1),)))
    assert [row["kernel"] for row in rows(profile_neffs("--only", "mlp_*", "--format", "json"))] == ["mlp"]
    assert [row["kernel"] for row in rows(profile_neffs("--skip", "mlp_*", "--format", "json"))] == ["matmul"]
    nothing = profile_neffs("--only", "nothing")
    assert nothing.exit_code == 2
    assert "no bundle and no profile that --only and --skip leave; there is matmul_" in nothing.stderr
    assert [row["kernel"] for row in rows(profile_neffs("--only", "mlp", "--format", "json"))] == ["mlp"]
    assert "; did you mean matmul?; there is" in profile_neffs("--only", "matmull").stderr


def test_one_bundle_can_be_named(profile_neffs, make_bundle):
    bundle = make_bundle()
    assert profile_neffs(directory=bundle.path).exit_code == 0


@pytest.mark.parametrize("what", ["missing", "file", "empty"])
def test_a_directory_that_is_no_store_is_a_wrong_call(profile_neffs, store, what):
    if what == "file":
        store.write_text("x")
    elif what == "empty":
        store.mkdir()
    result = profile_neffs()
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert str(store) in result.stderr


def test_the_answer_goes_to_a_file_in_the_format_of_its_suffix(profile_neffs, make_bundle, tmp_path):
    make_bundle()
    target = tmp_path / "rows.csv"
    result = profile_neffs("--output", target)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert target.read_text().startswith("case,kernel,implementation,M,K,N,dtype")


def test_a_file_that_cannot_be_written_is_one_line(profile_neffs, make_bundle, tmp_path):
    make_bundle()
    (tmp_path / "no").write_text("a file")
    result = profile_neffs("--output", tmp_path / "no" / "rows.csv")
    assert result.exit_code == 1
    assert "rows.csv: cannot write it: Not a directory" in result.stderr


def test_help_loads_nothing_heavy():
    code = (
        "import sys, neff_bench.stage2_profile.cli\n"
        "heavy = {'numpy', 'rich', 'yaml', 'jax', 'ml_dtypes', 'msgspec', 'orjson'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_capture_and_view_can_be_two_calls(profile_neffs, make_bundle, fake_on_path):
    make_bundle()
    first = profile_neffs("--capture-only", "--format", "json")
    assert first.exit_code == 0
    assert [row["status"] for row in rows(first)] == ["captured"]
    assert rows(first)[0]["total_time_us"] is None
    second = profile_neffs("--view-only", "--format", "json")
    assert [row["status"] for row in rows(second)] == ["profiled"]
    assert rows(second)[0]["check"] == "passed"


def test_view_only_captures_nothing(profile_neffs, make_bundle, tmp_path):
    make_bundle()
    result = profile_neffs("--view-only", "--format", "json")
    assert result.exit_code == 1
    assert "nothing captured yet" in rows(result)[0]["reason"]
    assert not (tmp_path / "calls").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--capture-only", "--view-only"], "exclude each other"),
        (["--parse-only", "--force"], "captures nothing"),
        (["--num-exec", "2", "--profile-nth-exec", "3"], "no execution would be profiled"),
        (["--cores", "x"], "expected numbers and ranges"),
        (["--num-exec", "0"], "--num-exec"),
        (["--timeout", "0"], "--timeout"),
        (["--format", "xml"], "--format"),
    ],
)
def test_wrong_calls(profile_neffs, make_bundle, words, says):
    make_bundle()
    result = profile_neffs(*words)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""


def test_one_execution_is_the_profiled_one(profile_neffs, make_bundle):
    bundle = make_bundle()
    assert profile_neffs("--num-exec", "1").exit_code == 0
    assert list(bundle.path.glob("profiles/*/profile.ntff"))


def test_more_executions_are_another_profile(profile_neffs, make_bundle, tmp_path):
    make_bundle()
    profile_neffs()
    (row,) = rows(profile_neffs("--num-exec", "8", "--format", "json"))
    assert row["executions"] == 4
    assert row["total_time_us"] == pytest.approx(105)  # executions 2, 4, 6 and 8
    assert row["total_time_iqr_us"] == pytest.approx(3)
    assert len((tmp_path / "calls").read_text()) == 2


def test_captures_of_one_lnc_follow_those_of_the_other(profile_neffs, make_bundle, make_case, tmp_path, monkeypatch):
    monkeypatch.setenv("NEFF_BENCH_LOCK_DIR", str(tmp_path / "locks"))
    for size in range(3):
        for lnc in (2, 1):
            make_bundle(make_case(dims=(("M", size),), lnc=lnc))
    result = profile_neffs("--cores", "0-3", "--format", "json")
    assert result.exit_code == 0, result.stderr
    assert len(rows(result)) == 6
    ready = [line.split()[1] for line in result.stderr.splitlines() if line.startswith("[")]
    assert [("lnc1" in name) for name in ready] == [True] * 3 + [False] * 3
    assert list((tmp_path / "locks").iterdir()) == []


def test_the_commands_of_a_row_repeat_its_profile(profile_neffs, make_bundle, store):
    bundle = make_bundle()
    profile_neffs()
    script = profile_neffs("--parse-only", "--show-commands").stdout
    done = subprocess.run(["sh", "-e", "-c", script], capture_output=True, text=True, check=True)
    assert '"total_time": 0.000102' in done.stdout
    again = bundle.path / "profiles" / "again"
    assert (again / "profile_exec_2.ntff").exists()
    assert profile_neffs("--parse-only").exit_code == 0


def test_a_store_of_someone_else_in_a_shared_directory_is_refused(profile_neffs, make_bundle, store, monkeypatch):
    make_bundle()
    store.parent.chmod(0o1777)
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    if os.stat(store).st_uid == 0:
        os.chown(store, 54321, 54321)
    result = profile_neffs()
    assert result.exit_code == 1
    assert "belongs to another user" in result.stderr
    assert "no profile yet" in profile_neffs("--parse-only").stdout


@pytest.mark.parametrize("file", ["file.neff", "inp-x-000.bin", "profiles"])
def test_a_link_in_a_bundle_is_refused(profile_neffs, make_bundle, tmp_path, file):
    bundle = make_bundle()
    real = tmp_path / "real"
    if file == "profiles":
        real.mkdir()
    else:
        shutil.move(bundle.path / file, real)
    (bundle.path / file).symlink_to(real)
    result = profile_neffs("--format", "json")
    assert result.exit_code == 1
    assert f"{file} is a symbolic link" in rows(result)[0]["reason"]


@pytest.mark.parametrize("name", ["--single-io", "../out", "a/b", "a b", "a\nb"])
def test_a_tensor_name_that_is_an_option_or_a_path_is_not_given_to_the_tool(profile_neffs, make_bundle, tmp_path, name):
    make_bundle(output=name, readable=False)
    result = profile_neffs("--format", "json")
    assert result.exit_code == 1
    assert repr(name) in rows(result)[0]["reason"]
    assert not (tmp_path / "calls").exists()


def test_two_processes_profile_one_store_once(make_bundle, make_case, store, fake_on_path, tmp_path):
    for size in range(1, 7):
        make_bundle(make_case(dims=(("M", size),)))
    argv = [sys.executable, "-m", "neff_bench.stage2_profile.cli", str(store), "--format", "json"]
    both = [subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(2)]
    answers = [json.loads(process.communicate()[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert answers[0] == answers[1]
    assert len((tmp_path / "calls").read_text()) == 6


def test_rows_are_in_the_order_of_their_numbers(profile_neffs, make_bundle, make_case):
    for size in (1024, 512, 2048):
        make_bundle(make_case(dims=(("K", size),)))
    assert [row["dims"]["K"] for row in rows(profile_neffs("--format", "json"))] == [512, 1024, 2048]
    assert re.findall(r"K\d+", profile_neffs().stdout) == ["K512", "K1024", "K2048"]


def test_a_disk_that_is_full_costs_a_row_and_nothing_else(make_bundle, store, fake_on_path, tmp_path):
    """A limit on file sizes stands in for it: both end a write in the middle."""
    make_bundle()
    limited = f"ulimit -f 1; exec {sys.executable} -m neff_bench.stage2_profile.cli {store} --format json"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    (row,) = json.loads(done.stdout)
    assert row["status"] == "failed"
    assert "File too large" in row["reason"]
    again = [sys.executable, "-m", "neff_bench.stage2_profile.cli", str(store), "--format", "json"]
    (row,) = json.loads(subprocess.run(again, capture_output=True, check=True).stdout)
    assert row["status"] == "profiled"
    assert not list(store.glob("*/profiles/.*"))


def test_a_fault_of_our_own_costs_one_row(profile_neffs, make_bundle, make_case, monkeypatch):
    import neff_bench.stage2_profile.metrics.check as module

    make_bundle()
    make_bundle(make_case("mlp", dims=(("b", 1),)))
    check = module.check_outputs

    def broken(bundle, *rest):
        if bundle.manifest.case.kernel == "mlp":
            raise ZeroDivisionError("oops")
        return check(bundle, *rest)

    monkeypatch.setattr(module, "check_outputs", broken)
    found = {row["case"]: row for row in rows(profile_neffs("--format", "json"))}
    assert sorted(row["status"] for row in found.values()) == ["failed", "profiled"]
    assert "internal error, please report it: ZeroDivisionError('oops')" in str(found)


def test_a_row_whose_run_is_taken_as_it_is_is_told_as_cached(profile_neffs, make_bundle):
    make_bundle()
    assert profile_neffs().stderr.splitlines()[-1].endswith(": profiled")
    assert profile_neffs().stderr.splitlines()[-1].endswith(": cached")
    assert profile_neffs("--parse-only").stderr.splitlines()[-1].endswith(": cached")
    assert profile_neffs("--force").stderr.splitlines()[-1].endswith(": profiled")


def test_a_new_view_of_a_capture_is_told_as_read(profile_neffs, make_bundle):
    make_bundle()
    profile_neffs()
    assert profile_neffs("--hot", "1").stderr.splitlines()[-1].endswith(": read")
    assert "reading profiles with" in profile_neffs("--view-only", "--hot", "2").stderr
