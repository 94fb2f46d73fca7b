"""The four commands begin here. Ctrl-C ends the process with 130 and without a word, both while Python imports a command and after the
answer. In between the command handles signals (system/signals.py)."""

import os
import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # one that is ignored (nohup) stays so
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))


def generate_neffs() -> None:
    """`generate-neffs`."""
    from neff_bench.stage1_generate.cli import main

    main()


def profile_neffs() -> None:
    """`profile-neffs`."""
    from neff_bench.stage2_profile.cli import main

    main()


def neuron_sim() -> None:
    """`neuron-sim`."""
    from neff_bench.simulator.commands.cli import main

    main()


def neff_bench() -> None:
    """`neff-bench`."""
    from neff_bench.cli import main

    main()
