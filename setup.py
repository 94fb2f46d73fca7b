"""The compiled core, where there is a C compiler. Everything else is in pyproject.toml."""

import runpy

from setuptools import Extension, setup

FOLDER = "simulator/native"
sources = runpy.run_path(f"{FOLDER}/sources.py")
names = [f"{FOLDER}/{path.name}" for path in sources["c_files"]()]

setup(
    ext_modules=[
        Extension(
            "neff_bench.simulator.native.core",
            [name for name in names if name.endswith(".c")],
            depends=[name for name in names if name.endswith(".h")],
            define_macros=[("BUILT_FROM", f'"{sources["digest"]()}"')],
            # No fused multiply-add: the plain path rounds after each operation.
            extra_compile_args=["-std=c99", "-O3", "-ffp-contract=off"],
            optional=True,
            py_limited_api=True,
        )
    ]
)
