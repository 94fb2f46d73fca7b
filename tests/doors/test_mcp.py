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


@pytest.fixture
def call(tmp_path):
    (tmp_path / "k.py").write_text(KERNEL)

    def run(*calls):
        async def talk():
            server = StdioServerParameters(command=sys.executable, args=["-m", "neff_bench", "mcp"], cwd=str(tmp_path))
            async with Client(stdio_client(server)) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                return names, [await client.call_tool(name, arguments) for name, arguments in calls]

        return asyncio.run(talk())

    return run


def test_it_serves_the_five_commands(call):
    assert set(call()[0]) == {"estimate", "profile", "explain", "compare", "inspect"}


def test_a_kernel_is_estimated_and_a_crash_is_data(call):
    _, (good, bad) = call(
        ("estimate", {"kernel": "k.py:scale", "inputs": INPUTS}),
        ("estimate", {"kernel": "k.py:crash", "inputs": INPUTS}),
    )
    assert good.structured_content["total_time_us"] > 0
    assert good.structured_content["row"]["source"] == "simulated"
    assert (bad.structured_content["status"], bad.structured_content["reason"]) == ("failed", "crashed (SIGABRT)")


def test_the_lines_that_take_the_time_are_explained(call):
    _, (found,) = call(("explain", {"kernel": "k.py:scale", "inputs": INPUTS}))
    assert "k.py:13" in found.content[0].text  # the line that loads the tile


def test_a_profile_checks_the_outputs(call):
    arguments = {"kernel": "k.py:scale", "inputs": INPUTS}
    _, (right, wrong) = call(
        ("profile", {**arguments, "reference": "k.py:double"}), ("profile", {**arguments, "reference": "k.py:triple"})
    )
    assert right.structured_content["check"] == "passed"
    assert wrong.structured_content["check"] == "failed"


def test_what_cannot_be_read_is_an_error_of_the_tool(call, tmp_path):
    _, (found,) = call(("inspect", {"path": "nowhere.neff"}))
    assert found.is_error
    assert "nowhere.neff" in found.content[0].text
