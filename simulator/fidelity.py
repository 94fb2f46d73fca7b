"""The stated error of simulated times, by class of kernel. Counts and bytes are exact for the program."""

from __future__ import annotations

from simulator.program import Program

ERROR_OF_TARGET = {
    "trn2": "total within 0.80x to 1.25x of hardware for MLP and matmul kernels (not fitted)",
    "trn3": "not measured: overheads copied from trn2",
    "inf2": "total within 0.85x to 1.20x for single-tile matmuls; larger kernels not measured",
    "trn1": "not measured: constants of inf2",
}


def time_error(program: Program) -> str:
    """One line for every simulated profile."""
    return ERROR_OF_TARGET[program.target]
