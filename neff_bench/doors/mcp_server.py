"""`neff-bench mcp`: the commands as tools for agents, over standard input and output.

Each call runs a command in a process of its own: a kernel that prints, crashes or hangs costs one answer. A kernel's
failure is data (`status`, `reason`); only a wrong call is an error of the tool.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from neff_bench.chips import LISTED

TIMEOUT_S = 600.0
Target = Annotated[str, Field(description=LISTED)]
Lnc = Annotated[
    int | None, Field(ge=1, le=2, description="physical cores in the logical core; 1, as AWS launches, where absent")
]


class Tensor(BaseModel):
    """`shape` in elements of `dtype`, such as bfloat16 or float32."""

    shape: list[int]
    dtype: str


Inputs = dict[str, Tensor]
server = MCPServer("neff-bench", instructions=(
    "Times of NKI kernels on AWS Trainium and Inferentia. Without the AWS SDK all times are simulated, and every answer "
    "says so. A kernel is file.py:function. Begin with estimate; profile also checks the outputs; explain names the lines."
))  # fmt: skip


@server.tool()
def estimate(
    kernel: str, inputs: Inputs, arguments: dict[str, Any] | None = None, target: Target = "trn2", lnc: Lnc = None
) -> dict[str, Any]:
    """Simulated time and exact counters of a kernel, without running it. `inputs` by parameter name, in order."""
    variant = {
        "id": 0,
        "kernel": kernel,
        "inputs": {name: tensor.model_dump() for name, tensor in inputs.items()},
        "arguments": arguments or {},
        "target": target,
        "lnc": lnc,
    }
    done = _run(["tune"], json.dumps(variant).encode())
    return dict(json.loads(_answer(done, (0, 1))))


@server.tool()
def profile(
    kernel: str,
    inputs: Inputs,
    reference: str | None = None,
    arguments: dict[str, Any] | None = None,
    rtol: float = 1e-2,
    atol: float = 1e-2,
    target: Target = "trn2",
    lnc: Lnc = None,
    ranks: int = 1,
) -> dict[str, Any]:
    """Build and run a kernel on seeded inputs, compare it with `reference` (file.py:function on float32 arrays by input
    name) and say where its time goes. `ranks`: logical cores that run a kernel with collectives together."""
    case: dict[str, Any] = {
        "kernel": kernel,
        "implementation": "nki",
        "target": target,
        "ranks": ranks,
        "inputs": {name: tensor.model_dump() for name, tensor in inputs.items()},
        "tolerance": {"rtol": rtol, "atol": atol},
    }
    if lnc is not None:
        case["lnc"] = lnc
    if arguments:
        case["arguments"] = arguments
    if reference is not None:
        case["reference"] = reference
    with tempfile.TemporaryDirectory(prefix="neff-bench-mcp-") as scratch:
        shapes = Path(scratch) / "shapes.yaml"
        shapes.write_text(json.dumps({"cases": [_absolute(case)]}))  # JSON is YAML
        store = str(Path(scratch) / "store")
        _answer(_run(["generate", "--shapes", str(shapes), "--out", store]), (0, 1))
        rows = json.loads(_answer(_run(["profile", store, "--format", "json"]), (0, 1)))
    return dict(rows[0])


@server.tool()
def explain(
    kernel: str, inputs: Inputs, arguments: dict[str, Any] | None = None, target: Target = "trn2", lnc: Lnc = None
) -> str:
    """What bounds a kernel: the critical path, who waits for whom, and the lines that take the time."""
    spec = {
        "entry": _absolute({"kernel": kernel})["kernel"],
        "inputs": [{"name": name, **tensor.model_dump()} for name, tensor in inputs.items()],
        "arguments": arguments or {},
    }
    with tempfile.TemporaryDirectory(prefix="neff-bench-mcp-") as scratch:
        (Path(scratch) / "kernel.json").write_text(json.dumps(spec))
        neff = str(Path(scratch) / "file.neff")
        words = ["compile", str(Path(scratch) / "kernel.json"), "--framework", "NKI", "--target", target]
        sim = "neff_bench.simulator"
        cores = [] if lnc is None else ["--lnc", str(lnc)]
        _answer(_run([*words, *cores, "--output", neff], module=sim), (0,))
        return _answer(_run(["explain", neff], module=sim), (0,))


@server.tool()
def compare(before: str, after: str) -> dict[str, Any]:
    """Two stores, or two JSON files of rows, side by side: better, worse, the same, or within the noise."""
    return {"differences": json.loads(_answer(_run(["compare", before, after, "--format", "json"]), (0, 1)))}


@server.tool()
def inspect(path: str) -> dict[str, Any]:
    """What is in a NEFF, an NTFF, a profile JSON or a directory of them."""
    return {"files": json.loads(_answer(_run(["inspect", path, "--format", "json"]), (0, 1)))}


def _absolute(case: dict[str, Any]) -> dict[str, Any]:
    """Files named from the server's directory: the shapes file lies elsewhere."""
    made = dict(case)
    for key in ("kernel", "reference"):
        file, colon, name = str(made.get(key, "")).rpartition(":")
        if colon and file.endswith(".py"):
            made[key] = f"{Path(file).resolve()}:{name}"
    return made


def _run(words: list[str], data: bytes = b"", module: str = "neff_bench") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            [sys.executable, "-m", module, *words], input=data, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise ToolError(f"took longer than {TIMEOUT_S:g} s") from None


def _answer(done: subprocess.CompletedProcess[bytes], good: tuple[int, ...]) -> str:
    """Standard output; the command's own message becomes the error of the tool. Raises ToolError."""
    text = done.stdout.decode()
    if done.returncode not in good or (good != (0,) and not text):
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise ToolError(lines[-1] if lines else f"ended with exit code {done.returncode}")
    return text


if __name__ == "__main__":
    server.run()
