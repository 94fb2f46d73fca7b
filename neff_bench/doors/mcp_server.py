"""`neff-bench mcp`: the commands as tools for agents, over standard input and output.

Each call runs commands in processes of their own, with limits of time and memory: a kernel that prints, crashes or hangs costs one
answer. A kernel's failure is data (`status`, `reason`); only a wrong call is an error of the tool.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, ConfigDict, Field

from neff_bench.chips import CHIPS, LISTED
from neff_bench.doors.mcp_calls import Limits, call, file_below, function_below, plain_arguments
from neff_bench.errors import NeffBenchError, WrongCall
from neff_bench.installation import __version__

Target = Annotated[str, Field(description=LISTED)]
Lnc = Annotated[
    int | None, Field(ge=1, le=2, description="physical cores in the logical core; 1, as AWS launches, where absent")
]
Implementation = Annotated[Literal["nki", "xla"], Field(description="nki, in either dialect, or xla: a jax function")]
Ranks = Annotated[int, Field(ge=1, le=64, description="logical cores that run a kernel with collectives together")]
Sdk = Annotated[
    str | None,
    Field(description="release of the AWS SDK whose refusals are named, such as 2.31; the newest where absent"),
]
Size = Annotated[int, Field(ge=1, le=1 << 40)]


class Tensor(BaseModel):
    """`shape` in elements of `dtype`, such as bfloat16 or float32."""

    model_config = ConfigDict(extra="forbid")
    shape: list[Size]
    dtype: str


Inputs = dict[str, Tensor]
Arguments = dict[str, Any]
INSTRUCTIONS = (
    "Times of NKI kernels on AWS Trainium and Inferentia. Without the AWS SDK all times are simulated, and every answer "
    "says so. A kernel is file.py:function, below the directory that is served. Begin with estimate; profile also checks the "
    "outputs; explain names the lines. A kernel that is `refused` does not compile for the device."
)


@dataclass(frozen=True)
class Tools:
    """The tools, for the kernels and files below one directory."""

    limits: Limits

    def estimate(
        self,
        kernel: str,
        inputs: Inputs,
        arguments: Arguments | None = None,
        target: Target = "trn2",
        lnc: Lnc = None,
        implementation: Implementation = "nki",
        sdk: Sdk = None,
    ) -> dict[str, Any]:
        """Return the simulated time and exact counters of a kernel, without running it. `inputs` by parameter name, in order. `refused` says why
        AWS's compiler would refuse it."""
        variant = {**self._asked(kernel, inputs, arguments, target, lnc, implementation), "id": 0}
        words = [
            "tune",
            "--timeout",
            str(self.limits.timeout_s),
            "--memory",
            str(self.limits.memory_bytes >> 20),
            *_sdk(sdk),
        ]
        with self._calls():
            return dict(json.loads(call(self.limits, [words], (0, 1), json.dumps(variant).encode())))

    def profile(
        self, kernel: str, inputs: Inputs, reference: str | None = None, arguments: Arguments | None = None,
        rtol: float = 1e-2, atol: float = 1e-2, target: Target = "trn2", lnc: Lnc = None, ranks: Ranks = 1,
        implementation: Implementation = "nki",
        sdk: Sdk = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Build and run a kernel on seeded inputs, compare it with `reference` (file.py:function on float32 arrays by input
        name) and say where its time goes."""
        case = {**self._asked(kernel, inputs, arguments, target, lnc, implementation), "ranks": ranks}
        with self._calls() as scratch:
            if reference is not None:
                case["reference"] = function_below(self.limits.root, reference)
                case["tolerance"] = {"rtol": rtol, "atol": atol}
            build, store = _built(case, scratch, self.limits)
            return dict(
                json.loads(call(self.limits, [build, ["profile", store, "--format", "json", *_sdk(sdk)]], (0, 1)))[0]
            )

    def explain(
        self,
        kernel: str,
        inputs: Inputs,
        arguments: Arguments | None = None,
        target: Target = "trn2",
        lnc: Lnc = None,
        implementation: Implementation = "nki",
    ) -> str:
        """Return what bounds a kernel: the critical path, who waits for whom, and the lines that take the time."""
        case = self._asked(kernel, inputs, arguments, target, lnc, implementation)
        with self._calls() as scratch:
            build, store = _built(case, scratch, self.limits)
            call(self.limits, [build], (0,))
            neff = next(Path(store).glob("*/file.neff"))
            return call(self.limits, [["explain", str(neff)]], (0,)).replace(f"{neff.parent}/", "")

    def compare(self, before: str, after: str) -> dict[str, Any]:
        """Compare two stores, or two JSON files of rows: better, worse, the same, or within the noise."""
        with self._calls():
            words = [file_below(self.limits.root, path) for path in (before, after)]
            found = call(self.limits, [["compare", "--format", "json", "--", *words]], (0, 1))
            return {"differences": json.loads(found)}

    def inspect(self, path: str) -> dict[str, Any]:
        """Return what is in a NEFF, an NTFF, a profile JSON or a directory of them."""
        with self._calls():
            word = file_below(self.limits.root, path)
            return {"files": json.loads(call(self.limits, [["inspect", "--format", "json", "--", word]], (0, 1)))}

    def _asked(
        self,
        kernel: str,
        inputs: Inputs,
        arguments: Arguments | None,
        target: str,
        lnc: int | None,
        implementation: str,
    ) -> dict[str, Any]:
        """Return what a line of `tune` and a case of a shapes file both say."""
        with self._calls():
            if target not in CHIPS:
                raise WrongCall(f"target {target!r}: expected {LISTED}")
            return {
                "kernel": function_below(self.limits.root, kernel),
                "inputs": {name: tensor.model_dump() for name, tensor in inputs.items()},
                "target": target,
                "implementation": implementation,
                **({} if lnc is None else {"lnc": lnc}),
                **({"arguments": plain_arguments(arguments)} if arguments else {}),
            }

    @contextmanager
    def _calls(self) -> Iterator[Path]:
        """Yield a folder for what a call writes. A wrong call becomes the error of the tool, without the name of that folder."""
        with tempfile.TemporaryDirectory(prefix="neff-bench-mcp-") as scratch:
            try:
                yield Path(scratch)
            except NeffBenchError as error:
                raise ToolError(str(error).replace(f"{scratch}/", "")) from None


def _sdk(release: str | None) -> list[str]:
    """Return the words that name a release."""
    return [] if release is None else [f"--sdk={release}"]


def _built(case: dict[str, Any], scratch: Path, limits: Limits) -> tuple[list[str], str]:
    """Return the command that builds a case in the workers of generate-neffs, and the store that it makes."""
    shapes, store = scratch / "shapes.yaml", str(scratch / "store")
    shapes.write_text(json.dumps({"cases": [case]}), encoding="utf-8")  # JSON is YAML
    memory = str(limits.memory_bytes / (1 << 30))
    words = [
        "generate",
        "--shapes",
        str(shapes),
        "--out",
        store,
        "--timeout",
        str(limits.timeout_s),
        "--memory",
        memory,
    ]
    return words, store


def server_of(limits: Limits) -> MCPServer:
    """Return a server that is not running yet."""
    server, tools = MCPServer("neff-bench", instructions=INSTRUCTIONS, version=__version__), Tools(limits)
    for tool in (tools.estimate, tools.profile, tools.explain, tools.compare, tools.inspect):
        server.add_tool(tool)
    return server
