"""Records launches of a script's kernels as bundles: each distinct one becomes a bundle of the store."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.installation import __version__
from neff_bench.neffs.bundle import LOG, Bundle, Manifest, TensorFile, write_manifest
from neff_bench.neffs.case import Case, content_key
from neff_bench.neffs.checksums import sha256_file
from neff_bench.neffs.errors import BundleError
from neff_bench.neffs.intake import own_case
from neff_bench.neffs.sources import keep_sources
from neff_bench.neffs.store import Store
from neff_bench.parsers.source_files import source_files
from neff_bench.simulator.files.neff import write_neff
from neff_bench.simulator.numpy_dtypes import dtype_name
from neff_bench.stage1_generate.jobs.tensors import write_array

if TYPE_CHECKING:
    import numpy as np

    from neff_bench.simulator.nki.launch import Launch


class Launches:
    """Holds what a script has launched so far. `names`: of the bundles, in the order of the first launch."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.names: list[str] = []
        self._programs: dict[str, str] = {}

    def add(self, launch: Launch) -> None:
        """Make a bundle of a launch, unless one of this script's bundles holds the same program. Raises `NeffsError`.

        The inputs of a program's first launch stand for those of the others. Different programs of one kernel and shape get names that end in a hash.
        """
        from neff_bench.simulator.program import encode

        digest = hashlib.sha256(encode(launch.program)).hexdigest()
        if digest in self._programs.values():
            return
        case = _case(launch)
        if case.name in self._programs:
            case = _case(launch, digest[:8])
        self._programs[case.name] = digest
        self.names.append(case.name)
        key = content_key(case, {"program": digest, "inputs": _digest_of(launch.inputs)})
        try:
            found: Bundle | None = self.store.find(case.name)
        except BundleError:
            found = None
        if found is None or found.manifest.key != key:
            self.store.publish(case.name, lambda directory: _fill(directory, case, key, launch))


def _case(launch: Launch, suffix: str = "") -> Case:
    inputs = [(tuple(array.shape), dtype_name(array.dtype)) for array in launch.inputs.values()]
    return own_case(launch.name, inputs, launch.program.target, launch.program.lnc, suffix)


def _fill(directory: Path, case: Case, key: str, launch: Launch) -> None:
    program = launch.program
    write_neff(program, str(directory / "file.neff"))
    keep_sources(directory, source_files(directory / "file.neff"), sys.path)
    (directory / LOG).write_text("Recorded while the script ran.\n", encoding="utf-8")
    inputs = tuple(
        write_array(directory, "inp", program.input_name(index), dtype_name(array.dtype), array)
        for index, array in ((index, launch.inputs[program.buffers[index].name]) for index in program.inputs)
    )
    outputs = tuple(
        TensorFile(name, tuple(array.shape), dtype_name(array.dtype), array.nbytes, None, None)
        for name in (program.buffers[index].name for index in program.outputs)
        for array in (launch.outputs[name],)
    )
    write_manifest(
        directory,
        Manifest(
            case=case,
            key=key,
            status="built",
            toolchain="sim",
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            versions={"neff-bench": __version__},
            interface="neff-bench run",
            neff="file.neff",
            neff_sha256=sha256_file(directory / "file.neff"),
            inputs=inputs,
            outputs=outputs,
        ),
    )


def _digest_of(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(f"{name} {array.nbytes}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
