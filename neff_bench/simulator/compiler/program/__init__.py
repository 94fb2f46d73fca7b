"""Holds a recorded program as columns: what each instruction reads and writes, how long a buffer lives, where it lies."""
