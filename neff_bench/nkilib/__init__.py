"""Reads nki-library: which of its kernels has, which of them a shapes file has cases of, and which of them a change touches."""
