"""Says what a script finds on a Trainium host, for one that runs here: NKI in every Python, and the profiler as a command."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from neff_bench.installation import IMPORT_ROOT

TOOLS = ("neuron-profile", "neuron-explorer")
"""Commands of the AWS SDK that `neuron-sim` answers for."""
_STARTUP = """\
import importlib.machinery
import importlib.util
import os
import sys

from neff_bench.doors.startup import begin

begin({store!r}, {names!r}, {lnc})
here = os.path.dirname(__file__)
others = importlib.machinery.PathFinder.find_spec("sitecustomize", [path for path in sys.path if path != here])
if others is not None:
    others.loader.exec_module(importlib.util.module_from_spec(others))
"""
"""`sitecustomize.py`, which Python imports when it starts. It also runs the one that it hides."""


def environment(scratch: Path, store: Path, names: Path, target: str | None, lnc: int | None) -> dict[str, str]:
    """Return the environment of a script and of all processes that it starts; `scratch` gets the files that it names.

    `store`, `names` and `lnc`: see `startup.begin`. `target`: the chip, None for what the environment says.
    """
    startup, commands = scratch / "startup", scratch / "bin"
    startup.mkdir()
    commands.mkdir()
    (startup / "sitecustomize.py").write_text(
        _STARTUP.format(store=str(store.resolve()), names=str(names.resolve()), lnc=lnc), encoding="utf-8"
    )
    for tool in TOOLS:
        path = commands / tool
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m neff_bench.simulator "$@"\n', encoding="utf-8")
        path.chmod(0o755)
    added = {
        "PYTHONPATH": [str(startup), str(IMPORT_ROOT), os.environ.get("PYTHONPATH")],
        "PATH": [str(commands), str(Path(sys.executable).parent), os.environ.get("PATH")],
    }
    made = {**os.environ, **{name: os.pathsep.join(filter(None, parts)) for name, parts in added.items()}}
    if target is not None:
        made["NEURON_PLATFORM_TARGET_OVERRIDE"] = target
    return made
