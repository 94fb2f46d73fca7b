"""Lowers HLO graphs to programs, through kernels written in the NKI dialect."""
