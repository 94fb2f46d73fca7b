"""Says which parts of the SDK are installed in this environment. Looks only; imports none of them."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.errors import WrongCall

if TYPE_CHECKING:
    from neff_bench.sdk.release import Release

OPTION = "Release of the AWS SDK, such as 2.31, whose refusals are named.  [default: that of the compiler here, else the newest]"
"""What `--sdk` of every command means."""


def module_folder(package: str, part: str) -> Path | None:
    """Return the folder of an installed package that has the given submodule: PyPI has empty placeholders under the names of the SDK's packages."""
    # Only what lies on the path: the embedded toolchain's own `nki` and `neuronxcc` come and go with the kernels of other threads.
    spec = PathFinder.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        if (Path(folder) / part).is_dir() or any(Path(folder).glob(f"{part}.*")):
            return Path(folder)
    return None


def version_of(distribution: str) -> str | None:
    """Return the installed version of a distribution, None when it is not installed."""
    from importlib import metadata  # which reads mails and archives

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def compiler_release() -> Release | None:
    """Return the release of the compiler that is here, by the version of nki, else of neuronx-cc; the nearest one that is known. None where
    there is no compiler: what has its name and none of its parts is none."""
    return _release_below(tuple(sys.path))


@lru_cache(maxsize=8)
def _release_below(_: tuple[str, ...]) -> Release | None:
    """Return it for these folders of `sys.path`: each row asks."""
    from neff_bench.sdk.identify import identify

    for package, part, distribution in (("nki", "isa", "nki"), ("neuronxcc", "starfish", "neuronx-cc")):
        # The folder first: a distribution that is not there is looked for in every folder that Python knows.
        if module_folder(package, part) is not None and (version := version_of(distribution)) is not None:
            return identify(distribution, version).release
    return None


def judged_by(named: str | None) -> str:
    """Return the release whose rules hold: the one that is named, else that of the compiler here, else the newest that is out. Raises WrongCall."""
    from neff_bench.sdk.identify import between, newest_published

    if named is None:
        return (compiler_release() or newest_published()).name
    found = between(named)
    if len(found) > 1:
        raise WrongCall(f"--sdk {named}: expected one release of the SDK")
    return found[0]
