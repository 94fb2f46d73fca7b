"""After public copies of nki/compiler/ncc_driver.py of NKI 0.6: the same names, the same conventions of aliases."""

import os
from dataclasses import dataclass, field, replace

from lowering import NCCError as NCCError
from lowering import NirResult, write_neff

from nki._sdk import HABITS
from nki.compiler.target import _normalize_target


@dataclass(frozen=True)
class CompileOptions:
    target: str = "trn1"
    lnc: int = 1
    verbose: bool = False
    verbose_neuronx_cc: bool = False
    artifacts_dir: str | None = None
    neuronx_cc_args: tuple = ()
    neuronx_cc_backend_opts: tuple = ()
    neuronx_cc_path: str = "neuronx-cc"
    output_path: str = "file.neff"
    nki_opt_pipeline_options: tuple = ()
    enable_device_dump: bool = False
    address_rotation: bool = True
    emit_reg_compute_as_affine_expr: bool = False
    debug: bool = field(default_factory=lambda: os.environ.get("NKI_DEBUG_INFO", "").lower() in ("1", "true"))

    def __post_init__(self):
        object.__setattr__(self, "target", _normalize_target(self.target))
        if self.target not in ("trn1", "trn2", "trn3pre", "trn3"):
            raise ValueError(f"Invalid target: {self.target}. Must be 'trn1', 'inf2', 'trn2', or 'trn3'")
        if self.lnc not in (1, 2):
            raise ValueError(f"lnc must be 1 or 2, got {self.lnc}")
        if not self.artifacts_dir and os.environ.get("NKI_ARTIFACTS_DIR"):
            object.__setattr__(self, "artifacts_dir", os.environ["NKI_ARTIFACTS_DIR"])

    def set_pipeline_options(self, *options):
        return replace(self, nki_opt_pipeline_options=self.nki_opt_pipeline_options + options)

    def disable_backend_optimizations(self):
        options = self.set_pipeline_options(
            "enable-linear-scan-allocation=false", "enable-instruction-scheduling=false"
        )
        return replace(options, emit_reg_compute_as_affine_expr=True)


@dataclass
class CompiledKernel:
    neff_path: str
    target: str
    bir: NirResult
    lnc: int = 1
    artifacts_dir: str | None = None
    mlir_time: float = 0.0
    neuronx_cc_time: float = 0.0

    @property
    def input_specs(self):
        return list(self.bir.descriptor.input_specs)

    @property
    def output_specs(self):
        return list(self.bir.descriptor.output_specs)

    @classmethod
    def from_frontend(cls, frontend_result, compile_opts, frontend_time=0.0, tensor_inputs=None):
        return cls(write_neff(compile_opts, frontend_result), compile_opts.target, frontend_result, compile_opts.lnc)

    @property
    def input_output_aliases(self):
        return self.bir.descriptor.to_input_output_aliases_dict()


if HABITS["nki"] == "ncc_driver":

    def compile_bir_to_neff(compile_opts, bir, input_arrays, argument_names, output_arg_names):
        if input_arrays and len(input_arrays) != len(argument_names):
            raise RuntimeError(
                f"Mismatch between input arrays ({len(input_arrays)}) and argument names ({len(argument_names)})"
            )
        return CompiledKernel(write_neff(compile_opts, bir), compile_opts.target, bir, compile_opts.lnc)
