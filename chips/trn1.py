"""Trainium1: NeuronCore-v2, which it shares with inf2."""

from neff_bench.chips import inf2
from neff_bench.chips.chip import like

CHIP = like(
    inf2.CHIP,
    name="trn1",
    constants_of="inf2",
    year=(2022, "", "AWS announcement of the instances"),
    instance_type=("trn1.2xlarge", "", "AWS instance families"),
)  # fmt: skip
