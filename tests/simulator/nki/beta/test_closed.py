"""Kernels without public source are refused by name when they are called."""

import numpy as np
import pytest

from neff_bench.simulator.errors import NotModelledError
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.simulate import simulate


def test_a_closed_kernel_is_refused_by_its_name_and_release():
    install()
    from neuronxcc.nki.kernels.attention import attention_isa_kernel

    with pytest.raises(NotModelledError, match=r"kernels\.attention\.attention_isa_kernel is a closed kernel: .*2\.29"):
        simulate(jit(lambda x: attention_isa_kernel[2](x)))(np.zeros((4, 4), np.float32))
