"""Which modules `install` loads."""

import subprocess
import sys

OLD_DIALECT = """
import sys
from neff_bench.simulator.nki.install import install, install_host

def loaded():
    return "neff_bench.simulator.nki.beta.isa" in sys.modules, "neuronxcc.nki" in sys.modules

install()
import nki.language
assert loaded() == (False, False)
{use}
assert loaded() == (True, True)
import neuronxcc.nki.language, neuronxcc.nki.isa.constants, logging
assert logging.OFF and neuronxcc.nki.language is neuronxcc.nki.__dict__["language"]
"""


def test_the_old_dialect_is_loaded_by_its_first_import():
    uses = (
        "import neuronxcc.nki.isa as nisa",
        "from neuronxcc.nki.kernels.attention import flash_fwd",
        "from importlib.util import find_spec; assert find_spec('neuronxcc').loader",
        "install_host()",
    )
    for use in uses:
        subprocess.run([sys.executable, "-c", OLD_DIALECT.format(use=use)], check=True)
