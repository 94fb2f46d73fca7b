"""Declares a bundle: one directory per case, self-contained, movable.

case.json            the manifest below
file.neff            `graph.neff` beside `command.txt` and `model/` on the XLA path
inp-<name>-000.bin   inputs, raw little-endian C-order bytes (the file names that nki-library uses)
ref-<name>-000.bin   expected outputs, in the dtype of the output
inp-<name>-rank0.bin, ref-<name>-rank0.bin ...   the same for each rank of a case with several
4rank_inputs.txt     the inputs of each rank, as `capture --multi-input` takes them from a run's directory
compile.log          what the compiler printed
sources/             the kernel's files that a profile can point at
profiles/<run>/      what stage 2 adds

`case.json` carries a checksum of itself and the size and sha256 of every other file, except what stage 2 adds.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

import msgspec
import orjson

from neff_bench.neffs.case import Case
from neff_bench.neffs.checksums import FileSum, Unsealed, check_seal, plain_status, seal, sha256_file, wrong_file
from neff_bench.neffs.errors import BundleError, CaseError
from neff_bench.parsers.formats.neff import plain_name
from neff_bench.system.decoding import prepare

MANIFEST = "case.json"
MANIFEST_BYTES_MAX = 16 << 20
LOG = "compile.log"
PROFILES = "profiles"
LOCK = ".lock"
"""The lock file in PROFILES; held by whoever changes the runs, or replaces the bundle."""
SCHEMA = 2
"""1 had no checksums."""


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
class RankFiles:
    """The tensors of one rank, in NEFF order. `outputs`: the references."""

    inputs: tuple[TensorFile, ...]
    outputs: tuple[TensorFile, ...]


@dataclass(frozen=True)
class Manifest:
    """Holds what `case.json` says.

    `status`: `built`, or `failed` with a one-line `reason`. `toolchain`: `sim` or `neuron`.
    `versions`: of what took part (neff-bench, python, compiler, kernel source). `interface`: the compile interface that
    was used, e.g. `neuron-sim compile` or `nki compile_to_bir`. `command`: argument list of the compile command with
    paths relative to the bundle, empty for an interface that is not a command. `compile_time_s`: wall time of
    compilation alone. `created`: UTC, ISO 8601. `model_flops`: floating-point operations of the mathematics,
    2 x multiply-accumulate. `min_hbm_bytes`: every input read once and every output written once.
    `tolerance`: (rtol, atol) of the comparison |out - ref| <= atol + rtol * |ref|. `kernel_path`: which of its code paths
    the kernel takes for these dimensions (`CTE`, `TKG`), None where there is one. `inputs` and `outputs`: in NEFF order;
    the files of `outputs` are the references; with several ranks they are those of rank 0, and `other_ranks` has the others in order.
    `rank_inputs`: the file that names the inputs of each rank, None for a single one. `files`: every file of the bundle by its path in it, without `case.json` and
    `profiles/`; empty until the bundle is published. `warnings`: what must be said of the build beside its numbers. None stands for what is not known.
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
    files: dict[str, FileSum] = field(default_factory=dict)
    schema: int = SCHEMA
    other_ranks: tuple[RankFiles, ...] = ()
    rank_inputs: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def by_rank(self) -> tuple[RankFiles, ...]:
        """The tensors of every rank."""
        return (RankFiles(self.inputs, self.outputs), *self.other_ranks)

    @property
    def writes_inputs(self) -> bool:
        """Whether an execution leaves something else in an input than it found there."""
        inputs = {tensor.name for tensor in self.inputs}
        returned = {plain_name(tensor.name) for tensor in self.outputs}
        return any(plain_name(name) != name or name in returned for name in inputs)


