"""Says what is compiled, where there is a C compiler. Everything else is in pyproject.toml."""

import os
import runpy
import shutil
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

try:
    from Cython.Build import cythonize
except ImportError:  # an environment of the user's own: everything is plain Python there
    cythonize = None

# Four rooms are links in the package. A ZIP that pip unpacks, or a checkout with core.symlinks=false, has files there that hold the link's text.
for room in ("neffs", "parsers", "stage1_generate", "stage2_profile"):
    link = os.path.join("neff_bench", room)
    if not os.path.isdir(link):
        if os.path.exists(".git"):
            raise SystemExit(
                f"{link}: this checkout has no links: git config core.symlinks true && git checkout -- neff_bench"
            )
        os.remove(link)
        shutil.copytree(room, link)

FOLDER = "neff_bench/simulator/native"
sources = runpy.run_path("neff_bench/system/compiled.py")
names = [f"{FOLDER}/{path.relative_to(sources['FOLDER'])}" for path in sources["c_files"]()]
passes = [f"{FOLDER}/{path.name}" for path in sources["pass_files"]()]


def extension(name: str, files: list[str]) -> Extension:
    """Good for all versions of Python from 3.10."""
    return Extension(
        f"neff_bench.simulator.native.{name}",
        files,
        depends=[*names, *passes],  # whose digest it holds
        define_macros=[("BUILT_FROM", f'"{sources["digest"]()}"'), ("Py_LIMITED_API", "0x030A0000")],
        # No fused multiply-add: the plain path rounds after each operation. No folder of the build: a release has the same bytes twice.
        extra_compile_args=["-std=c99", "-O3", "-ffp-contract=off", f"-ffile-prefix-map={os.getcwd()}=."],
        optional=True,
        py_limited_api=True,
    )


def within(folder: str) -> list[str]:
    """Return the C files that lie in a folder."""
    return [name for name in names if os.path.dirname(name) == folder and name.endswith(".c")]


def of_passes() -> list[Extension]:
    """Return the passes that are written in Python; none where Cython is not installed, as for an editable install without a network."""
    if cythonize is None:
        return []
    os.makedirs("build", exist_ok=True)
    source = Path("build/passes.py")
    # A build runs this file several times, and Cython translates only what is newer than its C.
    if not source.exists() or source.read_text(encoding="utf-8") != sources["pass_source"]():
        source.write_text(sources["pass_source"](), encoding="utf-8")
    directives = {"language_level": "3", "infer_types": True}
    [made] = cythonize(
        [extension("passes", ["build/passes.py", f"{FOLDER}/built_from.c"])], quiet=True, compiler_directives=directives
    )
    made.optional = True  # which Cython forgets
    return [made]


class Wheel(bdist_wheel):
    """A wheel in which nothing was compiled is tagged for every platform."""

    def run(self) -> None:
        """Compile first, since the tag follows from what came out."""
        self.run_command("build_ext")
        if not any(os.path.exists(path) for path in self.get_finalized_command("build_ext").get_outputs()):
            self.distribution.ext_modules = []
            self.root_is_pure = True
        super().run()


recorder = extension("recorder.core", within(f"{FOLDER}/recorder"))
setup(ext_modules=[recorder, *of_passes()], cmdclass={"bdist_wheel": Wheel})
