"""Holds the store: what a case is, what a bundle holds, how it is published and verified."""

DEFAULT_STORE = "/tmp/mlp_benchmark_neffs"
"""Where stage 1 writes and stage 2 reads unless told otherwise: the directory that the MLP experiment's document names."""
STORE_HELP = "The store: the directory that the bundles go to."
