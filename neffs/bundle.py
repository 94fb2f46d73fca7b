"""A bundle: one directory per case, self-contained, movable.

case.json            the manifest below
file.neff            `graph.neff` beside `command.txt` and `model/` on the XLA path
inp-<name>-000.bin   inputs, raw little-endian C-order bytes (the file names that nki-library uses)
ref-<name>-000.bin   expected outputs, in the dtype of the output
compile.log          what the compiler printed
profiles/<run>/      what stage 2 adds
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

import orjson

from neff_bench.neffs.case import Case
from neff_bench.neffs.errors import BundleError, CaseError

MANIFEST = "case.json"
MANIFEST_BYTES_MAX = 16 << 20
LOG = "compile.log"
SCHEMA = 1


@dataclass(frozen=True)
class TensorFile:
    """One tensor. `shape` in elements of `dtype`, `bytes` in total, `file` relative to the bundle; None for an output that
    has no reference."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    file: str | None
    sha256: str | None


@dataclass(frozen=True)
class Manifest:
    """What `case.json` says.

    `status`: `built`, or `failed` with a one-line `reason`. `toolchain`: `sim` or `neuron`.
    `versions`: of what took part (neff-bench, python, compiler, kernel source). `interface`: the compile interface that
    was used, e.g. `neuron-sim compile` or `nki compile_to_bir`. `command`: argument list of the compile command with
    paths relative to the bundle, empty for an interface that is not a command. `compile_time_s`: wall time of
    compilation alone. `created`: UTC, ISO 8601. `model_flops`: floating-point operations of the mathematics,
    2 x multiply-accumulate. `min_hbm_bytes`: every input read once and every output written once.
    `tolerance`: (rtol, atol) of the comparison |out - ref| <= atol + rtol * |ref|. `kernel_path`: which of its code paths
    the kernel takes for these dimensions (`CTE`, `TKG`), None where there is one. `inputs` and `outputs`: in NEFF order;
    the files of `outputs` are the references. None stands for what is not known.
    """

    case: Case
    key: str
    status: Literal["built", "failed"]
    toolchain: Literal["sim", "neuron"]
    created: str
    reason: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    interface: str | None = None
    command: tuple[str, ...] = ()
    compile_time_s: float | None = None
    model_flops: int | None = None
    min_hbm_bytes: int | None = None
    tolerance: tuple[float, float] | None = None
    kernel_path: str | None = None
    neff: str | None = None
    neff_sha256: str | None = None
    inputs: tuple[TensorFile, ...] = ()
    outputs: tuple[TensorFile, ...] = ()
    schema: int = SCHEMA


@dataclass(frozen=True)
class Bundle:
    """A readable bundle: its directory and its manifest."""

    path: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def neff_path(self) -> Path | None:
        return self.path / self.manifest.neff if self.manifest.neff else None


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write `case.json` into `directory`; the dimensions become an object in their order."""
    fields = asdict(manifest)
    fields["case"]["dims"] = dict(manifest.case.dims)
    (directory / MANIFEST).write_bytes(orjson.dumps(fields, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def read_bundle(path: Path) -> Bundle:
    """The bundle in directory `path`. Raises `BundleError` when there is no manifest or it is not one that we wrote.

    The files that the manifest names are looked at by `missing_file` (sizes) and `verify_bundle` (contents).
    """
    import msgspec

    if path.is_symlink():
        raise BundleError(path, "a symbolic link; a store holds only real directories")
    try:
        size_bytes = _plain_size_bytes(path / MANIFEST)
        if size_bytes is None or size_bytes > MANIFEST_BYTES_MAX:
            raise BundleError(path, f"{MANIFEST} is not a plain file of at most {MANIFEST_BYTES_MAX >> 20} MiB")
        data = (path / MANIFEST).read_bytes()
    except FileNotFoundError:
        raise BundleError(path, f"no {MANIFEST}, so this is not a bundle") from None
    except OSError as error:
        raise BundleError(path, f"cannot read {MANIFEST}: {error.strerror}") from None
    try:
        fields = orjson.loads(data)
        fields["case"]["dims"] = list(fields["case"]["dims"].items())
        manifest = msgspec.convert(fields, Manifest)
    except (ValueError, KeyError, TypeError, AttributeError, CaseError) as error:
        raise BundleError(path, f"{MANIFEST} is damaged ({error}); build the case again") from None
    if manifest.schema > SCHEMA:
        raise BundleError(path, f"{MANIFEST} has schema {manifest.schema}, newer than {SCHEMA}; update neff-bench")
    for file, _, _ in _files(manifest):
        if PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts:
            raise BundleError(path, f"{MANIFEST} names {file!r}, which is outside the bundle")
    for tensor in (*manifest.inputs, *manifest.outputs):
        if not is_safe_tensor_name(tensor.name):
            raise BundleError(path, f"{MANIFEST} has a tensor named {tensor.name!r}, which is unsafe on a command line")
    return Bundle(path, manifest)


def missing_file(bundle: Bundle) -> str | None:
    """What is wrong with the files at first sight (one is absent or has another size), None when nothing is."""
    for file, size_bytes, _ in _files(bundle.manifest):
        try:
            found = _plain_size_bytes(bundle.path / file)
        except OSError:
            return f"{file} is missing"
        if found is None:
            return f"{file} is not a plain file"
        if size_bytes is not None and found != size_bytes:
            return f"{file} has {found} bytes instead of {size_bytes}"
    return None


def verify_bundle(bundle: Bundle) -> None:
    """Compare every file with its sha256. Raises `BundleError` that names the first missing or changed file."""
    wrong = missing_file(bundle)
    if wrong is not None:
        raise BundleError(bundle.path, f"{wrong}; build the case again (generate-neffs --force)")
    for file, _, sha256 in _files(bundle.manifest):
        try:
            found = sha256_file(bundle.path / file)
        except OSError as error:
            raise BundleError(bundle.path, f"cannot read {file}: {error.strerror}") from None
        if sha256 is not None and found != sha256:
            raise BundleError(
                bundle.path, f"{file} was changed after it was built; build the case again (generate-neffs --force)"
            )


def is_safe_tensor_name(name: str) -> bool:
    """Whether the name can be a word on a profiler's command line: printable, without blanks, not like an option."""
    return bool(name) and name.isprintable() and not name.startswith("-") and not any(c.isspace() for c in name)


def _plain_size_bytes(path: Path) -> int | None:
    """Size of a plain file, None for a link, a pipe or anything else that is not one."""
    status = path.stat(follow_symlinks=False)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def sha256_file(path: Path) -> str:
    """Hex sha256 of a file's contents."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _files(manifest: Manifest) -> Iterator[tuple[str, int | None, str | None]]:
    if manifest.neff is not None:
        yield manifest.neff, None, manifest.neff_sha256
    for tensor in (*manifest.inputs, *manifest.outputs):
        if tensor.file is not None:
            yield tensor.file, tensor.bytes, tensor.sha256
