"""Traces a jax function to an HLO module, without a device: `python -m neff_bench.stage1_generate.toolchains.xla SPEC.json OUT.hlo`.

SPEC.json: `{"entry": "module:function", "inputs": [{"name": "lhs", "shape": [128, 256], "dtype": "bfloat16"}],
"arguments": {"eps": 1e-6}, "path": ["folder for sys.path"]}`; an entry may also be `/path/file.py:function`.
Compilers name the tensors of such a module input0, input1, ... and output0, ... in the order of arguments and results.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from neff_bench.installation import pip_install
from neff_bench.parsers.hlo import portable
from neff_bench.stage1_generate.entries import line_of, load
from neff_bench.stage1_generate.errors import GenerateError
from neff_bench.terminal import streams


class TraceError(GenerateError):
    """A function that cannot be traced: one line with what, where and what was expected."""


def trace(
    function: Callable[..., Any],
    inputs: Sequence[tuple[Sequence[int], str]],
    arguments: Mapping[str, Any] | None = None,
) -> bytes:
    """Return the `HloModuleProto` of `function` on `inputs` (shape, dtype name), in argument order; `arguments` are constants.

    The bytes depend on the function and the shapes only: ids fit 32 bits, the module is named after the function, and
    no path of this machine is inside. Raises `TraceError` when jax is missing or the function does not accept the inputs.
    """
    try:
        import jax
    except ImportError:
        raise TraceError(f"jax is not installed: {pip_install('xla')}") from None
    struct: Any = jax.ShapeDtypeStruct
    shapes = [struct(tuple(shape), _jax_dtype(dtype)) for shape, dtype in inputs]
    try:
        traced = jax.jit(partial(function, **(arguments or {})), keep_unused=True)
        lowered = traced.trace(*shapes).lower(lowering_platforms=("cpu",))  # the module is the same for every platform
    except Exception as error:  # a function of the user's may raise anything
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise TraceError(f"{_place(function, error)}: {first_line}") from error
    module: Any = lowered.compiler_ir("hlo")
    return portable(module.as_serialized_hlo_module_proto(), function.__name__)


def _place(function: Callable[..., Any], error: BaseException) -> str:
    """Return "file.py:33" of the innermost line in the function's own file; its name where no line of it ran."""
    file = getattr(getattr(inspect.unwrap(function), "__code__", None), "co_filename", "")
    line = line_of(error, file)
    return f"{function.__module__}:{function.__name__}" if line is None else f"{Path(file).name}:{line}"


def _jax_dtype(name: str) -> Any:
    import ml_dtypes
    import numpy as np

    found = getattr(ml_dtypes, name, None) or getattr(np, name, None)
    try:
        return np.dtype(found) if found else np.dtype(name)
    except TypeError:
        raise TraceError(f"dtype {name!r} is unknown; expected float32, bfloat16, float16, ...") from None


def resolve(entry: str) -> Callable[..., Any]:
    """Return the function that an entry names. Raises `TraceError` when there is none."""
    try:
        function: Callable[..., Any] = load(entry)
    except (Exception, SystemExit) as error:  # importing a file of the user's may raise anything
        raise TraceError(f"entry {entry!r}: {error}; expected module:function") from None
    return function


def main() -> int:
    """Exit code 0: `OUT.hlo` is written; 1: tracing failed (one line on stderr); 2: wrong call."""
    import orjson

    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # jax must not look for accelerators, or log about them
    arguments = sys.argv[1:]
    if len(arguments) != 2:
        streams.error("expected python -m neff_bench.stage1_generate.toolchains.xla SPEC.json OUT.hlo")
        return 2
    try:
        spec = orjson.loads(Path(arguments[0]).read_bytes())
        inputs = [(tensor["shape"], tensor["dtype"]) for tensor in spec["inputs"]]
        entry, further = spec["entry"], spec.get("arguments", {})
        sys.path[:0] = [path for path in spec.get("path", ()) if path not in sys.path]
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        streams.error(f"{arguments[0]}: {error!r}; expected a file with entry and inputs")
        return 2
    try:
        Path(arguments[1]).write_bytes(trace(resolve(entry), inputs, further))
    except (TraceError, OSError) as error:
        streams.error(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
