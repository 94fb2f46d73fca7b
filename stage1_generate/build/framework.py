"""NEFFs of somebody's own script: run it with the framework's debug switches and make bundles of what it leaves.

    python -m neff_bench.stage1_generate.build.framework < JOB     (in the directory where the script is to run)

The frameworks write NEFF and HLO into the current directory when NEURON_FRAMEWORK_DEBUG is set before they compile; a
cached NEFF is not written again and has no debug information, so the compile cache is private too (AWS Neuron
documentation, tools/neuron-explorer and frameworks/torch/neuron-caching).
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from neff_bench.chips import CHIPS
from neff_bench.neffs.bundle import LOG, Manifest, TensorFile, is_safe_tensor_name, write_manifest
from neff_bench.neffs.case import DEFAULT_SEED, Case, content_key
from neff_bench.neffs.checksums import sha256_file
from neff_bench.neffs.dtypes import SIZE_BYTES
from neff_bench.neffs.errors import NeffsError
from neff_bench.neffs.store import Store
from neff_bench.stage1_generate.build.worker_process import run_module
from neff_bench.stage1_generate.errors import BuildError, GenerateError
from neff_bench.stage1_generate.kernel import Tensor
from neff_bench.stage1_generate.toolchains.command import end_with_builder, reason, run

if TYPE_CHECKING:
    from neff_bench.parsers.neff import Neff, TensorInfo

DEBUG = {"NEURON_FRAMEWORK_DEBUG": "1", "XLA_IR_DEBUG": "1", "XLA_HLO_DEBUG": "1", "NKI_DEBUG_INFO": "1"}
_CACHE = "compile-cache"


@dataclass(frozen=True)
class Script:
    """What to run. `environment` stands above the user's own."""

    path: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]


def environment(inherited: Mapping[str, str], target: str | None, lnc: int | None, disable_dge: bool) -> dict[str, str]:
    """What a script gets on top of `inherited`: debug switches, chip, compiler flags."""
    added = dict(DEBUG)
    if target is not None:
        added["NEURON_PLATFORM_TARGET_OVERRIDE"] = target
    if lnc is not None:
        added["NEURON_LOGICAL_NC_CONFIG"] = str(lnc)
    if disable_dge:
        added["NEURON_CC_FLAGS"] = " ".join([inherited.get("NEURON_CC_FLAGS", ""), "--disable-dge"]).strip()
    return added


def capture(
    script: Script,
    store: Store,
    timeout_s: float,
    report: Callable[[str], None],
    go_on: Callable[[], None] = lambda: None,
) -> list[str]:
    """Run the script and publish a bundle for each different NEFF; returns their names.

    `report` gets a line for each NEFF that cannot become a bundle. `go_on` is called while the script runs, and may raise to
    end it. Raises `GenerateError` when the script leaves none, or
    after publishing, when it failed.
    """
    store.create()
    store.sweep()
    stem = _plain(Path(script.path).stem)
    with store.scratch(f"script-{stem}") as directory:
        (directory / "run").mkdir()
        returncode = run_module(
            "neff_bench.stage1_generate.build.framework", orjson.dumps(script), directory, timeout_s, go_on
        )
        log = (directory / LOG).read_bytes() if (directory / LOG).is_file() else b""
        published = publish_found(store, stem, directory / "run", log, report)
    if returncode is None:
        raise GenerateError(f"{script.path}: took longer than {timeout_s:g} s (--timeout)")
    if returncode != 0:
        raise GenerateError(f"{script.path}: {reason(returncode, log[-8192:].decode(errors='replace'))}")
    if not published:
        raise GenerateError(
            f"{script.path}: left no NEFF; does it compile for Neuron, and not only load a cached graph?"
        )
    return published


def publish_found(store: Store, stem: str, directory: Path, log: bytes, report: Callable[[str], None]) -> list[str]:
    """Publish a bundle for each different NEFF below `directory`; returns their names, which begin with `stem`."""
    published = []
    for label, neff in _found(directory):
        try:
            published.append(_publish(store, f"{stem}-{label}", neff, log))
        except (GenerateError, NeffsError) as error:
            report(f"{neff.name}: {error}")
    return published


