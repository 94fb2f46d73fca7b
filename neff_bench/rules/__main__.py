"""Writes the page of the rules, as `python -m neff_bench.rules`."""

import sys

from neff_bench.rules.explain import page

sys.stdout.write(page())
