from dataclasses import dataclass, replace

from nki._sdk import HABITS

__version__ = HABITS["nki_version"]

if HABITS["nki"] == "standalone":

    @dataclass(frozen=True)
    class CompileKernel:
        func: object
        lnc: int = 1

        def __getitem__(self, lnc):
            return replace(self, lnc=int(lnc))

else:
    from nki.framework.compiled import CompileKernel


def jit(function=None, **options):
    """@nki.jit and @nki.jit(...)."""
    if function is None:
        return lambda inner: jit(inner, **options)
    return CompileKernel(function)
