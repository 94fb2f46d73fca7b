"""The MCP server, driven by the client of the `mcp` package."""

import asyncio
import json
import os
import sys

import pytest

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters, stdio_client  # noqa: E402  (skipped where it is not installed)

from neff_bench.installation import __version__  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
KERNEL = '''
import os
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def scale(x):
    print("kernels print")
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=tile)
    return out


def crash(x):
    os.abort()


@nki.jit
def third(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.divide, operand0=3.0)
    nisa.dma_copy(dst=out, src=tile)
    return out


def double(x):
    return 2 * x


def triple(x):
    return 3 * x
'''
INPUTS = {"x": {"shape": [128, 512], "dtype": "float32"}}


HOSTILE_KERNEL = """
import os
from os import system
from subprocess import run


def forever(x):
    while True:
        pass


def eats(x):
    return [bytearray(1 << 30) for _ in range(64)]


def command(x, command):
    raise ValueError(command)


def leaves(x):
    import os, time
    if os.fork() == 0:
        os.setsid()
        open(__file__ + ".left", "w").write(str(os.getpid()))
        time.sleep(300)
        os._exit(0)
    while not os.path.exists(__file__ + ".left"):
        time.sleep(0.01)
    return x
"""


CALLS = {
    "good": ("estimate", {"kernel": "k.py:scale", "inputs": INPUTS}),
    "crash": ("estimate", {"kernel": "k.py:crash", "inputs": INPUTS}),
    "lines": ("explain", {"kernel": "k.py:scale", "inputs": INPUTS}),
    "right": ("profile", {"kernel": "k.py:scale", "inputs": INPUTS, "reference": "k.py:double"}),
    "wrong": ("profile", {"kernel": "k.py:scale", "inputs": INPUTS, "reference": "k.py:triple"}),
    "absent": ("inspect", {"path": "nowhere.neff"}),
    "unchecked": ("profile", {"kernel": "k.py:scale", "inputs": INPUTS}),
    "estimate 2.28": ("estimate", {"kernel": "k.py:third", "inputs": INPUTS, "sdk": "2.28"}),
    "estimate 2.29": ("estimate", {"kernel": "k.py:third", "inputs": INPUTS, "sdk": "2.29"}),
    "profile 2.28": ("profile", {"kernel": "k.py:third", "inputs": INPUTS, "sdk": "2.28"}),
    "profile 2.29": ("profile", {"kernel": "k.py:third", "inputs": INPUTS, "sdk": "2.29"}),
    "estimate 9.9": ("estimate", {"kernel": "k.py:third", "inputs": INPUTS, "sdk": "9.9"}),
}


KERNELS = [
    "os:system", "subprocess:getoutput", "os.system", "evil.py:system", "evil.py:run", "evil.py:os.system", "k.py", ":scale",
    "k.py:", "k.py:absent", "k.py:scale.__globals__", "../outside.py:touch", "OUTSIDE/outside.py:touch", "link.py:touch",
    "folder/outside.py:touch", "--help", "-k.py:scale", "--root=/.py:scale", "k.py\0:scale", "k.py:scale\nimport os",
    "/etc/passwd:root", "/dev/stdin.py:x", "broken.py:f", "pipe.py:f", "neff_bench.doors.estimation:estimate",
]  # fmt: skip
"""Kernels that may not be named; their arguments would write a file."""


HOSTILE = [
    *[(tool, {"kernel": name, "inputs": INPUTS, "arguments": {"command": "touch written"}})
      for tool in ("estimate", "explain") for name in KERNELS],
    *[("profile", {"kernel": "k.py:scale", "inputs": INPUTS, "reference": name}) for name in KERNELS[:7]],
    *[(tool, {"kernel": "evil.py:command", "inputs": INPUTS, "arguments": {"command": {"ref": "os:system", "args": ["touch written"]}}})
      for tool in ("estimate", "profile", "explain")],
    ("estimate", {"kernel": "k.py:scale", "inputs": INPUTS, "arguments": {"a": [{"b": {"ref": "os:environ"}}]}}),
    ("estimate", {"kernel": "k.py:scale", "inputs": INPUTS, "target": "--help"}),
    ("estimate", {"kernel": "k.py:scale", "inputs": INPUTS, "lnc": 3}),
    ("estimate", {"kernel": "k.py:scale", "inputs": {"x": {"shape": [-1, 2], "dtype": "float32"}}}),
    ("estimate", {"kernel": "k.py:scale", "inputs": {"x": {"shape": [1], "dtype": "float32", "values": "os:getcwd"}}}),
    ("profile", {"kernel": "k.py:scale", "inputs": INPUTS, "ranks": 100000}),
    *[("inspect", {"path": path}) for path in ("/", "/etc", "..", "../..", "--help", "--output=x.json", "link.py", "folder", "a\0b", "", "many", "a" * 5000)],
    *[("compare", {"before": path, "after": path}) for path in ("--save=x.json", "--help", "/etc/passwd", "..", "k.py\0", "link.py", "folder")],
    ("compare", {"before": ".", "after": "--output=x.json"}),
]  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """What one server answers: the names of its tools, and the result of each call. A server takes two seconds to start."""
    directory = tmp_path_factory.mktemp("mcp")
    (directory / "k.py").write_text(KERNEL)

    async def talk():
        server = StdioServerParameters(command=sys.executable, args=["-m", "neff_bench", "mcp"], cwd=str(directory))
        async with Client(stdio_client(server)) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            version = client.server_info.version
            return names, {key: await client.call_tool(*call) for key, call in CALLS.items()}, version

    return asyncio.run(talk())


