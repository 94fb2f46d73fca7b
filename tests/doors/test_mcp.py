"""The MCP server, driven by the client of the `mcp` package."""

import asyncio
import sys

import pytest

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters, stdio_client  # noqa: E402  (skipped where it is not installed)

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


def double(x):
    return 2 * x


def triple(x):
    return 3 * x
'''
INPUTS = {"x": {"shape": [128, 512], "dtype": "float32"}}


CALLS = {
    "good": ("estimate", {"kernel": "k.py:scale", "inputs": INPUTS}),
    "crash": ("estimate", {"kernel": "k.py:crash", "inputs": INPUTS}),
    "lines": ("explain", {"kernel": "k.py:scale", "inputs": INPUTS}),
    "right": ("profile", {"kernel": "k.py:scale", "inputs": INPUTS, "reference": "k.py:double"}),
    "wrong": ("profile", {"kernel": "k.py:scale", "inputs": INPUTS, "reference": "k.py:triple"}),
    "absent": ("inspect", {"path": "nowhere.neff"}),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """What one server answers: the names of its tools, and the result of each call. A server takes two seconds to start."""
    directory = tmp_path_factory.mktemp("mcp")
    (directory / "k.py").write_text(KERNEL)

    async def talk():
        server = StdioServerParameters(command=sys.executable, args=["-m", "neff_bench", "mcp"], cwd=str(directory))
        async with Client(stdio_client(server)) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            return names, {key: await client.call_tool(*call) for key, call in CALLS.items()}

    return asyncio.run(talk())


@pytest.fixture
def answers(served):
    return served[1]


def test_it_serves_the_five_commands(served):
    assert served[0] == {"estimate", "profile", "explain", "compare", "inspect"}


def test_a_kernel_is_estimated(answers):
    answer = answers["good"].structured_content
    assert answer["total_time_us"] > 0
    assert answer["row"]["source"] == "simulated"


def test_a_crash_is_data(answers):
    answer = answers["crash"].structured_content
    assert (answer["status"], answer["reason"]) == ("failed", "crashed (SIGABRT)")


def test_the_lines_that_take_the_time_are_explained(answers):
    assert "k.py:13" in answers["lines"].content[0].text  # the line that loads the tile


@pytest.mark.parametrize(("call", "check"), [("right", "passed"), ("wrong", "wrong")])
def test_a_profile_checks_the_outputs(answers, call, check):
    assert answers[call].structured_content["check"] == check


def test_what_cannot_be_read_is_an_error_of_the_tool(answers):
    assert answers["absent"].is_error
    assert "nowhere.neff" in answers["absent"].content[0].text
