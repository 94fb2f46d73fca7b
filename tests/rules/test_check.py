"""`neff-bench check`: a kernel that AWS's compiler refuses is named with its line and ends with 1."""

import json
import subprocess
import sys

import pytest

from neff_bench.rules.findings import of_refusal, of_source
from neff_bench.rules.report import forecast
from neff_bench.rules.source import Source
from tests.rules.kernels import found, whole

KERNEL = """\
import numpy as np
import nki, nki.isa as nisa, nki.language as nl

@nki.jit
def kernel(a):
    tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=tile, src=a)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.{operator}, operand0=3.0)
    nisa.dma_copy(dst=out, src=tile)
    return out

if __name__ == "__main__":
    kernel(np.zeros((128, 64), np.float32))
"""


def check(*words):
    command = [sys.executable, "-m", "neff_bench", "check", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_rule_that_a_launch_breaks_has_its_line(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(operator="divide"))
    done = check(path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(f"{path}:9: error NBLE603 ")


def test_a_kernel_that_breaks_none_is_not_said_to_be_accepted(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(operator="multiply"))
    done = check(path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "no known rule broken" in done.stdout and "accept" not in done.stdout


def written(tmp_path, operator="divide", name="kernel.py"):
    path = tmp_path / name
    path.write_text(KERNEL.format(operator=operator))
    return path


def test_releases_and_chips_make_a_matrix(tmp_path):
    done = check(written(tmp_path), "--sdk", "2.28..2.30", "--target", "trn2,trn3")
    head, first, second = done.stdout.splitlines()[-3:]
    assert head.split() == ["file", "chip", "2.28", "2.29", "2.30"]
    assert first.split()[1] == "trn2" and second.split()[1] == "trn3"
    assert "no known rule broken  refuses it (NBLE603)  refuses it (NBLE603)" in first
    assert done.returncode == 1
    assert check(written(tmp_path), "--sdk", "2.28").returncode == 0


def test_the_oldest_known_release_stands_for_those_before_it(tmp_path):
    done = check(written(tmp_path, "multiply"), "--sdk", "2.21..2.28")
    assert done.stdout.splitlines()[-2].split() == ["file", "chip", "2.28"]
    assert done.stderr.startswith("notice: no rules are known of SDK 2.21; those of 2.28")
    assert check(written(tmp_path), "--sdk", "3.21").returncode == 2


def test_codes_are_selected_and_ignored(tmp_path):
    path = written(tmp_path)
    assert check(path, "--ignore", "E603").returncode == 0
    assert check(path, "--select", "N,P").returncode == 0
    assert check(path, "--select", "E6").returncode == 1
    wrong = check(path, "--select", "Q")
    assert (wrong.returncode, "no code of a rule begins with 'Q'" in wrong.stderr) == (2, True)


def test_a_comment_allows_a_rule_on_its_line(tmp_path):
    path = written(tmp_path)
    text = path.read_text()
    path.write_text(text.replace("operand0=3.0)", "operand0=3.0)  # nbl: ignore[E603]"))
    assert check(path).returncode == 0
    path.write_text(text.replace("operand0=3.0)", "operand0=3.0)  # nbl: ignore[E999]"))
    assert check(path).returncode == 1


def test_a_baseline_holds_what_is_known_when_lines_are_added(tmp_path):
    path, baseline = written(tmp_path), tmp_path / "known.json"
    assert check(path, "--baseline", baseline).returncode == 0
    path.write_text("# a line more\n" + path.read_text())
    assert check(path, "--baseline", baseline).returncode == 0
    path.write_text(
        path.read_text().replace(
            "    nisa.dma_copy(dst=out",
            "    nisa.tensor_tensor(dst=tile, data1=tile, data2=tile, op=nl.divide)\n    nisa.dma_copy(dst=out",
        )
    )
    done = check(path, "--baseline", baseline)
    assert done.returncode == 1 and "NBLE602" in done.stdout and "NBLE603" not in done.stdout


def test_sarif_has_what_code_scanning_asks_for(tmp_path):
    path = written(tmp_path)
    log = json.loads(check(path, "--format", "sarif").stdout)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver, (result,) = run["tool"]["driver"], run["results"]
    assert (
        driver["name"]
        and {"id", "shortDescription", "help", "helpUri", "defaultConfiguration"} <= driver["rules"][0].keys()
    )
    assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "NBLE603"
    assert result["level"] == "error" and result["message"]["text"] and result["partialFingerprints"]
    (place,) = result["locations"]
    assert place["physicalLocation"]["region"]["startLine"] == 9
    assert not place["physicalLocation"]["artifactLocation"]["uri"].startswith("/")


def test_json_and_annotations_of_github(tmp_path):
    path = written(tmp_path)
    answer = json.loads(check(path, "--format", "json").stdout)
    assert [one["code"] for one in answer["findings"]] == ["NBLE603"]
    assert answer["files"][0]["recorded"] == 1 and answer["files"][0]["instructions"] == 3
    line = check(path, "--format", "github").stdout
    assert line.startswith(f"::error file={path},line=9,title=NBLE603::")


def test_the_answer_is_written_in_the_format_of_its_suffix(tmp_path):
    path = written(tmp_path)
    for suffix, key in ((".json", "findings"), (".sarif", "runs")):
        done = check(path, "--output", tmp_path / f"answer{suffix}")
        assert (done.returncode, done.stdout) == (1, "") and "wrote" in done.stderr
        assert key in json.loads((tmp_path / f"answer{suffix}").read_text())
    check(path, "--output", tmp_path / "answer.txt")
    assert (tmp_path / "answer.txt").read_text() == check(path).stdout


def test_a_safe_fix_changes_the_source_and_nothing_else(tmp_path):
    path = tmp_path / "kernel.py"
    text = KERNEL.format(operator="multiply").replace("@nki.jit", "@nki.jit(platform_target='trn2', mode='trace')")
    path.write_text(text)
    assert "NBLN131" in check(path).stdout
    assert check(path, "--fix").returncode == 0
    assert path.read_text() == text.replace("platform_target='trn2', ", "")


def test_a_file_that_launches_nothing_is_judged_by_its_source(tmp_path):
    path = tmp_path / "library.py"
    path.write_text("import nki.isa as nisa, nki.language as nl\n\ndef part(x):\n    nisa.rsqrt(dst=x, data=x)\n")
    done = check(path)
    assert done.returncode == 1 and "library.py:4: error NBLN128" in done.stdout
    path.write_text("import nki.isa as nisa\n\ndef part(x):\n    nisa.memset(dst=x, value=0)\n")
    done = check(path)
    assert done.returncode == 0 and "cannot tell" in done.stdout and "--shapes" in done.stdout


def test_a_kernel_that_nothing_launches_comes_with_the_shapes_file_that_tells(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(operator="divide").partition("if __name__")[0])
    *_, command, shapes = check(path).stdout.splitlines()
    (tmp_path / "shapes.yaml").write_text(shapes.replace("[128, 512]", "[128, 64]"))
    words = (
        command.removeprefix("to judge its calls too: neff-bench check ")
        .partition(",")[0]
        .replace("shapes.yaml", str(tmp_path / "shapes.yaml"))
    )
    done = check(*words.split())
    assert done.returncode == 1 and "NBLE603" in done.stdout


def test_a_part_of_a_package_is_not_run_as_a_script(tmp_path):
    path = tmp_path / "part.py"
    path.write_text("import nki.isa as nisa\nfrom .other import size\n\nWIDTH = size(3)\n")
    done = check(path)
    assert done.returncode == 0 and "nothing launches its kernels" in done.stdout and "ImportError" not in done.stdout


def test_what_is_no_python_is_told_and_the_other_files_are_judged(tmp_path):
    (tmp_path / "broken.py").write_text("def kernel(:\n")
    written(tmp_path)
    done = check(tmp_path)
    assert done.returncode == 1 and "NBLE603" in done.stdout and "SyntaxError" in done.stdout


def test_the_shapes_of_a_shapes_file_are_recorded(tmp_path):
    path = written(tmp_path)
    path.write_text(path.read_text().split("if __name__")[0])
    shapes = tmp_path / "shapes.yaml"
    shapes.write_text(
        "cases:\n- kernel: kernel.py:kernel\n  implementation: nki\n  M: 128\n  N: 64\n  inputs:\n    a: {shape: [M, N], dtype: float32}\n"
    )
    assert "cannot tell" in check(path).stdout
    done = check(path, "--shapes", shapes)
    assert done.returncode == 1 and f"{path}:9: error NBLE603" in done.stdout


def test_integers_that_are_not_drawn_need_no_scale(tmp_path):
    path = written(tmp_path, "multiply")
    path.write_text(path.read_text().split("if __name__")[0].replace("nl.float32", "nl.int32"))
    shapes = tmp_path / "shapes.yaml"
    inputs = "inputs: {a: {shape: [128, 64], dtype: int32}}"
    shapes.write_text(f"cases: [{{kernel: kernel.py:kernel, implementation: nki, {inputs}}}]\n")
    done = check(path, "--shapes", shapes)
    assert (done.returncode, done.stderr) == (0, "") and "no known rule broken" in done.stdout


def test_wrong_calls_end_with_2(tmp_path):
    path = written(tmp_path)
    for words in ([], [path, "--sdk", "1.0"], [path, "--target", "trn9"], ["--explain", "E999"]):
        done = check(*words)
        assert done.returncode == 2 and len(done.stderr.strip().splitlines()) <= 4, words


def test_a_kernel_that_will_compile_long_is_told_with_what_people_report():
    assert forecast("kernel.py", 99_999) == ""
    assert "kernel.py: 2,000,000 instructions" in forecast("kernel.py", 2_000_000)


def test_a_file_that_imports_both_packages_is_of_the_current_dialect(tmp_path):
    path = written(tmp_path)
    text = (
        "try:\n    from neuronxcc.nki.kernels.attention import flash_fwd\nexcept ImportError:\n    pass\n"
        + path.read_text()
    )
    path.write_text(text)
    done = check(path, "--sdk", "2.29")
    assert done.returncode == 1 and "NBLE603" in done.stdout and "old dialect" not in done.stdout


def test_a_shapes_file_without_a_case_of_the_kernel_is_named(tmp_path):
    written(tmp_path)
    (tmp_path / "other.py").write_text("import nki\n\n\n@nki.jit\ndef f(x):\n    return x\n")
    (tmp_path / "other.yaml").write_text(
        "cases:\n  - {kernel: other.py:f, implementation: nki, target: trn2, inputs: {x: {shape: [128, 64], dtype: bfloat16}}}\n"
    )
    path = tmp_path / "kernel.py"
    path.write_text(path.read_text().split("if __name__")[0])
    done = check(path, "--shapes", tmp_path / "other.yaml")
    assert f"no case of other.yaml names a kernel of {path.name}" in done.stdout, done.stdout + done.stderr


# A process of its own: where other tests have made threads, none may fork.
JUDGED_IN_FOUR_SECONDS = """
import sys
from pathlib import Path
from neff_bench.doors import judging
judging.TIMEOUT_S = 4.0
(answer,) = judging.judge_files([judging.Task(Path(sys.argv[1]), "trn2")], jobs=1)
print([one.code for one in answer.findings], answer.recorded, answer.untold)
"""


def test_what_is_found_before_the_time_is_up_is_told(tmp_path):
    path = written(tmp_path)
    path.write_text(f"{path.read_text()}    while True:\n        pass\n")
    done = subprocess.run(
        [sys.executable, "-c", JUDGED_IN_FOUR_SECONDS, path], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "['NBLE603'] 1 took longer than 4 s\n", done.stderr


def test_a_function_of_the_host_that_asks_for_names_is_no_kernel():
    text = KERNEL.format(operator="multiply") + (
        "\ndef grid(n):\n    if not hasattr(nl, 'nc'):\n        raise ValueError('no nc')\n    return nl.nc(n)\n"
    )
    assert [one.code for one in of_source(Source(text, "k.py"), "trn2")] == []


def test_imports_of_the_old_dialect_are_one_finding_and_a_path_below_here_is_short(tmp_path):
    (tmp_path / "old.py").write_text(
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\n@nki.jit\ndef f(x):\n    return x\n"
    )
    command = [sys.executable, "-m", "neff_bench", "check", str(tmp_path / "old.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.count("NBLN156") == 1 and done.stdout.startswith("old.py:1: warning NBLN156 AWS's notes say")
    strict = subprocess.run([*command, "--strict"], capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    assert strict.startswith("old.py:1: error NBLN156") and "refuses it (NBLN156)\n" in strict


def test_a_name_and_an_argument_that_the_old_dialect_lacks_are_errors(tmp_path):
    path = tmp_path / "kernel.py"
    for call, code in (("nl.concatenate(x)", "NBLN155"), ("nl.sum(x, axis=1, keepdim=True)", "NBLN133")):
        path.write_text(
            "import numpy as np, neuronxcc.nki as nki, neuronxcc.nki.language as nl\n@nki.jit\ndef kernel(a):\n"
            f"    x = nl.load(a)\n    y = {call}\n    return y\nkernel(np.zeros((128, 64), np.float32))\n"
        )
        done = check(path)
        assert done.returncode == 1 and f"{path}:5: error {code} " in done.stdout, done.stdout + done.stderr


def test_a_positional_argument_that_a_function_lacks_is_an_error():
    said = "nisa.dma_transpose takes 1 positional argument but 2 positional arguments (and 1 keyword-only argument) were given"
    one = of_refusal(said, "k.py:3", "trn2")
    assert one is not None and (one.code, one.level) == ("NBLN104", "error")


def test_nl_divide_is_refused_on_every_chip():
    text = "import nki\nimport nki.language as nl\n\n@nki.jit\ndef k(x):\n    return nl.divide(x, x)\n"
    for target in ("trn1", "inf2", "trn2", "trn3"):
        assert "NBLE601" in [one.code for one in of_source(Source(text, "k.py"), target)], target


def test_a_filled_tile_of_one_dimension_is_in_sbuf_where_no_buffer_is_named():
    text = """
from neuronxcc import nki
import neuronxcc.nki.language as nl

@nki.jit
def k(x):
    made = nl.{}((128,), dtype=nl.float32)
    return made
"""
    codes = [
        {one.code for one in of_source(Source(text.format(name), "k.py"), "trn1")} for name in ("zeros", "ndarray")
    ]
    assert ["NBLB118" in found for found in codes] == [True, False]


OLD = """\
import numpy as np, neuronxcc.nki as nki, neuronxcc.nki.language as nl
@nki.jit
def kernel(a):
    x = nl.load(a)
    {line}
    return x
kernel(np.zeros((128, 64), np.float32))
"""


@pytest.mark.parametrize(
    ("line", "exit_code"),
    [
        ("y = nl.exp(3)", 1),  # NkiValidationError that no rule names
        ("y = x.no_such_method()", 1),
        ("import neuronxcc.nki.typing as nt; nt.tensor.store(x)", 1),
        ("y = nl.ndarray((128, 64), nl.float32, buffer=nl.hbm); y[...] = a", 1),
        ("y = np.exp(x)", 1),
        ("y = None\n    y.shape", 1),
        ("y = x.astype(nl.bfloat16)\n    i = nl.arange(64)\n    y = (i // 3) * i", 0),  # NotModelledError
    ],
)
def test_a_mistake_of_an_old_kernel_is_refused_and_what_is_not_modelled_is_not(tmp_path, line, exit_code):
    path = tmp_path / "kernel.py"
    path.write_text(OLD.format(line=line))
    done = check(path)
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert ("cannot tell" in done.stdout) is not exit_code and (
        "the simulator refuses it" in done.stdout
    ) is not exit_code


def test_strict_calls_a_warning_an_error(tmp_path):
    path = tmp_path / "old.py"
    path.write_text("import neuronxcc.nki as nki\n@nki.jit\ndef f(x):\n    return x\n")
    done = check(path, "--strict", "--sdk", "2.32")
    assert done.returncode == 1 and "error NBLN156" in done.stdout and ": warning " not in done.stdout


@pytest.mark.parametrize(
    ("call", "releases"),
    [
        ("nisa.nc_matmul(dst=p, stationary=x, moving=x, accumulate=True)", ""),
        ("nisa.activate2(dst=p, op=nl.exp, data=x)", "2.30 2.31 2.32"),
        ("nisa.tensor_reduce(x, nl.add)", "2.28 2.29 2.30 2.31 2.32"),
        ("nisa.bn_stats(x, x, x, x)", "2.28 2.29 2.30 2.31 2.32"),
        ("nisa.tensor_copy(x, dst=x, src=x)", "2.28 2.29 2.30 2.31 2.32"),
        ("nisa.tensor_copy(*a)", ""),
        ("nisa.tensor_copy(**a)", ""),
        ("nl.abs_max(x, x)", "2.29"),
        ("nl.cast(x)", "2.28 2.29 2.30 2.31 2.32"),
        ("if a: nl.cast(x)", ""),
        ("nl.range(3)", ""),
        ("nl.par_dim(3)", "2.29"),
    ],
)
def test_a_call_is_held_against_the_declarations_of_each_release(call, releases):
    text = f"import nki, nki.isa as nisa, nki.language as nl\n@nki.jit\ndef k(a, x, p):\n    {call}\n"
    of_declarations = [one for one in of_source(Source(text, "k.py"), "trn2") if one.code in ("NBLN161", "NBLN162")]
    told = {one for each in of_declarations for one in each.releases}
    named = {one for each in of_source(Source(text, "k.py"), "trn2") if each.code[3] == "N" for one in each.releases}
    assert (told or named & {"2.29"}) == set(releases.split())


def test_a_rule_that_says_more_stands_for_the_declarations():
    text = "import nki, nki.isa as nisa\n@nki.jit\ndef k(x):\n    nisa.tensor_copy(dst=x, src=x, mask=x)\n"
    assert [one.code for one in of_source(Source(text, "k.py"), "trn2")] == ["NBLN103"]


def test_a_moving_tile_of_the_whole_psum_is_refused_before_trn3_alone(tmp_path):
    text = whole("m=F((128,2048))\np=P((64,2048))\nnisa.nc_matmul(dst=p,stationary=x,moving=m)\n")
    every, refused = found(text, "trn3", 1, tmp_path / "kernel.py")
    assert every == [] and "is not modelled" in refused
    assert [one.code for one in found(text, "trn2", 1, tmp_path / "kernel.py")[0]] == ["NBLS407"]
