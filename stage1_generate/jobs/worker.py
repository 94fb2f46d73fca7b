"""Runs as a worker process: it builds one case in its current directory and ends.

    python -m neff_bench.stage1_generate.jobs.worker < JOB

The job is one line of JSON on standard input. The result is `case.json`, whatever happened short of a crash.
"""

from __future__ import annotations

import errno
import shutil
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.installation import IMPORT_ROOT, __version__, pip_install
from neff_bench.neffs.agreement import disagreement
from neff_bench.neffs.bundle import LOG, Manifest, RankFiles, TensorFile, write_manifest
from neff_bench.neffs.case import Case
from neff_bench.neffs.checksums import sha256_file, tree_digest
from neff_bench.neffs.sources import keep_sources
from neff_bench.parsers.formats.neff import plain_name
from neff_bench.stage1_generate.errors import BuildError, GenerateError
from neff_bench.stage1_generate.jobs.job import Job, decode
from neff_bench.stage1_generate.jobs.matching import match
from neff_bench.stage1_generate.kernel import Dims, Implementation, Kernel, Tensor
from neff_bench.stage1_generate.own_kernel import implementation_of, kernel_of, search_folders
from neff_bench.stage1_generate.reference import NoTorch
from neff_bench.stage1_generate.toolchains.compiled import Compiled, Request
from neff_bench.stage1_generate.toolchains.find import nkilib_version

if TYPE_CHECKING:
    import numpy as np

    from neff_bench.parsers.neff import Neff


_KEPT = (LOG, "command.txt", "kernel.json", "model", "log-neuron-cc.txt")
DISK_FULL = 28
"""Exit code; the errno of the same meaning."""


def build(job: Job) -> Manifest:
    """Compile the case and write its tensors into the current directory. Raises `BuildError`."""
    case = job.case
    kernel = kernel_of(case, job.folder)
    implementation = kernel.implementations[case.implementation]
    dims = Dims(**dict(case.dims))
    inputs = kernel.inputs_of(case.implementation, dims, case.dtype)
    outputs = kernel.outputs(dims, case.dtype) if kernel.outputs else None
    parameters, results = _asked(implementation, inputs, outputs or ())
    request = Request(
        route=implementation.route,
        entry=implementation.entry if isinstance(implementation.entry, str) else implementation.entry(dims),
        inputs=_renamed(inputs, parameters),
        outputs=_renamed(outputs, results) if outputs is not None else None,
        arguments=implementation.arguments(dims),
        paths=search_folders(case, job.folder, job.nkilib),
        target=case.target,
        lnc=case.lnc,
        flags=case.flags,
        verbose=job.options.verbose,
        ranks=case.ranks,
    )
    compiled = _compile(job, request)
    if not job.options.verbose:
        _prune(compiled.neff)
    neff = _read_neff(Path(compiled.neff))
    _keep_sources(Path(compiled.neff), request.paths)
    # The NEFF may list its tensors in another order and under other names than the kernel has them.
    in_files, in_note = match("input", _renamed(inputs, parameters), neff.inputs)
    # What our own compiler writes first, the kernel returns first.
    results_in_neff = tuple(tensor.name for tensor in neff.outputs) if job.toolchain == "sim" else compiled.outputs
    if outputs is None:
        outputs = _said_by(neff, results_in_neff, request)
        results = tuple(tensor.name for tensor in outputs)
    out_files, out_note = match("output", _renamed(outputs, results), neff.outputs, results_in_neff)

    named = tuple(zip(parameters, inputs)), tuple(zip(results, outputs))
    sys.path[:0] = [path for path in request.paths if path not in sys.path]  # a reference may lie below --nkilib
    torch_note = None
    try:
        by_rank, tolerance = _write_tensors(kernel, case, named, in_files, out_files)
    except NoTorch:
        if "nkilib" not in implementation.needs:
            raise
        torch_note = f"its reference in nki-library needs torch, so its outputs are not checked: {pip_install('torch')}"
        by_rank, tolerance = _write_tensors(replace(kernel, reference=None), case, named, in_files, out_files)
    rank_inputs = None
    if case.ranks > 1:
        from neff_bench.stage1_generate.jobs.tensors import write_rank_inputs

        rank_inputs = write_rank_inputs(Path(), [rank.inputs for rank in by_rank])
    built = replace(
        started(job),
        status="built",
        versions=_versions(job) | {"compiler": neff.compiler_version or "unknown"} | dict(compiled.versions),
        interface=compiled.interface,
        command=compiled.command,
        compile_time_s=round(compiled.time_s, 6),
        min_hbm_bytes=sum(tensor.bytes for tensor in (*kernel.inputs(dims, case.dtype), *outputs)),
        tolerance=tolerance,
        neff=compiled.neff,
        neff_sha256=sha256_file(Path(compiled.neff)),
        inputs=by_rank[0].inputs,
        outputs=by_rank[0].outputs,
        other_ranks=tuple(by_rank[1:]),
        rank_inputs=rank_inputs,
        warnings=tuple(note for note in (in_note, out_note, torch_note) if note is not None),
    )
    if wrong := disagreement(built, neff):
        raise BuildError(wrong)
    return built


