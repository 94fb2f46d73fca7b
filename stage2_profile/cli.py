"""Declares `profile-neffs`: the command line of stage 2."""

from __future__ import annotations

from dataclasses import replace

from neff_bench.chips.calibration_option import calibration_option
from neff_bench.stage2_profile.options import Options
from neff_bench.system.signals import stoppable
from neff_bench.terminal.command import command
from neff_bench.terminal.options import takes


@command("profile-neffs")
@takes(Options)
@calibration_option
def profile(options: Options) -> int:
    """Profile the NEFFs of STORE and print where the time goes.

    STORE is what generate-neffs --out named, or one bundle in it; without it, the default of --out. Captures that are good are kept: a second call only
    does what is missing. Exit code 0: all profiled and checked; 1: something failed; 2: wrong call.

    STORE may also be a folder with NEFFs, traces and profile JSONs from elsewhere; they are read as they are. A NEFF
    that has no profile is captured, with inputs made from what it says of its tensors.

    What a column means: neff-bench explain NAME, as in neff-bench explain "active us".

    \b
    profile-neffs neffs
    profile-neffs neffs --cores 0-7 --num-exec 20
    profile-neffs neffs --tool nrtpy --warmup 20 --num-exec 120   # times alone
    profile-neffs neffs --ray auto          # on the cores of all hosts of a Ray cluster
    profile-neffs neffs --capture-only      # on the Trainium host
    profile-neffs neffs --view-only         # anywhere with the tool
    profile-neffs neffs --only 'mlp_*' --num-exec 20 --format csv --output mlp.csv
    profile-neffs neffs --parse-only --format md
    profile-neffs neffs --hot 5 --search kernel.py:33
    profile-neffs neffs --output report.html   # a page: the rows, and the timeline of each
    """
    with stoppable() as stop:
        from neff_bench.stage2_profile.directory import profile_directory

        return stop.exit_code(profile_directory(replace(options, stop=stop)))


def main() -> None:
    """Entry point of the console script."""
    profile()


if __name__ == "__main__":
    main()
