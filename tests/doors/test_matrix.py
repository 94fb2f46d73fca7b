"""One kernel, every door, one answer: name, LNC, total, check, warnings, and the line of a kernel that is refused."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest
from click.testing import CliRunner

import neff_bench
from neff_bench.doors.estimation import row_of
from neff_bench.simulator.commands.cli import main as neuron_sim
from neff_bench.simulator.files.neff import read_neff_content

pytestmark = pytest.mark.filterwarnings("default")
CURRENT = '''
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def double(x):
    tile = nl.ndarray(x.shape, x.dtype)
    nisa.dma_copy(tile, x)
    nisa.tensor_scalar(tile, tile, nl.multiply, 2.0)
    out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out


@nki.jit
def refused(x):
    return nl.ndarray((129, 8), x.dtype, nl.sbuf)  # refused


@nki.jit
def lost(x):
    return nl.ndarray(x.shape, x.dtype, nl.shared_hbm)  # lost


def right(x):
    return 2 * x


def wrong(x):
    return 3 * x
'''
OLD = '''
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def double(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x) * 2.0)
    return out


@nki.jit
def refused(x):
    return nl.load(x[0:4, 0:9])  # refused


@nki.jit
def lost(x):
    return nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)  # lost


def right(x):
    return 2 * x


def wrong(x):
    return 3 * x
'''
JAX = """
import jax


@jax.jit
def double(x):
    return 2 * x


def refused(x):
    return x @ x  # refused


def right(x):
    return 2 * x


def wrong(x):
    return 3 * x
"""
LAUNCHED = {"my_kernels": CURRENT, "old_kernels": OLD}
"""What a script launches: its jax functions are run by jax itself."""
FILES = {**LAUNCHED, "jax_kernels": JAX}
IMPLEMENTATION = {"my_kernels": "nki", "old_kernels": "nki", "jax_kernels": "xla"}
REFERENCE = {"right": "right", "wrong": "wrong", "refused": "right", "lost": None}
SHAPE = (128, 8)
CASES = [(file, ending) for file in FILES for ending in ("right", "wrong", "refused")]
CASES += [(file, "lost") for file in LAUNCHED]
FEW = [("my_kernels", "wrong"), ("old_kernels", "refused"), ("jax_kernels", "right"), ("old_kernels", "lost")]
"""For doors that start programs: each dialect and each ending."""
SCRIPT = """
import json
import numpy as np
import my_kernels, old_kernels

said = {}
for kernels in (my_kernels, old_kernels):
    kernels.double(np.ones((128, 8), np.float32))
    kernels.lost(np.ones((128, 8), np.float32))
    try:
        kernels.refused(np.ones((128, 8), np.float32))
    except Exception as error:
        said[kernels.__name__] = str(error)
print("SAID", json.dumps(said))
"""
TEST = """
import json
import numpy as np
import my_kernels, old_kernels
from neff_bench.stage2_profile.metrics.rows import to_dict

def test_all(neff_bench):
    said = {}
    for kernels in (my_kernels, old_kernels):
        kernels.double(np.ones((128, 8), np.float32))
        kernels.lost(np.ones((128, 8), np.float32))
        try:
            kernels.refused(np.ones((128, 8), np.float32))
        except Exception as error:
            said[kernels.__name__] = str(error)
    print("SAID", json.dumps(said))
    print("ROWS", json.dumps([to_dict(row) for row in neff_bench.rows]))
"""


def function(ending):
    return "double" if ending in ("right", "wrong") else ending


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with the kernels, and a shapes file of all endings."""
    folder = tmp_path_factory.mktemp("matrix")
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "script.py").write_text(SCRIPT)
    (folder / "test_kernels.py").write_text(TEST)
    cases = [
        {
            "kernel": f"{file}.py:{function(ending)}",
            "implementation": IMPLEMENTATION[file],
            "inputs": {"x": {"shape": list(SHAPE), "dtype": "float32"}},
            **({"reference": f"{file}.py:{REFERENCE[ending]}"} if REFERENCE[ending] else {}),
            "target": "trn2",
            "seed": number,
        }
        for number, (file, ending) in enumerate(CASES)
    ]
    (folder / "shapes.yaml").write_text(json.dumps({"cases": cases}))
    (folder / "few.yaml").write_text(json.dumps({"cases": [cases[CASES.index(case)] for case in FEW]}))
    return folder


