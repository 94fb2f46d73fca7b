"""The store: what a case is, what a bundle holds, how it is published and verified."""

__version__ = "0.1.0"
"""Of the whole project: every file that it writes and every command names it."""

DEFAULT_STORE = "/tmp/mlp_benchmark_neffs"
"""Where stage 1 writes and stage 2 reads unless told otherwise."""
