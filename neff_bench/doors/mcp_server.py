"""Implements `neff-bench mcp`: the commands as tools for agents, over standard input and output.

Each call runs commands in processes of their own, with limits of time and memory: a kernel that prints, crashes or hangs costs one
answer. A kernel's failure is data (`status`, `reason`); only a wrong call is an error of the tool.
"""

from __future__ import annotations

import functools
import inspect
import json
import tempfile
from collections.abc import Callable, Iterator
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

Size = Annotated[int, Field(ge=1, le=1 << 40)]


class Tensor(BaseModel):
    """`shape` in elements of `dtype`, such as bfloat16 or float32."""

    model_config = ConfigDict(extra="forbid")
    shape: list[Size]
    dtype: str


class Asked(BaseModel):
    """A kernel and what it is called with."""

    kernel: str
    inputs: dict[str, Tensor]
    arguments: dict[str, Any] | None = None
    target: str = Field("trn2", description=LISTED)
    lnc: int | None = Field(
        None, ge=1, le=2, description="physical cores in the logical core; 1, as AWS launches, where absent"
    )
    implementation: Literal["nki", "xla"] = Field("nki", description="nki, in either dialect, or xla: a jax function")


class Judged(Asked):
    """A kernel whose findings name what AWS's compiler refuses."""

    sdk: str | None = Field(
        None, description="release of the AWS SDK whose refusals are named, such as 2.31; the newest where absent"
    )


class Checked(Judged):
    """A kernel whose outputs are compared."""

    reference: str | None = None
    rtol: float = 1e-2
    atol: float = 1e-2
    ranks: int = Field(1, ge=1, le=64, description="logical cores that run a kernel with collectives together")


INSTRUCTIONS = (
    "Times of NKI kernels on AWS Trainium and Inferentia. Without the AWS SDK all times are simulated, and every answer "
    "says so. A kernel is file.py:function, below the directory that is served. Begin with estimate; profile also checks the "
    "outputs; explain names the lines. A kernel that is `refused` does not compile for the device."
)


@dataclass(frozen=True)
class Tools:
    """The tools, for the kernels and files below one directory."""

    limits: Limits

    def estimate(self, asked: Judged) -> dict[str, Any]:
        """Return the simulated time and exact counters of a kernel, without running it. `inputs` by parameter name, in order. `refused` says why
        AWS's compiler would refuse it."""
        variant = {**self._case(asked), "id": 0}
        limits = ["--timeout", str(self.limits.timeout_s), "--memory", str(self.limits.memory_bytes >> 20)]
        words = ["tune", *limits, *_sdk(asked)]
        with self._calls():
            return dict(json.loads(call(self.limits, [words], (0, 1), json.dumps(variant).encode())))

    def profile(self, asked: Checked) -> dict[str, Any]:
        """Build and run a kernel on seeded inputs, compare it with `reference` (file.py:function on float32 arrays by input
        name) and say where its time goes."""
        case = {**self._case(asked), "ranks": asked.ranks}
        with self._calls() as scratch:
            if asked.reference is not None:
                case["reference"] = function_below(self.limits.root, asked.reference)
                case["tolerance"] = {"rtol": asked.rtol, "atol": asked.atol}
            build, store = _built(case, scratch, self.limits)
            words = ["profile", store, "--format", "json", *_sdk(asked)]
            return dict(json.loads(call(self.limits, [build, words], (0, 1)))[0])

    def explain(self, asked: Asked) -> str:
        """Return what bounds a kernel: the critical path, who waits for whom, and the lines that take the time."""
        case = self._case(asked)
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

    def _case(self, asked: Asked) -> dict[str, Any]:
        """Return what a line of `tune` and a case of a shapes file both say."""
        with self._calls():
            if asked.target not in CHIPS:
                raise WrongCall(f"target {asked.target!r}: expected {LISTED}")
            return {
                "kernel": function_below(self.limits.root, asked.kernel),
                "inputs": {name: tensor.model_dump() for name, tensor in asked.inputs.items()},
                "target": asked.target,
                "implementation": asked.implementation,
                **({} if asked.lnc is None else {"lnc": asked.lnc}),
                **({"arguments": plain_arguments(asked.arguments)} if asked.arguments else {}),
            }

    @contextmanager
    def _calls(self) -> Iterator[Path]:
        """Yield a folder for what a call writes. A wrong call becomes the error of the tool, without the name of that folder."""
        with tempfile.TemporaryDirectory(prefix="neff-bench-mcp-") as scratch:
            try:
                yield Path(scratch)
            except NeffBenchError as error:
                raise ToolError(str(error).replace(f"{scratch}/", "")) from None


def _sdk(asked: Judged) -> list[str]:
    """Return the words that name a release."""
    return [] if asked.sdk is None else [f"--sdk={asked.sdk}"]


def _built(case: dict[str, Any], scratch: Path, limits: Limits) -> tuple[list[str], str]:
    """Return the command that builds a case in the workers of generate-neffs, and the store that it makes."""
    shapes, store = scratch / "shapes.yaml", str(scratch / "store")
    shapes.write_text(json.dumps({"cases": [case]}), encoding="utf-8")  # JSON is YAML
    memory = str(limits.memory_bytes / (1 << 30))
    words = ["generate", "--shapes", str(shapes), "--out", store, "--timeout", str(limits.timeout_s)]
    return [*words, "--memory", memory], store


def _flat(tool: Callable[[Any], Any], model: type[Asked]) -> Callable[..., Any]:
    """Return a tool whose arguments are the fields of what it is asked, as agents give them."""

    @functools.wraps(tool)
    def flat(**fields: Any) -> Any:
        return tool(model(**fields))

    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[field.annotation, field],
            default=inspect.Parameter.empty if field.is_required() else field.default,
        )
        for name, field in model.model_fields.items()
    ]
    returned = inspect.signature(tool, eval_str=True).return_annotation
    vars(flat)["__signature__"] = inspect.Signature(parameters, return_annotation=returned)
    return flat


class Server(MCPServer):  # type: ignore[misc]  # mypy does not read the package (pyproject.toml)
    """A server whose errors are one line each: those of the arguments' types come with several."""

    async def call_tool(self, *args: Any, **kwargs: Any) -> Any:
        """Answer a call of a tool. Raises `ToolError`."""
        try:
            return await super().call_tool(*args, **kwargs)
        except ToolError as error:
            raise ToolError(" ".join(str(error).split())) from error


def server_of(limits: Limits) -> MCPServer:
    """Return a server that is not running yet."""
    server, tools = Server("neff-bench", instructions=INSTRUCTIONS, version=__version__), Tools(limits)
    for tool in (
        _flat(tools.estimate, Judged),
        _flat(tools.profile, Checked),
        _flat(tools.explain, Asked),
        tools.compare,
        tools.inspect,
    ):
        server.add_tool(tool)
    return server
