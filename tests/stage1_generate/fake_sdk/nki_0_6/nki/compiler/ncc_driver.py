"""Signatures: NKI 0.6.0, nki/compiler/ncc_driver.py."""

import os
from dataclasses import dataclass, replace

import fake_sdk


@dataclass(frozen=True)
class CompileOptions:
    target: str = "trn1"
    lnc: int = 1
    verbose: bool = False
    artifacts_dir: str | None = None
    neuronx_cc_args: tuple = ()
    output_path: str = "file.neff"
    production: bool = False

    def disable_backend_optimizations(self):
        return replace(self, production=True)


def compile_bir_to_neff(compile_opts, bir, input_arrays, argument_names, output_arg_names):
    assert argument_names == [spec.name for spec in bir.descriptor.input_specs]
    assert output_arg_names == [spec.name for spec in bir.descriptor.output_specs]
    os.makedirs(compile_opts.artifacts_dir)
    print("Compiler status PASS", *compile_opts.neuronx_cc_args)
    fake_sdk.neff(
        compile_opts.output_path,
        compile_opts.target,
        compile_opts.lnc,
        fake_sdk.tensors(bir.descriptor.input_specs),
        fake_sdk.tensors(bir.descriptor.output_specs),
    )
