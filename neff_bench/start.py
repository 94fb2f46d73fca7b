"""Begins the four commands. Ctrl-C ends the process with 130 and without a word, both while Python imports a command and after the
answer. In between the command handles signals (system/signals.py)."""

import _signal  # the module `signal` imports others first, and Ctrl-C could come meanwhile
import gc
import os
import sys

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # one that is ignored (nohup) stays so
    _signal.signal(_signal.SIGINT, lambda *_: os._exit(130))
gc.disable()  # what is imported stays: to look through it for garbage is a twentieth of a short command's time


def _said_version() -> bool:
    """Say the version where that is all that is asked: to import click takes three times as long as to start Python. Return whether it
    was said; where it cannot be, the command itself tells why."""
    if sys.argv[1:] != ["--version"]:
        return False
    from neff_bench.errors import OutputError
    from neff_bench.installation import VERSION
    from neff_bench.terminal import streams

    streams.prepare()
    try:
        streams.line(VERSION)
    except OutputError:
        return False
    return True


def generate_neffs() -> None:
    """Run `generate-neffs`."""
    if _said_version():
        return
    from neff_bench.stage1_generate.cli import main

    main()


def profile_neffs() -> None:
    """Run `profile-neffs`."""
    if _said_version():
        return
    from neff_bench.stage2_profile.cli import main

    main()


def neuron_sim() -> None:
    """Run `neuron-sim`."""
    from neff_bench.simulator.commands.cli import main

    main()


def neff_bench() -> None:
    """Run `neff-bench`."""
    if _said_version():
        return
    from neff_bench.cli import main

    main()