def _found(run_directory: Path) -> list[tuple[str, Path]]:
    """A label and the path of each different NEFF; those of the cache only when the framework wrote none itself."""
    everything = sorted(run_directory.rglob("*.neff"))
    written = [path for path in everything if _CACHE not in path.relative_to(run_directory).parts]
    different: dict[str, Path] = {}
    for path in written or everything:
        different.setdefault(sha256_file(path), path)
    labels = ["-".join(path.relative_to(run_directory).with_suffix("").parts) for path in different.values()]
    return [(_plain(label), path) for label, path in zip(labels, different.values())]


def _publish(store: Store, kernel: str, neff_path: Path, log: bytes) -> str:
    from neff_bench.parsers.errors import ParseError
    from neff_bench.parsers.neff import read_neff

    try:
        neff = read_neff(neff_path)
    except ParseError as error:
        raise BuildError(str(error)) from None
    for tensor in (*neff.inputs, *neff.outputs):
        if not is_safe_tensor_name(tensor.name):
            raise BuildError(f"has a tensor named {tensor.name!r}, which is unsafe on a command line")
    sizes = [tensor.bytes for tensor in (*neff.inputs, *neff.outputs)]
    if None in sizes:
        raise BuildError("says neither size nor element type of one of its tensors")
    case = Case(kernel, "framework", (), neff.inputs[0].dtype if neff.inputs else "none", _target(neff), neff.lnc or 1)

    def fill(directory: Path) -> None:
        (directory / "file.neff").write_bytes(neff_path.read_bytes())
        (directory / LOG).write_bytes(log)
        digest = sha256_file(directory / "file.neff")
        manifest = Manifest(
            case=case,
            key=content_key(case, {"neff": digest}),
            status="built",
            toolchain="sim" if neff.simulated else "neuron",
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            versions={"compiler": neff.compiler_version or "unknown"},
            interface="framework",
            neff="file.neff",
            neff_sha256=digest,
            inputs=_inputs(directory, neff.inputs),
            outputs=tuple(TensorFile(t.name, t.shape, t.dtype, t.bytes or 0, None, None) for t in neff.outputs),
        )
        write_manifest(directory, manifest)

    return store.publish(case.name, fill).name


def _inputs(directory: Path, tensors: tuple[TensorInfo, ...]) -> tuple[TensorFile, ...]:
    """Random numbers for floating-point inputs; zeros for all others, since they may be indices."""
    from neff_bench.stage1_generate.build.tensors import draw

    floats = tuple(Tensor(t.name, t.shape, t.dtype) for t in tensors if t.dtype in SIZE_BYTES and "float" in t.dtype)
    drawn = draw(floats, DEFAULT_SEED)
    files = []
    for index, tensor in enumerate(tensors):
        data = drawn[tensor.name].tobytes() if tensor.name in drawn else bytes(tensor.bytes or 0)
        plain = _plain(tensor.name)
        file = f"inp-{plain if plain == tensor.name else f'{index}-{plain}'}-000.bin"
        (directory / file).write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        files.append(TensorFile(tensor.name, tensor.shape, tensor.dtype, len(data), file, digest))
    return tuple(files)


def _target(neff: Neff) -> str:
    return (neff.target or next(iter(CHIPS))).partition("/")[0]


def _plain(text: str) -> str:
    """Letters, digits, _ and - only; long names end in a hash, so that different ones stay different."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")
    return plain if len(plain) <= 100 else f"{plain[:90]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def main() -> int:
    """Exit code of the script, 1 when it was ended by a signal."""
    import msgspec

    script = msgspec.json.decode(sys.stdin.buffer.readline(), type=Script)
    end_with_builder()
    os.chdir("run")
    cache = str(Path(_CACHE).absolute())
    given = {**os.environ, **script.environment, "NEURON_COMPILE_CACHE_URL": cache}
    if "--cache_dir" in given.get("NEURON_CC_FLAGS", ""):  # it would win over the variable
        given["NEURON_CC_FLAGS"] += f" --cache_dir={cache}"
    try:
        run([sys.executable, script.path, *script.arguments], given)
    except BuildError as error:
        print(f"error: {error}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