def started(folder, *words, data=None):
    words = [sys.executable, "-m", *words]
    return subprocess.run(words, cwd=folder, input=data, capture_output=True, text=True, timeout=300)


def entry(folder, file, ending):
    return f"{folder / file}.py:{function(ending)}"


def reference(folder, file, ending):
    return REFERENCE[ending] and f"{folder / file}.py:{REFERENCE[ending]}"


def commands(folder, shapes, *flags):
    store = "-".join(("store", *flags)).replace("-", "")
    started(folder, "neff_bench", "generate", "--shapes", shapes, "--out", store, *flags)
    done = started(folder, "neff_bench", "profile", store, "--format", "json", *flags)
    rows = {row["case"].rpartition("_seed")[2]: row for row in json.loads(done.stdout)}
    return {CASES[int(number)]: row for number, row in rows.items()}


def warm(folder):
    return commands(folder, "shapes.yaml")


def cold(folder):
    return commands(folder, "few.yaml", "--cold")


def ray(folder):
    if find_spec("ray") is None:
        pytest.skip("ray is not installed")
    return commands(folder, "few.yaml", "--ray", "local")


def run(folder):
    done = started(folder, "neff_bench", "run", "--store", "ran", "script.py")
    said = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("SAID"))[5:])
    done = started(folder, "neff_bench", "profile", "ran", "--format", "json")
    return launched(json.loads(done.stdout), said)


def pytests(folder):
    done = started(folder, "pytest", "--neff-bench", "-q", "-s", "-p", "no:cacheprovider", "test_kernels.py")
    said, rows = (
        json.loads(next(line for line in done.stdout.splitlines() if line.startswith(word))[5:])
        for word in ("SAID", "ROWS")
    )
    return launched(rows, said)


def launched(rows, said):
    """Launches have no reference, so a right and a wrong kernel look alike."""
    by_name = {row["kernel"]: row for row in rows}
    found = {
        (file, ending): by_name[f"{file}.{function(ending)}"]
        for file in LAUNCHED
        for ending in ("right", "wrong", "lost")
    }
    return found | {(file, "refused"): {"reason": said[file], "kernel": f"{file}.refused"} for file in LAUNCHED}


def profile(folder):
    case = CASES[0]
    row = neff_bench.profile(entry(folder, *case), {"x": (SHAPE, "float32")}, reference=reference(folder, *case))
    return {case: vars(row)}


def profile_many(folder):
    tasks = [
        neff_bench.Task(
            entry(folder, *case),
            {"x": (SHAPE, "float32")},
            reference=reference(folder, *case),
            implementation=IMPLEMENTATION[case[0]],
        )
        for case in CASES
    ]
    return {case: vars(row) for case, row in zip(CASES, neff_bench.profile_many(tasks))}


def estimate(folder):
    found = {}
    for file, ending in CASES:
        try:
            row = neff_bench.estimate(
                entry(folder, file, ending), {"x": (SHAPE, "float32")}, implementation=IMPLEMENTATION[file]
            )
            found[file, ending] = vars(row)
        except Exception as error:
            found[file, ending] = {"reason": str(error)}
    return found


def variants(folder):
    return [
        {
            "id": number,
            "kernel": entry(folder, *case),
            "implementation": IMPLEMENTATION[case[0]],
            "inputs": {"x": {"shape": SHAPE, "dtype": "float32"}},
            "check": True,
            "reference": reference(folder, *case),
        }
        for number, case in enumerate(CASES)
    ]


