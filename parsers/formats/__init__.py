"""Declares layouts of the files that the profilers read and write, each written once: readers and the simulator's writers use them."""