@pytest.fixture
def answers(served):
    return served[1]


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """What a server with small limits answers to hostile calls, the last two from kernels that hang and that fill the memory; what
    lay below the directory before, and what lies there now."""
    above = tmp_path_factory.mktemp("above")
    root = above / "root"
    (root / "many").mkdir(parents=True)
    for number in range(1001):
        (root / "many" / f"{number}.json").touch()
    outside = above / "outside.py"
    outside.write_text("from pathlib import Path\nPath('written').touch()\n\ndef touch(x, command=None):\n    pass\n")
    (root / "k.py").write_text(KERNEL)
    (root / "evil.py").write_text(HOSTILE_KERNEL)
    (root / "broken.py").write_text("def f(:\n")
    os.mkfifo(root / "pipe.py")
    (root / "link.py").symlink_to(outside)
    (root / "folder").symlink_to(above)
    before = sorted(map(str, above.rglob("*")))
    spoken = json.loads(json.dumps(HOSTILE).replace("OUTSIDE", str(above)))

    async def talk():
        words = ["-m", "neff_bench", "mcp", "--root", str(root), "--timeout", "8", "--memory", "2048"]
        server = StdioServerParameters(command=sys.executable, args=words, cwd=str(above))
        async with Client(stdio_client(server)) as client:
            wrong = [await client.call_tool(*call) for call in spoken]
            kernels = [{"kernel": f"evil.py:{name}", "inputs": INPUTS} for name in ("forever", "eats")]
            ended = [await client.call_tool("estimate", kernel) for kernel in kernels]
            after = sorted(map(str, above.rglob("*")))
            await client.call_tool("estimate", {"kernel": "evil.py:leaves", "inputs": INPUTS})
            return wrong, ended, before, after

    return *asyncio.run(talk()), [int(file.read_text()) for file in above.rglob("*.left")]


def test_every_hostile_call_is_an_error_and_leaves_no_file(refused):
    answers, _, before, after, _ = refused
    for call, answer in zip(HOSTILE, answers, strict=True):
        text = answer.content[0].text
        assert answer.is_error, call
        assert "neff-bench-mcp-" not in text and "Traceback" not in text, (call, text)
    assert before == after


def test_what_the_server_refuses_it_refuses_in_one_line(refused):
    texts = [answer.content[0].text for answer in refused[0]]
    assert any("validation error" in text for text in texts)
    assert [text for text in texts if "\n" in text] == []


def test_a_kernel_that_hangs_or_fills_the_memory_costs_its_own_call(refused):
    hung, full = (answer.structured_content or answer.content[0].text for answer in refused[1])
    assert "took longer than 8 s" in str(hung)
    assert "memory" in str(full).lower()


def test_what_a_kernel_leaves_in_a_session_of_its_own_ends_with_the_call(refused):
    (left,) = refused[4]
    with pytest.raises(ProcessLookupError):
        os.kill(left, 0)


def test_it_serves_the_five_commands(served):
    assert served[0] == {"estimate", "profile", "explain", "compare", "inspect"}


def test_a_kernel_is_estimated(answers):
    answer = answers["good"].structured_content
    assert answer["total_time_us"] > 0
    assert answer["row"]["source"] == "simulated"


def test_a_crash_is_data(answers):
    answer = answers["crash"].structured_content
    assert (answer["status"], answer["reason"]) == ("failed", "killed by SIGABRT")


def test_the_lines_that_take_the_time_are_explained(answers):
    assert "k.py:13" in answers["lines"].content[0].text  # the line that loads the tile


@pytest.mark.parametrize(("call", "check"), [("right", "passed"), ("wrong", "wrong")])
def test_a_profile_checks_the_outputs(answers, call, check):
    assert answers[call].structured_content["check"] == check


def test_a_profile_without_a_reference_is_not_checked(answers):
    answer = answers["unchecked"].structured_content
    assert (answer["status"], answer["check"]) == ("profiled", "unchecked")


def test_the_release_that_is_asked_for_refuses(answers):
    said = {call: answers[call].structured_content for call in answers if " 2.2" in call}
    assert said["estimate 2.28"]["refused"] is None and "NBLE603" in said["estimate 2.29"]["refused"]
    assert said["profile 2.28"]["findings"] == [] and "NBLE603" in said["profile 2.29"]["findings"][0]["text"]
    assert answers["estimate 9.9"].is_error and "release '9.9'" in answers["estimate 9.9"].content[0].text


def test_the_server_says_which_version_it_is(served):
    assert served[2] == __version__


def test_what_cannot_be_read_is_an_error_of_the_tool(answers):
    assert answers["absent"].is_error
    assert "nowhere.neff" in answers["absent"].content[0].text
