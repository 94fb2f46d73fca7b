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


def test_what_closed_kernels_share_and_aws_has_published_answers():
    install()
    from neuronxcc.nki._pre_prod_kernels.util.kernel_helpers import get_verified_program_sharding_info

    found = []

    def kernel(x):
        found.append(get_verified_program_sharding_info("kernel", (0, 1), 2))
        return x

    simulate(jit(kernel))(np.zeros((4, 4), np.float32))
    simulate(jit(kernel)[2])(np.zeros((4, 4), np.float32))
    assert found == [(0, 1, 0), (1, 2, 0), (1, 2, 1)]


def test_the_dimension_of_cores_has_its_former_names():
    install()
    from neuronxcc.nki.compiler.backends.neuron.dimensions import VNC
    from neuronxcc.nki.language import nc
    from neuronxcc.starfish.penguin.targets.nki.private_api import vnc

    assert VNC is nc and vnc is nc


def test_what_stands_beside_closed_kernels_can_be_named():
    """As defaults of arguments, in files whose other kernels are open."""
    install()
    from neuronxcc.nki import nccl
    from neuronxcc.nki._pre_prod_kernels import ActFnType

    assert ActFnType.SiLU.__name__ == "neuronxcc.nki._pre_prod_kernels.ActFnType.SiLU"
    with pytest.raises(NotModelledError, match=r"nccl\.all_reduce is a closed kernel"):
        nccl.all_reduce()
