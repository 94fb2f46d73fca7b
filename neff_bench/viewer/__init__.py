"""Writes the timeline of an execution, written out for other programs."""
