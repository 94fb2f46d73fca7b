"""Makes bundles of NEFFs of somebody's own script: runs it with the framework's debug switches and make bundles of what it leaves.

    python -m neff_bench.stage1_generate.jobs.framework < JOB     (in the directory where the script is to run)

The frameworks write NEFF and HLO into the current directory when NEURON_FRAMEWORK_DEBUG is set before they compile; a
cached NEFF is not written again and has no debug information, so the compile cache is private too (AWS Neuron
documentation, tools/neuron-explorer and frameworks/torch/neuron-caching).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from neff_bench.neffs.bare import plain_name, publish_neff
from neff_bench.neffs.bundle import LOG
from neff_bench.neffs.checksums import sha256_file
from neff_bench.neffs.errors import NeffsError
from neff_bench.neffs.store import Store
from neff_bench.parsers.errors import ParseError
from neff_bench.stage1_generate.errors import BuildError, GenerateError
from neff_bench.stage1_generate.jobs.worker_process import run_module
from neff_bench.stage1_generate.toolchains.compiler_process import reason, run

DEBUG = {"NEURON_FRAMEWORK_DEBUG": "1", "XLA_IR_DEBUG": "1", "XLA_HLO_DEBUG": "1", "NKI_DEBUG_INFO": "1"}
CACHES = {"NEURON_COMPILE_CACHE_URL": "compile-cache"}
UNSEEN = {
    "TORCH_NEURONX_NEFF_CACHE_DIR": "torch-neuron",
    "NEURON_COMPILED_ARTIFACTS": "vllm-neuron",
    "BASE_COMPILE_WORK_DIR": "nxd-inference",
}
"""Where TorchNeuron, vLLM-neuron and NxDI leave NEFFs (AWS docs, tools/neuron-explorer, vllm-neuron/docs and libraries/nxd-inference; read
2026-11-23). What a folder of theirs looks like is shown by no public file, so any NEFF in it counts."""
NKI_ARTIFACTS = "NKI_ARTIFACTS_DIR"
"""Where NKI keeps the NEFF of a kernel that is called as a function, which is gone otherwise; of one kernel alone, for its compiler wants
a clean folder (AWS docs, neuron-runtime/nrtpy/nrtpy-troubleshooting.rst; NKI 0.6, compiler/ncc_driver.py; read 2026-11-23)."""


@dataclass(frozen=True)
class Script:
    """Holds what to run. `environment` stands above the user's own."""

    path: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]


def environment(inherited: Mapping[str, str], target: str | None, lnc: int | None, disable_dge: bool) -> dict[str, str]:
    """Return what a script gets on top of `inherited`: debug switches, chip, compiler flags."""
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
    """Run the script and publish a bundle for each different NEFF; returns their names. Raises `GenerateError` when it leaves none or failed.

    `report` gets a line for each NEFF that cannot become a bundle. `go_on` is called while the script runs, and may raise to end it.
    """
    store.create()
    store.sweep()
    stem = plain_name(Path(script.path).stem)
    with store.scratch(f"script-{stem}") as directory:
        (directory / "run").mkdir()
        returncode = run_module(
            "neff_bench.stage1_generate.jobs.framework", orjson.dumps(script), directory, timeout_s, go_on
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
            known = neff.relative_to(directory).parts[0] not in UNSEEN.values()
            remarks = () if known else (f"layout not seen: found below {neff.relative_to(directory).parts[0]}",)
            published.append(publish_neff(store, f"{stem}-{label}", neff, log=log, remarks=remarks).name)
        except (NeffsError, ParseError) as error:
            report(f"{neff.name}: {error}")
    return published


def _found(run_directory: Path) -> list[tuple[str, Path]]:
    """Return a label and the path of each different NEFF; those of the cache only when the framework wrote none itself."""
    everything = sorted(run_directory.rglob("*.neff"))
    written = [path for path in everything if path.relative_to(run_directory).parts[0] not in CACHES.values()]
    different: dict[str, Path] = {}
    for path in written or everything:
        different.setdefault(sha256_file(path), path)
    labels = ["-".join(path.relative_to(run_directory).with_suffix("").parts) for path in different.values()]
    return [(plain_name(label), path) for label, path in zip(labels, different.values())]


def main() -> int:
    """Exit code of the script, 1 when it was ended by a signal."""
    import msgspec

    script = msgspec.json.decode(sys.stdin.buffer.readline(), type=Script)
    os.chdir("run")
    folders = {name: str(Path(folder).absolute()) for name, folder in (CACHES | UNSEEN).items()}
    given = {**os.environ, **script.environment, **folders}
    if "--cache_dir" in given.get("NEURON_CC_FLAGS", ""):  # it would win over the variable
        given["NEURON_CC_FLAGS"] += f" --cache_dir={folders['NEURON_COMPILE_CACHE_URL']}"
    failed = _run(script, given)
    if not any(Path().rglob("*.neff")):
        failed = _run(script, {**given, NKI_ARTIFACTS: str(Path("nki").absolute())})
    if failed is not None:
        print(f"error: {failed}", flush=True)
    return 0 if failed is None else 1


def _run(script: Script, given: Mapping[str, str]) -> BuildError | None:
    """Return why the script failed."""
    try:
        run([sys.executable, script.path, *script.arguments], given)
    except BuildError as error:
        return error
    return None


if __name__ == "__main__":
    sys.exit(main())