@dataclass(frozen=True)
class Bundle:
    """A readable bundle: its directory and its manifest. `verified`: whether the manifest carried its checksum; those of
    schema 1 have none."""

    path: Path
    manifest: Manifest
    verified: bool

    @property
    def name(self) -> str:
        """Name of the directory, which is that of the case."""
        return self.path.name

    @property
    def neff_path(self) -> Path | None:
        """The NEFF, None for a case that failed."""
        return self.path / self.manifest.neff if self.manifest.neff else None


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write `case.json` into `directory`; the dimensions become an object in their order."""
    fields = asdict(manifest)
    fields["case"]["dims"] = dict(manifest.case.dims)
    document = orjson.dumps(fields, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    (directory / MANIFEST).write_bytes(seal(document))


def record_files(directory: Path) -> None:
    """Write size and sha256 of every file of a finished bundle into its `case.json`."""
    manifest = _read(directory).manifest
    known = used_files(manifest)
    files = {}
    for name in found_files(directory):
        size_bytes = (directory / name).stat().st_size
        sha256 = known[name].sha256 if name in known else None
        files[name] = FileSum(size_bytes, sha256 or sha256_file(directory / name))
    write_manifest(directory, replace(manifest, files=files, schema=SCHEMA))


def read_bundle(path: Path) -> Bundle:
    """Return the bundle in directory `path`. Raises `BundleError`. Its files are looked at by `verify_bundle`."""
    bundle = _read(path)
    for file in files_of(bundle.manifest):
        if file.startswith("/") or ".." in file.split("/"):
            raise BundleError(path, f"{MANIFEST} names {file!r}, which is outside the bundle")
    for tensor in _tensors(bundle.manifest):
        if not is_safe_tensor_name(tensor.name):
            raise BundleError(path, f"{MANIFEST} has a tensor named {tensor.name!r}, which is unsafe on a command line")
    return bundle


def _read(path: Path) -> Bundle:
    if os.path.islink(path):
        raise BundleError(path, "a symbolic link; a store holds only real directories")
    try:
        manifest_path = os.path.join(path, MANIFEST)
        status = plain_status(manifest_path)
        if status is None or status.st_size > MANIFEST_BYTES_MAX:
            raise BundleError(path, f"{MANIFEST} is not a plain file of at most {MANIFEST_BYTES_MAX >> 20} MiB")
        with open(manifest_path, "rb") as file:
            data = file.read()
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
    return Bundle(path, manifest, _has_seal(path, data, manifest.schema))


prepare(Manifest)


def _has_seal(path: Path, data: bytes, schema: int) -> bool:
    try:
        check_seal(data)
    except Unsealed as error:
        if error.absent and schema < 2:
            return False
        raise BundleError(path, f"{MANIFEST} is damaged ({error}); build the case again") from None
    return True


def used_files(manifest: Manifest) -> dict[str, FileSum]:
    """Return the files that a capture and a check use: the NEFF, the inputs and the references."""
    files = {} if manifest.neff is None else {manifest.neff: FileSum(None, manifest.neff_sha256)}
    for tensor in _tensors(manifest):
        if tensor.file is not None:
            files[tensor.file] = FileSum(tensor.bytes, tensor.sha256)
    if manifest.rank_inputs is not None and manifest.rank_inputs in manifest.files:
        files[manifest.rank_inputs] = manifest.files[manifest.rank_inputs]
    return files


def _tensors(manifest: Manifest) -> Iterator[TensorFile]:
    for rank in manifest.by_rank:
        yield from rank.inputs
        yield from rank.outputs


def files_of(manifest: Manifest) -> dict[str, FileSum]:
    """Return all files that the manifest records; of schema 1 those that are used."""
    return {**used_files(manifest), **manifest.files}


def found_files(directory: Path) -> list[str]:
    """Return the sorted paths of what lies in a bundle, relative to it, without `case.json` and `profiles/`."""
    return files_below(directory, without=(MANIFEST, PROFILES))


def files_below(directory: Path, name: str = "", without: Sequence[str] = ()) -> list[str]:
    """Return the file, or all files of the folder, that `name` is in a directory: sorted paths relative to the directory. Links to folders are files
    here."""
    if os.path.isfile(directory / name):
        return [name]
    found = []
    for parent, folders, files in os.walk(directory / name):
        where = os.path.relpath(parent, directory)
        if where == ".":
            folders[:] = [folder for folder in folders if folder not in without]
            files = [file for file in files if file not in without]
        links = [folder for folder in folders if os.path.islink(os.path.join(parent, folder))]
        found += [os.path.normpath(os.path.join(where, file)) for file in (*files, *links)]
    return sorted(found)


def verify_bundle(bundle: Bundle) -> None:
    """Compare every file that is used with its sha256. Raises `BundleError` that names the first missing or changed one."""
    wrong = wrong_file(bundle.path, used_files(bundle.manifest))
    if wrong is not None:
        raise BundleError(bundle.path, f"{wrong}; build the case again (generate-neffs --force)")


def write_tensor(
    directory: Path, file: str, name: str, shape: tuple[int, ...], dtype: str, data: bytes | memoryview
) -> TensorFile:
    """Write the raw bytes of a tensor as `file` of a bundle."""
    (directory / file).write_bytes(data)
    return TensorFile(name, shape, dtype, len(data), file, hashlib.sha256(data).hexdigest())


def is_safe_tensor_name(name: str) -> bool:
    """Return whether the name can be a word on a profiler's command line: printable, without blanks, not like an option."""
    return bool(name) and name.isprintable() and not name.startswith("-") and not any(c.isspace() for c in name)
