"""Runs a script as it stands, with the embedded NKI in the place of AWS's, and makes a bundle of each launch.

    python -m neff_bench.doors.script STORE NAMES LNC (SCRIPT | -m MODULE) ARGUMENT...

NAMES is a file that gets the name of each bundle, a line each, as soon as it is there: a script that crashes loses nothing.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path


def main() -> None:
    """Entry point of the process that runs the script."""
    store, names, lnc, *words = sys.argv[1:]
    prepare(Path(store), Path(names), int(lnc))
    run(words)


def prepare(store: Path, names: Path, lnc: int) -> None:
    """Make `import nki` and `import neuronxcc.nki` work in this process, and collect what kernels do."""
    from neff_bench.doors.embedded import embed
    from neff_bench.doors.launches import Launches
    from neff_bench.neffs.store import Store
    from neff_bench.simulator.nki.launch import Launch

    launches = Launches(Store(store))

    def hear(launch: Launch) -> None:
        before = len(launches.names)
        launches.add(launch)
        with names.open("a") as file:
            file.writelines(f"{name}\n" for name in launches.names[before:])

    embed(hear, lnc)


def run(words: list[str]) -> None:
    """Run a script or a module as Python does: as `__main__`, with its own `sys.argv` and `sys.path[0]`."""
    if words[0] == "-m":
        sys.argv = words[1:]
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path.insert(0, str(Path(words[0]).resolve().parent))
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main()
