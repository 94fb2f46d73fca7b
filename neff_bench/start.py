"""The four commands begin here. Ctrl-C ends the process with 130 and without a word, both while Python imports a command and after the
answer. In between the command handles signals (system/signals.py)."""

import _signal  # the module `signal` imports others first, and Ctrl-C could come meanwhile
import os

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # one that is ignored (nohup) stays so
    _signal.signal(_signal.SIGINT, lambda *_: os._exit(130))


def generate_neffs() -> None:
    """Run `generate-neffs`."""
    from neff_bench.stage1_generate.cli import main

    main()


def profile_neffs() -> None:
    """Run `profile-neffs`."""
    from neff_bench.stage2_profile.cli import main

    main()


def neuron_sim() -> None:
    """Run `neuron-sim`."""
    from neff_bench.simulator.commands.cli import main

    main()


def neff_bench() -> None:
    """Run `neff-bench`."""
    from neff_bench.cli import main

    main()
