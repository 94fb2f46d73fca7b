"""Which kernels nki-library has, which of them a shapes file has cases of, and which of them a change touches."""
