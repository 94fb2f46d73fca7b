"""Reads the reader of NTFF files: from a path to a trace on one time axis. The layout is described in formats/ntff.py."""

from __future__ import annotations

import os

from neff_bench.parsers.container import read_container
from neff_bench.parsers.trace import Ntff


def read_ntff(path: str | os.PathLike[str]) -> Ntff:
    """Return the whole trace. Raises ParseError; UnknownVersion for a container version that is not decoded."""
    from neff_bench.parsers.timeline import assemble

    return assemble(read_container(path))
