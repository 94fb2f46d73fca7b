"""Holds the ways in beside the shapes file: Python calls, a stream of kernels, agents. Only this room calls the simulator in process."""
