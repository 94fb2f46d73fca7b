"""Every command, on streams that cannot take its answer."""

import os
import subprocess
import sys

import pytest

from neff_bench.cli import COMMANDS

SHAPES = "cases: [{kernel: matmul, implementation: nki, M: 8, K: 8, N: 8}]\n"
CALLS = {
    "generate": ["generate", "--shapes", "s.yaml", "--list"],
    "profile": ["profile", "empty"],
    "inspect": ["inspect", "session.json"],
    "compare": ["compare", "rows.json", "rows.json"],
    "doctor": ["doctor", "--toolchain", "sim", "--format", "json"],
    "latency": ["latency", "8x8x8", "--backend", "numpy", "--iterations", "1"],
    "tiling": ["tiling", "stairs.csv"],
    "buckets": ["buckets", "stairs.csv"],
    "tile": ["tile", "--tile-m", "999"],
    "linear-projection": ["linear-projection", "--test-case", "none"],
    "install-benchmarks": ["install-benchmarks", "."],
    "neuron-sim": ["--help"],
}
SINKS = {
    "full": ">/dev/full",
    "full stderr": "2>/dev/full",
    "closed": ">&-",
    "closed stderr": "2>&-",
    "all closed": "<&- >&- 2>&-",
    "ascii": "",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("files")
    (directory / "s.yaml").write_text(SHAPES)
    (directory / "empty").mkdir()
    graph = '{"NC": 0, "CycleCount": 1, "TotalInstructionTraceCount": 1, "EventsCount": 1, "ErrorCount": 0}'
    (directory / "session.json").write_text('{"NeffNodes": [{"NodeInfo": {"Name": "x", "Graphs": [' + graph + "]}}]}")
    (directory / "rows.json").write_text('[{"case": "größe", "status": "profiled", "total_time_us": 1.0}]')
    stairs = [f"{m},1024,1024,{-(-m // 128)}.0,measured" for m in range(64, 1025, 64)]
    (directory / "stairs.csv").write_text("M,K,N,latency_ms,source\n" + "\n".join(stairs) + "\n")
    return directory


def call(directory, words, redirection="", **environment):
    module = ["neff_bench.simulator"] if words == ["--help"] else ["neff_bench"]
    line = ["bash", "-c", f'exec "$@" {redirection}', "bash", sys.executable, "-m", *module, *words]
    return subprocess.run(
        line, cwd=directory, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("name", CALLS)
def test_no_stream_makes_a_traceback(files, name):
    for sink, redirection in SINKS.items():
        environment = {"PYTHONIOENCODING": "ascii", "COLUMNS": "40"} if sink == "ascii" else {}
        done = call(files, CALLS[name], redirection, **environment)
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr, (sink, done.stderr)
        assert done.returncode in (0, 1, 2), (sink, done)
        assert "internal error" not in done.stderr
        if sink == "ascii":
            assert done.stdout.isascii() and done.stderr.isascii()


def test_an_answer_that_is_lost_is_said(files):
    for redirection, why in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
        done = call(files, CALLS["generate"], redirection)
        assert (done.returncode, done.stderr) == (1, f"error: standard output: {why}\n")


def test_a_reader_that_goes_away_ends_the_command_quietly(files):
    line = f"{sys.executable} -m neff_bench generate --shapes s.yaml --list | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=files, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_a_version(files, name):
    done = call(files, [name, "--version"])
    assert done.returncode == 0 and done.stdout.startswith("neff-bench ")


def test_a_wrong_option_value_is_one_line(files):
    done = call(files, ["profile", "empty", "--jobs", "x"])
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("error: ") and "--jobs" in done.stderr


def test_an_output_whose_suffix_names_no_format_is_a_wrong_call(files):
    for words in (["profile", "empty"], ["compare", "rows.json", "rows.json"], ["tiling", "stairs.csv"]):
        done = call(files, [*words, "--output", "o.svg"])
        assert done.returncode == 2 and not (files / "o.svg").exists()
        assert all(suffix in done.stderr for suffix in (".csv", ".json", ".md", ".txt"))


def test_a_group_without_arguments_prints_its_help_once():
    done = subprocess.run([sys.executable, "-m", "neff_bench"], capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert (done.returncode, said.count("Usage:")) in ((2, 1), (0, 1))
    assert "\n  generate" in said


@pytest.mark.parametrize(("columns", "widest"), [("60", 58), ("300", 98), ("0", 78), ("many", 78), (None, 78)])
def test_a_help_text_is_as_wide_as_the_terminal_up_to_a_hundred_columns(columns, widest):
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "neff_bench", "compare", "--help"]
    done = subprocess.run(
        command, env=environ | ({"COLUMNS": columns} if columns else {}), capture_output=True, text=True, check=True
    )
    options = done.stdout.partition("Options:")[2].splitlines()
    assert widest - 10 < max(map(len, options)) <= widest


def test_a_help_text_does_without_shutil_which_takes_long_to_import():
    asked = "import sys; sys.argv[1:] = ['--help']; from neff_bench.start import generate_neffs"
    check = f"import atexit; atexit.register(lambda: print('shutil' in sys.modules)); {asked}; generate_neffs()"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
