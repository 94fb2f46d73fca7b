"""Signatures as aws-neuron/nki-library @ 2.29_release calls them, test/utils/kernel_tracer.py."""

import os
from dataclasses import dataclass, replace
from types import SimpleNamespace

import fake_sdk

import nki


@dataclass(frozen=True)
class CompileOptions:
    target: str
    lnc: int
    output_path: str
    artifacts_dir: str
    neuronx_cc_args: tuple = ()
    production: bool = False

    def disable_backend_optimizations(self):
        return replace(self, production=True)


class CompiledKernel:
    @classmethod
    def from_frontend(cls, result, compile_opts):
        assert (result.target, result.lnc) == (compile_opts.target, compile_opts.lnc)
        os.makedirs(compile_opts.artifacts_dir)
        print("Compiler status PASS", *compile_opts.neuronx_cc_args)
        fake_sdk.record(interface="0.3", production=compile_opts.production, target_at_import=nki.TARGET_AT_IMPORT)
        fake_sdk.neff(
            compile_opts.output_path,
            result.target,
            result.lnc,
            fake_sdk.tensors(result.inputs),
            fake_sdk.tensors(result.outputs),
        )
        return SimpleNamespace(neff_path=compile_opts.output_path)
