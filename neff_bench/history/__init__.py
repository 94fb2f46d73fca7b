"""Gives rows over commits: a store of them, what changed and when, and a page that shows it."""
