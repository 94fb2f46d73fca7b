"""Watches the disk: what the traces of a capture will take, before it is taken, and what to do where there is too little."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from neff_bench.neffs.bundle import Bundle
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.errors import CaptureFailed
from neff_bench.stage2_profile.options import Options
from neff_bench.terminal.text import shell_word

TRACE_PER_NEFF = 6
"""Bytes of a trace for each byte of its NEFF, for a case that was never captured (docs/model.md, Evidence); a kernel with
loops has more. It is a guess, not a bound."""
WHOLE_PER_TRACE = 9
"""Bytes of the whole profile, as JSON, for each byte of its trace."""
MIB = 1 << 20


def estimate_bytes(bundle: Bundle, options: Options, *, traced: bool) -> int:
    """Return what one capture of a bundle adds to its store: traces (of the warm-up too, until they are removed), outputs, and where it is asked for
    the whole profile of the last trace. The trace of its newest run counts, where there is one."""
    outputs_bytes = sum(tensor.bytes for tensor in bundle.manifest.outputs) * bundle.manifest.case.ranks
    if not traced:
        return outputs_bytes
    neff = bundle.path / str(bundle.manifest.neff)
    neff_bytes = neff.stat().st_size if neff.is_file() else 0  # one that is missing becomes a row
    trace_bytes = _known_trace_bytes(bundle) or TRACE_PER_NEFF * neff_bytes
    traces = options.executions.number // options.executions.nth * bundle.manifest.case.ranks
    return outputs_bytes + trace_bytes * (traces + (WHOLE_PER_TRACE if options.detail else 0))


def check_disk(bundle: Bundle, options: Options, *, traced: bool) -> None:
    """Refuse a capture that the disk has no room for. Raises `CaptureFailed`."""
    needed, free = estimate_bytes(bundle, options, traced=traced), shutil.disk_usage(bundle.path).free
    if needed > free:
        raise CaptureFailed(
            f"not captured: it would take about {_size(needed)}, and {_size(free)} are free for {bundle.path.parent}; "
            f"{offer(bundle.path.parent)}, or ask for fewer executions"
        )


def shortage(store: Path, bundles: Iterable[Bundle], options: Options, *, traced: bool) -> str | None:
    """Return what to say before the first capture where all that are still to be taken will not fit; None where they will."""
    needed = options.most_captures * sum(
        estimate_bytes(bundle, options, traced=traced)
        for bundle in bundles
        if options.force or (found := _best(bundle, traced)) is None or found.status == "failed"
    )
    free = shutil.disk_usage(store).free
    if needed <= free:
        return None
    return f"the captures may take about {_size(needed)}, and {_size(free)} are free for {store}; {offer(store)}"


def offer(store: Path) -> str:
    """Return the command that makes room."""
    return f"`neff-bench gc {shell_word(str(store))} --keep 1` removes old runs"


def _best(bundle: Bundle, traced: bool) -> runs.Run | None:
    found = runs.best_run(bundle.path, bundle.manifest.neff_sha256, traced=traced).found
    return found and found[1]


def _known_trace_bytes(bundle: Bundle) -> int | None:
    run = _best(bundle, traced=True)
    sizes = [run.files[each.ntff].bytes for each in run.executions if each.ntff in run.files] if run else []
    return max((size for size in sizes if size is not None), default=None)


def _size(count: int) -> str:
    if count < MIB:
        return f"{count} bytes"
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{round(count / MIB)} MiB"
