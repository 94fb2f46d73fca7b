"""Says which version this installation is, and where it lies."""

from __future__ import annotations

from pathlib import Path

__version__ = "0.2.0"
"""The version of the whole project: every file that it writes and every command names it."""

PACKAGE = Path(__file__).parent
"""The folder `neff_bench`. Every room is a folder in it: a real one when installed, a link in a checkout."""

IMPORT_ROOT = PACKAGE.parent
"""The folder that must be on `sys.path` for `import neff_bench`."""
