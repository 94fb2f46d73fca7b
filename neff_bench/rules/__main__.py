"""`python -m neff_bench.rules`: the page of the rules."""

import sys

from neff_bench.rules.explain import page

sys.stdout.write(page())
