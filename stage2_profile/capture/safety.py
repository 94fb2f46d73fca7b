"""Says what is refused before anything is run or written: another user's store in a shared directory, links in a bundle."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from neff_bench.neffs.bundle import Bundle
from neff_bench.neffs.store import check_own
from neff_bench.stage2_profile.errors import UnsafePath


def check_store(directory: Path) -> None:
    """Refuse a store of another user below a directory that everybody may write to (/tmp): its owner could swap files between our checks and
    our use. Raises `UnsafePath`, and `StoreError` where links lead out of it."""
    check_own(directory)
    owner = directory.stat().st_uid
    if owner in (os.geteuid(), 0):
        return
    if any(parent.stat().st_mode & stat.S_IWOTH for parent in directory.resolve().parents):
        raise UnsafePath(
            f"{directory} belongs to another user (uid {owner}) in a shared directory; profile a copy of it"
        )


def check_links(bundle: Bundle) -> None:
    """Refuse a bundle that is, or holds, a symbolic link where we read or write. Raises `UnsafePath`."""
    manifest = bundle.manifest
    tensors = (tensor for rank in manifest.by_rank for tensor in (*rank.inputs, *rank.outputs))
    files = [manifest.neff, manifest.rank_inputs, *(tensor.file for tensor in tensors), "profiles"]
    for path in (bundle.path, *(bundle.path / file for file in files if file)):
        if path.is_symlink():
            raise UnsafePath(f"{path} is a symbolic link; a bundle holds its own files (copy it with cp -rL)")
