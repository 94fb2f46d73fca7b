"""Says what commands need of the operating system: whole files, locks, signals, and processes that start in milliseconds.

Processes are forked from a parent that has imported what they need. `warm` is the parent as a command sees it, `zygote` the
parent itself, `child` what becomes of a fork, `forked` calls of a Python function. The programs of the AWS SDK are never
started this way.
"""