def tune(folder):
    done = started(folder, "neff_bench", "tune", data="\n".join(map(json.dumps, variants(folder))))
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    return {case: answers[number]["row"] or answers[number] for number, case in enumerate(CASES)}


def agent(folder, tool):
    pytest.importorskip("mcp")
    from neff_bench.doors.mcp_calls import Limits
    from neff_bench.doors.mcp_server import Checked, Tools

    tools, inputs = Tools(Limits(folder.resolve(), 60.0, 8 << 30)), {"x": {"shape": list(SHAPE), "dtype": "float32"}}
    return {
        case: tool(
            tools,
            Checked(
                kernel=entry(folder, *case),
                inputs=inputs,
                implementation=IMPLEMENTATION[case[0]],
                reference=reference(folder, *case),
            ),
        )
        for case in FEW
    }


def mcp_estimate(folder):
    def ask(tools, asked):
        answer = tools.estimate(asked)
        return answer["row"] or answer

    return agent(folder, ask)


def mcp_profile(folder):
    return agent(folder, lambda tools, asked: tools.profile(asked))


def compiled(folder, model, *words):
    neff = folder / "compiled.neff"
    words = ["compile", str(model), "--target", "trn2", "--output", str(neff), *words]
    done = CliRunner().invoke(neuron_sim, words)
    return {"reason": done.stderr} if done.exit_code else vars(row_of(read_neff_content(str(neff)).program))


def compile(folder):
    found = {}
    for file in LAUNCHED:
        for ending in ("right", "refused", "lost"):
            spec = {"entry": entry(folder, file, ending), "inputs": [{"name": "x", "shape": SHAPE, "dtype": "float32"}]}
            (folder / "kernel.json").write_text(json.dumps(spec))
            found[file, ending] = compiled(folder, folder / "kernel.json", "--framework", "NKI")
    return found


CHECKING = (warm, cold, ray, profile, profile_many, tune, mcp_profile)
DOORS = (*CHECKING, run, pytests, estimate, mcp_estimate, compile)


@pytest.fixture(scope="module")
def usual(project):
    return warm(project)


@pytest.mark.parametrize("door", DOORS, ids=[door.__name__ for door in DOORS])
def test_a_kernel_has_one_answer(project, usual, door):
    found = usual if door is warm else door(project)
    for (file, ending), row in found.items():
        expected = usual[file, ending]
        if ending == "refused":
            assert line_of(file, ending) in row["reason"], row["reason"]
            assert row.get("check") in (None, "not built", expected["check"])
        elif row:
            assert row["kernel"] == f"{file}.{function(ending)}"
            assert (row["lnc"], row["shapes"], row["dtype"]) == (1, "128x8", "float32")
            assert row["case"].startswith(f"{file}.{function(ending)}_{IMPLEMENTATION[file]}_128x8")
            assert round(row["total_time_us"], 6) == expected["total_time_us"]
            assert list(row["warnings"]) == list(expected["warnings"])
            checks = {"right": "passed", "wrong": "wrong"} if door in CHECKING else {}
            assert (row["check"] or "unchecked") == ({"lost": "suspect"} | checks).get(ending, "unchecked")
            if ending == "lost":
                assert row["reason"] == f"output output0 was never written ({line_of(file, ending)})"


def line_of(file, mark):
    number = next(number for number, text in enumerate(FILES[file].splitlines(), 1) if f"# {mark}" in text)
    return f"{file}.py:{number}"


def test_a_graph_of_jax_has_its_time_where_neuron_sim_compiles_it(project, usual):
    """It carries neither the file's name nor those of the inputs."""
    model = next(project.glob("store/jax_kernels.double*/model"))
    row = compiled(project, model, "--framework", "XLA", "--lnc", "1")
    assert round(row["total_time_us"], 6) == usual["jax_kernels", "right"]["total_time_us"]
