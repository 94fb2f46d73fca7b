"""Makes bundles of NEFFs that come without one: inputs are made from what the NEFF says of its tensors, there is no reference.

Floating-point inputs are normal with a fixed seed. All others are zeros, since they may be indices; so are float8_e8m0fnu, which has no negative values.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.chips import CHIPS
from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.neffs.bundle import LOG, Manifest, TensorFile, is_safe_tensor_name, write_manifest, write_tensor
from neff_bench.neffs.case import DEFAULT_SEED, Case, content_key
from neff_bench.neffs.checksums import sha256_file
from neff_bench.neffs.dtypes import stored, value_shape
from neff_bench.neffs.errors import BundleError
from neff_bench.neffs.store import Store

if TYPE_CHECKING:
    import numpy as np

    from neff_bench.parsers.neff import Neff, TensorInfo


def bare_case(name: str, neff: Neff) -> Case:
    """Return the case of a NEFF of which nothing but its tensors is known. Raises `CaseError`."""
    dtype = neff.inputs[0].dtype if neff.inputs else "none"
    target = (neff.target or next(iter(CHIPS))).partition("/")[0]
    return Case(plain_name(name), "framework", (), dtype, target, neff.lnc or 1)


def publish_neff(
    store: Store,
    name: str,
    neff_path: Path,
    *,
    log: bytes = b"",
    inputs: Path | None = None,
    remarks: tuple[str, ...] = (),
) -> Path:
    """Publish a bundle of the NEFF; returns its directory. `name`: what the case is called. `remarks`: warnings of its rows.

    `inputs`: a directory with a raw little-endian file for each input, `inp-<tensor>-000.bin`, `<tensor>.bin` or `<tensor>`.
    Raises `BundleError`, `CaseError`, `ParseError` and `StoreError`.
    """
    from neff_bench.parsers.neff import read_neff

    neff = read_neff(neff_path)
    # All that is asked of the tensors is asked before anything is written.
    for tensor in (*neff.inputs, *neff.outputs):
        if not is_safe_tensor_name(tensor.name):
            raise BundleError(neff_path, f"has a tensor named {tensor.name!r}, which is unsafe on a command line")
        if tensor.bytes is None:
            raise BundleError(neff_path, f"says neither size nor element type of its tensor {tensor.name}")
        if tensor.dtype in SIZE_BYTES and tensor.bytes != prod(tensor.shape) * SIZE_BYTES[tensor.dtype]:
            raise BundleError(neff_path, f"gives its tensor {tensor.name} {tensor.bytes} bytes, which is not its shape")
    case = bare_case(name, neff)
    data = [_data(neff_path, tensor, inputs, drawn) for tensor, drawn in zip(neff.inputs, _drawn(neff.inputs))]

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
            warnings=remarks,
            inputs=tuple(_write(directory, number, *pair) for number, pair in enumerate(zip(neff.inputs, data))),
            outputs=tuple(TensorFile(t.name, t.shape, t.dtype, t.bytes or 0, None, None) for t in neff.outputs),
        )
        write_manifest(directory, manifest)

    return store.publish(case.name, fill)


def plain_name(text: str) -> str:
    """Return a name of letters, digits, _ and - only, a letter or digit first; long names end in a hash, so that different ones stay
    different."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-").lstrip("_-")
    return plain if len(plain) <= 100 else f"{plain[:90]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _drawn(tensors: Sequence[TensorInfo]) -> list[np.ndarray | None]:
    """Return one array for each floating-point tensor, from one generator in the order of the NEFF."""
    import numpy as np

    generator = np.random.default_rng(DEFAULT_SEED)
    return [
        stored(generator.standard_normal(value_shape(tensor.shape, tensor.dtype), dtype=np.float32), tensor.dtype)
        if tensor.dtype in SIZE_BYTES and "float" in tensor.dtype and tensor.dtype != "float8_e8m0fnu"
        else None
        for tensor in tensors
    ]


def _data(neff_path: Path, tensor: TensorInfo, inputs: Path | None, drawn: np.ndarray | None) -> bytes:
    if inputs is None:
        return drawn.tobytes() if drawn is not None else bytes(tensor.bytes or 0)
    names = (f"inp-{tensor.name}-000.bin", f"{tensor.name}.bin", tensor.name)
    found = next((inputs / name for name in names if (inputs / name).is_file()), None)
    if found is None:
        raise BundleError(neff_path, f"--inputs: {inputs} holds no file for {tensor.name}, expected {names[0]}")
    data = found.read_bytes()
    if len(data) != tensor.bytes:
        raise BundleError(neff_path, f"--inputs: {found} has {len(data)} bytes, {tensor.name} takes {tensor.bytes}")
    return data


def _write(directory: Path, number: int, tensor: TensorInfo, data: bytes) -> TensorFile:
    plain = plain_name(tensor.name)
    file = f"inp-{plain if plain == tensor.name else f'{number}-{plain}'}-000.bin"
    return write_tensor(directory, file, tensor.name, tensor.shape, tensor.dtype, data)
