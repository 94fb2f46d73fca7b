"""Writes, replaces and removes the `benchmarks/` directory of a checkout. A list, `.neff-bench.json`, has each file with its sha256: only
these, unchanged since, are ever replaced or removed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from neff_bench.installation import PACKAGE
from neff_bench.nkilib.layout import InstallError, beside_package, template, vendored

DIRECTORY = "benchmarks"
LIST = ".neff-bench.json"
CACHES = ("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache")
"""Left in our folders by the tools that ran over our files."""


def install(
    checkout: Path,
    *,
    source: str | None = None,
    vendor: bool = False,
    link: bool = False,
    allow_dirty: bool = False,
) -> Path:
    """Write `benchmarks/` into a checkout of nki-library, whole or not at all, and return its path. Raises InstallError.

    `source`: what requirements.txt names, see `layout.requirement`; `vendor`: a copy of the package goes with it; `link`: a link to it.
    """
    require_checkout(checkout)
    target = checkout / DIRECTORY
    if os.path.lexists(target):
        require_ours(target)
    if not allow_dirty:
        require_clean(checkout)
    files = dict(template(checkout, source))
    if vendor or link:
        files |= dict(vendored() if vendor else beside_package())
    staging = Path(tempfile.mkdtemp(prefix=f".{DIRECTORY}-", dir=checkout))
    try:
        staging.chmod(0o755)
        for name, content in files.items():
            path = staging / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if link:
            (staging / PACKAGE.name).symlink_to(PACKAGE)
        names = [*files, *([PACKAGE.name] if link else [])]
        _write_list(staging, names)
        if target.exists():
            _remove_listed(target)
        if target.exists():
            raise InstallError(f"{target}: holds files that were not written by install-benchmarks; move them away")
        os.rename(staging, target)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    return target


def remove(checkout: Path) -> int:
    """Remove what `install` wrote and return the number of files. Raises InstallError when a file was changed since."""
    target = checkout / DIRECTORY
    if not os.path.lexists(target):
        raise InstallError(f"{target}: there is nothing to remove")
    require_ours(target)
    return _remove_listed(target)


def require_checkout(checkout: Path) -> None:
    """Raise InstallError unless `checkout` is the root of nki-library (2.28 layout and later)."""
    if not (checkout / "src" / "nkilib_src" / "nkilib").is_dir():
        raise InstallError(
            f"{checkout}: is not a checkout of nki-library: src/nkilib_src/nkilib is missing; name the repository's root"
        )


def require_clean(checkout: Path) -> None:
    """Raise InstallError when git knows of uncommitted changes outside `benchmarks/`."""
    status = subprocess.run(
        ["git", "-C", str(checkout), "status", "--porcelain", "--", ".", f":(exclude){DIRECTORY}"],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    if status.returncode != 0:
        raise InstallError(f"{checkout}: is not a git checkout ({status.stderr.strip()}); pass --allow-dirty to go on")
    changed = status.stdout.splitlines()
    if changed:
        raise InstallError(
            f"{checkout}: has {len(changed)} uncommitted change(s), the first: {changed[0].strip()};"
            " commit or stash them, or pass --allow-dirty"
        )


def require_ours(target: Path) -> None:
    """Raise InstallError unless `target` was written by `install` and none of its files was changed since."""
    if target.is_symlink() or not target.is_dir():
        raise InstallError(f"{target}: is not a directory that install-benchmarks wrote; it is left as it is")
    for name, digest in _read_list(target).items():
        path = target / name
        if os.path.lexists(path) and _digest(path) != digest:
            raise InstallError(f"{path}: was changed since it was written; move it away or restore it, then try again")


def _read_list(target: Path) -> dict[str, str]:
    try:
        files = json.loads((target / LIST).read_text(encoding="utf-8"))["files"]
    except FileNotFoundError:
        raise InstallError(f"{target}: was not written by install-benchmarks ({LIST} is missing)") from None
    except (ValueError, KeyError, TypeError):
        raise InstallError(f"{target / LIST}: is not the list that install-benchmarks writes") from None
    for name in files:
        if os.path.isabs(name) or ".." in Path(name).parts:
            raise InstallError(f"{target / LIST}: names a file outside the directory: {name}")
    return dict(files)


def _remove_listed(target: Path) -> int:
    files = [*_read_list(target), LIST]
    folders = {target}
    for name in files:
        path = target / name
        if os.path.lexists(path):
            path.unlink()
        folders.update(parent for parent in path.parents if target in parent.parents)
    for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        for cache in CACHES:
            shutil.rmtree(folder / cache, ignore_errors=True)
        try:
            folder.rmdir()
        except OSError:
            continue  # holds something that is not ours
    return len(files)


def _write_list(staging: Path, names: list[str]) -> None:
    written = {name: _digest(staging / name) for name in names}
    (staging / LIST).write_text(json.dumps({"files": written}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _digest(path: Path) -> str:
    """Return sha256 of a file's bytes, or of where a link points to."""
    if path.is_symlink():
        return hashlib.sha256(b"link " + os.readlink(path).encode()).hexdigest()
    return hashlib.sha256(path.read_bytes()).hexdigest()
