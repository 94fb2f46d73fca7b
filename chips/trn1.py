"""Trainium1: NeuronCore-v2, which it shares with inf2."""

from neff_bench.chips import inf2
from neff_bench.chips.chip import like

CHIP = like(
    inf2.CHIP,
    name="trn1",
    constants_of="inf2",
    year=(2022, "", "AWS announcement of the instances"),
    instance_type=("trn1.2xlarge", "", "AWS instance families"),
    devices_per_server=(16, "devices", "AWS docs about-neuron/arch/neuron-hardware/trn1-arch.rst: trn1.32xlarge"),
    link_bandwidth=(206.0, "bytes/ns", "AWS docs about-neuron/arch/neuron-hardware/trn1-arch.rst: 384 GiB/s for each chip, read as the sum of both directions; never compared with hardware"),
)  # fmt: skip
