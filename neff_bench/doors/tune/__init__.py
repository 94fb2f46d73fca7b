"""Implements `neff-bench tune`: variants as JSON lines, and those of one kernel searched and ranked."""
