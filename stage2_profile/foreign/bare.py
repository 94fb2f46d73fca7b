"""Takes NEFFs from elsewhere that nobody has profiled: they get a bundle, with inputs of our own making, in a store beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.neffs.bare import bare_case, publish_neff
from neff_bench.neffs.bundle import Bundle, read_bundle
from neff_bench.neffs.checksums import sha256_file
from neff_bench.neffs.errors import BundleError, NeffsError
from neff_bench.neffs.store import Store
from neff_bench.parsers.errors import ParseError
from neff_bench.stage2_profile.foreign.search import ForeignCase

if TYPE_CHECKING:
    from neff_bench.stage2_profile.pipeline import Entry

STORE = ".neff-bench"
"""Below the directory that is profiled; hidden, so that it is not taken for something from elsewhere."""


def with_bundles(root: Path, found: Sequence[Entry], inputs: Path | None, *, make: Iterable[str]) -> list[Entry]:
    """Return the entries, with a bundle for each NEFF that has no profile.

    `make`: the kinds of NEFF (`sim`, `neuron`) for which a bundle is made where there is none. A bundle of another NEFF, or any when
    `inputs` are given, is made again. A NEFF that cannot have one keeps its entry, with the reason.
    """
    store, kinds = Store(root / STORE), set(make)
    return [_entry(store, entry, inputs, kinds) for entry in found]


def _entry(store: Store, case: Entry, inputs: Path | None, make: set[str]) -> Entry:
    from neff_bench.parsers.neff import read_neff

    if not isinstance(case, ForeignCase) or case.neff is None or case.problem is not None:
        return case
    if case.ntff or case.summary_json or case.detail_json or case.session_json:
        return case
    try:
        there = _there(store, case.name, case.neff) if store.path.is_dir() else None
        if (there is not None and inputs is None) or not make:
            return there or case
        if ("sim" if read_neff(case.neff).simulated else "neuron") not in make:
            return there or case
        store.create()
        return read_bundle(publish_neff(store, case.name, case.neff, inputs=inputs))
    except (NeffsError, ParseError, OSError) as error:
        return replace(case, problem=str(error))


def _there(store: Store, name: str, neff: Path) -> Bundle | None:
    """Return the bundle that an earlier call made of this very file."""
    from neff_bench.parsers.neff import read_neff

    try:
        bundle = store.find(bare_case(name, read_neff(neff)).name)
    except BundleError:
        return None
    return bundle if bundle is not None and bundle.manifest.neff_sha256 == sha256_file(neff) else None
