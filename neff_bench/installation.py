"""Says which version this installation is, and where it lies."""

from __future__ import annotations

import re
from pathlib import Path

__version__ = "0.2.0"
"""The version of the whole project: every file that it writes and every command names it."""

VERSION = f"neff-bench {__version__}"
"""What `--version` says."""

PACKAGE = Path(__file__).parent
"""The folder `neff_bench`. Every room is a folder in it: a real one when installed, a link in a checkout."""

IMPORT_ROOT = PACKAGE.parent
"""The folder that must be on `sys.path` for `import neff_bench`."""


def pip_install(extra: str) -> str:
    """Return the command that installs what an extra needs. It names the packages, so it works wherever this project was installed from."""
    from importlib import metadata

    try:
        needs = metadata.requires("neff-bench") or []
    except metadata.PackageNotFoundError:  # a checkout on PYTHONPATH
        return f"pip install '{IMPORT_ROOT}[{extra}]'"
    mine = re.compile(rf"(.*); extra == ['\"]{extra}['\"]")
    return " ".join(["pip install", *(f"'{found[1].strip()}'" for need in needs if (found := mine.fullmatch(need)))])
