"""Recording of small kernels of the old dialect."""

from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record

install()


def recorded(function, *shapes, target="trn2", dtype="float32", middle_end=False, dtypes=None):
    """The program of a kernel whose arguments have these shapes, before the compiler's middle end."""
    kernel = jit(function)
    kernel.middle_end = middle_end
    names = function.__code__.co_varnames[: len(shapes)]
    inputs = [InputSpec(*of_one) for of_one in zip(names, shapes, dtypes or [dtype] * len(shapes))]
    return record(Call(kernel, function.__name__, inputs), target, 1)


def operations(program):
    return [step.op for step in program.cores[0]]
