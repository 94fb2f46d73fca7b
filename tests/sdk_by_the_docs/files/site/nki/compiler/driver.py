"""compile_to_bir, and in releases where ncc_driver does not write the NEFF, _compile_bir_to_neff."""

from lowering import lower, write_neff

from nki._sdk import HABITS
from nki.compiler.ncc_driver import CompiledKernel


def compile_to_bir(
    kernel_func, *, frontend, inputs, compile_opts, enable_cache=True, trace_cache=None, output_names=None
):
    lnc = getattr(kernel_func, "lnc", 1)
    if HABITS["release"] == "2.33" and lnc != 1 and lnc != compile_opts.lnc:
        raise ValueError(f"kernel LNC {lnc} and compiler LNC {compile_opts.lnc} must agree")
    return lower(
        kernel_func,
        inputs=inputs,
        target=compile_opts.target,
        lnc=compile_opts.lnc,
        artifacts_dir=compile_opts.artifacts_dir,
        output_names=output_names,
    )


if HABITS["nki"] == "private_driver":

    def _compile_bir_to_neff(nir, compile_opts, _inputs):
        return CompiledKernel(write_neff(compile_opts, nir), compile_opts.target, nir, compile_opts.lnc)
