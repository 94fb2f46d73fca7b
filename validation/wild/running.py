"""A public kernel in this process: its file is loaded, launched on its arguments, and its reference is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.simulate import simulate
from validation.wild.cases.accelopt import reference_module
from validation.wild.cases.case import Case
from validation.wild.loading import load, replace_host_packages


def kernel_of(case: Case, checkout: Path) -> Any:
    """Return the kernel of a case from its file."""
    replace_host_packages()
    module = load(checkout / case.path, case.prelude)
    return case.make(module) if case.make else getattr(module, case.kernel)


def results_of(case: Case, checkout: Path) -> tuple[list[Any], list[Any]]:
    """Return what a case's kernel gives on the embedded toolchain, and what it should give."""
    install()
    kernel = kernel_of(case, checkout)
    if case.decorate:
        kernel = jit(kernel)
    random = np.random.default_rng(0)
    if case.module_reference:
        return _by_the_module(case, checkout, kernel)
    arguments = case.arguments(random)
    copies = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
    results = simulate(kernel)[case.lnc](**arguments)
    if results is None:
        results = tuple(arguments[name] for name in case.outputs)
    return as_list(results), as_list(case.reference(**copies))


def _by_the_module(case: Case, checkout: Path, kernel: Any) -> tuple[list[Any], list[Any]]:
    benchmark = reference_module(checkout, case.path)
    np.random.seed(0)
    inputs = benchmark.get_inputs()
    results = simulate(kernel)(*benchmark.transform_to_nki_inputs(inputs))
    expected = benchmark.forward(*inputs)
    return as_list(tuple(benchmark.transform_nki_outputs(results, expected))), as_list(expected)


def as_list(value: Any) -> list[Any]:
    """Return the results of a function that returns one or several."""
    return list(value) if isinstance(value, (tuple, list)) else [value]
