"""Declares `neff-bench gate`, which says whether a change of kernels may go in."""

from __future__ import annotations

from neff_bench.stage2_profile.gate.asked import GateOptions
from neff_bench.terminal.command import command
from neff_bench.terminal.options import takes


@command("gate")
@takes(GateOptions)
def gate(options: GateOptions) -> int:
    """Say of each metric of each kernel whether it is worse, better, the same, or whether nobody can tell.

    BEFORE and AFTER are stores that profile-neffs has profiled, or two single profiles, which are compared whatever their names. BEFORE may
    be a baseline, which is a file that --update makes and keeps. A counter that rises is worse, and so is a simulated time that rises by more
    than 0.1 %. A measured time is judged by the confidence interval of several captures (profile-neffs --captures 10). The answer names the
    source lines whose instructions changed. Exit code 0: nothing is worse; 1: something is, or no case could be judged; 2: wrong call, no case
    is on both sides, or a side is not profiled.

    \b
    neff-bench gate base.neffs head.neffs --config benchmarks/gate.yaml --format md --output comment.md
    neff-bench gate baseline.json neffs.out --update
    """
    from neff_bench.stage2_profile.gate.command import run_gate

    return run_gate(options)


if __name__ == "__main__":
    gate()
