"""Takes the XLA route up to the compiler: traces the kernel with jax and lays the graph out as torch_neuronx.trace does.

model/graph.hlo       HloModuleProto
model/metadata.json   {"model_files": "graph.hlo", "version": "1.0", "weights": {}}
command.txt           the compile command on one line, without its folder
graph.neff            what the compiler makes of it
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import orjson

from neff_bench.stage1_generate.toolchains.compiled import Request
from neff_bench.stage1_generate.toolchains.compiler_process import python_environment, run

GRAPH = Path("model/graph.hlo")
NEFF = "graph.neff"


def trace(request: Request) -> None:
    """Write `model/` into the current directory. Raises `BuildError` when jax is absent or the trace fails."""
    GRAPH.parent.mkdir()
    spec = Path("trace.json")
    spec.write_bytes(orjson.dumps(request.spec()))
    run(
        [sys.executable, "-m", "neff_bench.stage1_generate.toolchains.xla", str(spec), str(GRAPH)], python_environment()
    )
    spec.unlink()
    metadata = {"model_files": GRAPH.name, "version": "1.0", "weights": {}}
    (GRAPH.parent / "metadata.json").write_bytes(orjson.dumps(metadata))


def write_command(argv: Sequence[str]) -> None:
    """Write `command.txt`: the argument list joined by single spaces, paths as base names."""
    words = [Path(word).name if "/" in word and not word.startswith("-") else word for word in argv]
    Path("command.txt").write_text(" ".join(words) + "\n", encoding="utf-8")