def _asked(
    implementation: Implementation, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> tuple[tuple[str, ...], ...]:
    """Return the names that the compiler is asked to give to inputs and outputs. A traced graph numbers what it is called with."""
    if implementation.route != "nki":
        return tuple(f"input{at}" for at in range(len(inputs))), tuple(f"output{at}" for at in range(len(outputs)))
    named, made = (tuple(tensor.name for tensor in tensors) for tensors in (inputs, outputs))
    return implementation.parameters or named, implementation.results or made


_Named = tuple[tuple[str, Tensor], ...]
"""Tensors beside the names that the compiler was asked for."""


def _write_tensors(
    kernel: Kernel, case: Case, named: tuple[_Named, _Named], in_files: dict[str, str], out_files: dict[str, str]
) -> tuple[list[RankFiles], tuple[float, float] | None]:
    """Write the inputs and the references of every rank. `named`: inputs and outputs. `*_files`: asked name -> name in the NEFF, in
    its order. Returns the tolerance of the comparison too. Raises `BuildError`."""
    # Imported only now: a compiler that fails is not worth the start of numpy.
    from neff_bench.stage1_generate.jobs.tensors import default_tolerance, draw, references, write_array

    inputs, outputs = named
    drawn = [draw([tensor for _, tensor in inputs], case.seed, rank) for rank in range(case.ranks)]
    tolerance = kernel.tolerance.get(case.dtype)
    right: list[tuple[np.ndarray, ...]] | None = None
    if kernel.reference is not None:
        right = references(kernel, case, [tensor for _, tensor in outputs], drawn)
        every = [array for arrays in right for array in arrays]
        tolerance = tolerance or default_tolerance([case.dtype, *(tensor.dtype for _, tensor in outputs)], every)
    files = []
    for rank, arrays in enumerate(drawn):
        number = rank if case.ranks > 1 else None
        written = {
            name: write_array(Path(), "inp", in_files[name], tensor.dtype, arrays[tensor.name], number)
            for name, tensor in inputs
        }
        expected = {
            name: TensorFile(out_files[name], tensor.shape, tensor.dtype, tensor.bytes, None, None)
            if right is None
            else write_array(Path(), "ref", out_files[name], tensor.dtype, right[rank][at], number)
            for at, (name, tensor) in enumerate(outputs)
        }
        files.append(RankFiles(_in_order(written, in_files), _in_order(expected, out_files)))
    return files, tolerance


def _said_by(neff: Neff, order: Sequence[str] | None, request: Request) -> tuple[Tensor, ...]:
    """Return the outputs of a kernel that declares none, in the order of its results. A NEFF has an order of its own, and need not name the
    dtypes."""
    found = {plain_name(tensor.name): tensor for tensor in neff.outputs}
    if order is None and request.route != "nki":  # a traced graph numbers its results
        order = tuple(f"output{number}" for number in range(len(found)))
    names = [plain_name(name) for name in order or (found if len(found) == 1 else ())]
    told = [found[name] for name in names if name in found]
    if len(told) != len(found) or any(
        tensor.dtype not in SIZE_BYTES or tensor.bytes != Tensor(tensor.name, tensor.shape, tensor.dtype).bytes
        for tensor in told
    ):
        from neff_bench.stage1_generate.toolchains.sim.compile import recorded_outputs

        return recorded_outputs(request)
    return tuple(Tensor(plain_name(tensor.name), tensor.shape, tensor.dtype) for tensor in told)


def started(job: Job) -> Manifest:
    """Return what is known of a case before it is built; a failed bundle holds no more than this and its reason."""
    kernel = kernel_of(job.case, job.folder)
    dims = Dims(**dict(job.case.dims))
    return Manifest(
        case=job.case,
        key=job.key,
        status="failed",
        toolchain=job.toolchain,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        versions=_versions(job),
        model_flops=kernel.model_flops(dims),
        min_hbm_bytes=kernel.min_hbm_bytes(dims, job.case.dtype),
        tolerance=kernel.tolerance.get(job.case.dtype),
        kernel_path=kernel.implementations[job.case.implementation].path(dims),
    )


def refused(job: Job) -> str | None:
    """Return why the implementation cannot take this case, known without compiling; None when it can."""
    case = job.case
    return implementation_of(case, job.folder).refuses(Dims(**dict(case.dims)), case.lnc)


def _compile(job: Job, request: Request) -> Compiled:
    module = import_module(f"neff_bench.stage1_generate.toolchains.{job.toolchain}.compile")
    compiled: Compiled = module.compile(request)
    return compiled


def _prune(neff: str) -> None:
    """Remove intermediate files of the compiler, which are often larger than all the rest."""
    for path in Path().iterdir():
        if path.name in {neff, *_KEPT}:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _read_neff(path: Path) -> Neff:
    from neff_bench.parsers.errors import ParseError
    from neff_bench.parsers.neff import read_neff

    try:
        return read_neff(path)
    except ParseError as error:
        raise BuildError(f"the compiler wrote a NEFF that cannot be read: {error}") from None


def _keep_sources(neff: Path, folders: Sequence[str]) -> None:
    """Copy the kernel's files into the bundle. A NEFF whose debug information cannot be read has been built all the same."""
    from neff_bench.parsers.errors import ParseError
    from neff_bench.parsers.source_files import source_files

    try:
        names = source_files(neff)
    except ParseError as error:
        print(f"warning: no source files are kept: {error}", flush=True)
        return
    keep_sources(Path(), names, folders)


def _renamed(tensors: Sequence[Tensor], names: Sequence[str]) -> tuple[Tensor, ...]:
    return tuple(replace(tensor, name=name) for tensor, name in zip(tensors, names, strict=True))


def _in_order(files: dict[str, TensorFile], order: dict[str, str]) -> tuple[TensorFile, ...]:
    return tuple(files[name] for name in order)


def _versions(job: Job) -> dict[str, str]:
    versions = {"python": ".".join(map(str, sys.version_info[:3])), "neff-bench": __version__}
    if "nkilib" in implementation_of(job.case, job.folder).needs and job.nkilib:
        folder = Path(job.nkilib)
        versions["nkilib"] = nkilib_version(folder) or f"source {tree_digest(folder / 'nkilib_src')[:12]}"
    return versions


def _limit_memory(job: Job) -> None:
    """Limit the memory of this process, so that a case that needs too much fails alone."""
    import resource

    limit = job.options.memory_bytes(job.toolchain)
    if limit is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    try:
        Path("/proc/self/oom_score_adj").write_text("500", encoding="utf-8")
    except OSError:
        pass


def main() -> int:
    """Exit code 0: built; 1: `case.json` says why not; `DISK_FULL`: not even that could be written."""
    job = decode(sys.stdin.buffer.readline())
    _limit_memory(job)
    try:
        manifest = build(job)
    except (GenerateError, MemoryError, OSError) as error:
        manifest = replace(started(job), reason=_reason(job, error))
    except Exception as error:
        traceback.print_exc()
        manifest = replace(
            started(job), reason=f"{type(error).__name__}: {' '.join(str(error).split())} (see compile.log)"
        )
    if job.toolchain == "neuron" and manifest.reason is not None:
        from neff_bench.stage1_generate.toolchains.neuron.sdk import explained

        manifest = replace(manifest, reason=explained(manifest.reason))
    try:
        write_manifest(Path(), manifest)
    except OSError as error:
        print(f"error: {manifest.reason or 'case.json cannot be written'}: {error.strerror}", flush=True)
        return DISK_FULL if error.errno == errno.ENOSPC else 1
    return 0 if manifest.status == "built" else 1


def _reason(job: Job, error: Exception) -> str:
    if isinstance(error, MemoryError):
        limit = job.options.memory_bytes(job.toolchain)
        return "ran out of memory" + (f" (limit of a worker: {limit / 2**30:.1f} GiB)" if limit else "")
    if isinstance(error, OSError) and not isinstance(error, GenerateError):
        return f"{error.filename or 'the bundle'}: {error.strerror}"
    text = str(error)
    for folder in (job.folder, job.nkilib, str(IMPORT_ROOT)):
        text = text.replace(f"{folder}/", "") if folder else text
    return text


if __name__ == "__main__":
    sys.exit(main())
