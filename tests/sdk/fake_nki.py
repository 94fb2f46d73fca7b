"""NKI's compiler as the contract of a release describes it: a package with its functions, their parameters and no others.

`install` writes it into a directory for `sys.path`. What it splits at blanks, the real back end splits: it gets the path of the
NEFF in one string (`backend_splits_paths`).
"""

import inspect
import json
import os
import shlex
import sys
from dataclasses import dataclass
from types import SimpleNamespace

MODULE = '''"""Made from the contract of a release."""
from tests.sdk.fake_nki import attribute
{lines}
'''


def install(contract, directory):
    """Write the modules of NKI and what `importlib.metadata` reads of its version."""
    (directory / "contract.json").write_text(json.dumps(contract))
    modules = {}
    for interface in contract["nki"]["interfaces"].values():
        for path, parameters in interface["functions"].items():
            module, _, name = path.partition(":")
            modules.setdefault(module, {}).setdefault(name.split(".")[0], {})[name] = parameters
    for module, attributes in modules.items():
        place = directory.joinpath(*module.split(".")).with_suffix(".py")
        place.parent.mkdir(parents=True, exist_ok=True)
        for folder in place.relative_to(directory).parents:
            if str(folder) not in (".", "nki"):
                (directory / folder / "__init__.py").touch()
        lines = [f"{name} = attribute({name!r}, {methods!r})" for name, methods in attributes.items()]
        if module == "neuronxcc.nki_standalone":
            lines.append("from tests.sdk.fake_nki import NKI_IR_VERSION")
        place.write_text(MODULE.format(lines="\n".join(lines)))
    if any(module.startswith("neuronxcc") for module in modules):
        (directory / "neuronxcc" / "__init__.py").touch()
    for name in ("nki", "neuronx-cc"):
        version = contract["versions"].get(name)
        info = directory / f"{name.replace('-', '_')}-{version}.dist-info"
        if version is not None:
            info.mkdir(exist_ok=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return directory


def attribute(name, methods):
    """What a module has under a name: a function, or a class with methods."""
    if name == "CompileOptions":
        return lambda **options: Options(**checked(methods[name], options))
    if (set(methods) == {name} and name[0].islower()) or name.startswith("_"):
        return signed(name, BEHAVIOUR[name], methods[name])
    members = {}
    for path, parameters in methods.items():
        if "." in path:
            method = path.split(".")[1]
            function = signed(method, BEHAVIOUR[path], parameters)
            members[method] = function if parameters[0] == "self" else staticmethod(function)
    return type(name, (), members)


def signature(parameters):
    kind, found = inspect.Parameter.POSITIONAL_OR_KEYWORD, []
    for name in parameters:
        if name == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
        else:
            default = None if name.endswith("=") else inspect.Parameter.empty
            found.append(inspect.Parameter(name.rstrip("="), kind, default=default))
    for position, parameter in enumerate(found):  # one without a default may follow one with it only by its name
        if parameter.default is inspect.Parameter.empty:
            continue
        found[position:] = [
            p if p.default is None else p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in found[position:]
        ]
    return inspect.Signature(found)


def checked(parameters, options):
    return signature(parameters).bind(**options).arguments


def signed(name, behaviour, parameters):
    """A function with these parameters: what a caller gives otherwise is a TypeError, as with the real one."""
    known = signature(parameters)

    def function(*words, **names):
        given = known.bind(*words, **names)
        given.apply_defaults()
        return behaviour(**{key: value for key, value in given.arguments.items() if key != "self"})

    function.__name__, function.__signature__ = name, known
    return function


@dataclass(frozen=True)
class Options:
    target: str = "trn1"
    lnc: int = 1
    output_path: str = "file.neff"
    artifacts_dir: str | None = None
    neuronx_cc_args: tuple = ()
    production: bool = False

    def disable_backend_optimizations(self):
        return Options(self.target, self.lnc, self.output_path, self.artifacts_dir, self.neuronx_cc_args, True)


class NKI_IR_VERSION:
    beta2 = "beta2"


def contract():
    """That of the directory on the path which this process took NKI from."""
    (place,) = [folder for folder in sys.path if os.path.isfile(os.path.join(folder, "contract.json"))]
    with open(os.path.join(place, "contract.json")) as file:
        return json.load(file)


def check_environment(target, lnc):
    """What the contract says to set is set, and what leads the compiler elsewhere is gone."""
    for name, entry in contract()["environment"].items():
        if entry.get("used_by", "both") != "capture" and (entry["role"] == "unset" or "set" in entry):
            wanted = entry["set"].format(target=target, lnc=lnc) if "set" in entry else None
            assert os.environ.get(name) == wanted, f"{name} is {os.environ.get(name)}, expected {wanted}"


def traced(kernel, inputs, names, interface, options):
    import fake_sdk
    import nki

    if options is not None:
        check_environment(options.target, options.lnc)
    by_environment = contract()["nki"]["lnc_by"] == "environment"
    lnc = int(os.environ.get("NEURON_LOGICAL_NC_CONFIG", "1")) if by_environment else None
    if options is not None:
        assert lnc is None or lnc == options.lnc, f"the kernel has LNC {lnc}, the compiler {options.lnc}"
    given, made = fake_sdk.run(kernel, inputs)
    for spec, name in zip(made, names or [spec.name for spec in made], strict=True):
        spec.name = name
    fake_sdk.record(
        interface=interface,
        production=options.production if options is not None else None,
        target_at_import=nki.TARGET_AT_IMPORT,
        debug_info=os.environ.get("NKI_DEBUG_INFO"),
    )
    return SimpleNamespace(descriptor=SimpleNamespace(input_specs=given, output_specs=made))


def write(path, target, lnc, descriptor, words, artifacts=None):
    """The back end: one string, split at blanks."""
    import fake_sdk

    if artifacts is not None:
        os.makedirs(artifacts)  # it wants the directory to be empty
    command = (
        f"--output={path} --internal-backend-options=''"
        if contract()["nki"]["backend_splits_paths"]
        else f"--output='{path}'"
    )
    path = shlex.split(command)[0].removeprefix("--output=")
    print("Compiler status PASS", *words)
    fake_sdk.neff(path, target, lnc, *map(fake_sdk.tensors, (descriptor.input_specs, descriptor.output_specs)))


def nki_standalone(
    kernel_func,
    kernel_inputs_dict,
    kernel_outputs,
    platform_target,
    logical_nc_config,
    output_directory,
    version,
    additional_compiler_args,
    enable_device_dump,
):
    assert version is NKI_IR_VERSION.beta2
    names = [output.name for output in kernel_outputs]
    result = traced(kernel_func, kernel_inputs_dict, names, "nki_standalone", None)
    path = os.path.join(output_directory, "file.neff")
    write(path, platform_target, logical_nc_config, result.descriptor, [additional_compiler_args])


def parse(kernel_func, inputs, target, lnc, artifacts_dir, dump_python_ast, output_names):
    return SimpleNamespace(kernel=kernel_func, inputs=inputs, target=target, lnc=lnc, names=output_names)


def from_frontend(result, compile_opts):
    assert (result.target, result.lnc) == (compile_opts.target, compile_opts.lnc)
    traced_ = traced(result.kernel, result.inputs, result.names, "ParserFrontend", compile_opts)
    finish(compile_opts, traced_.descriptor)


def compile_to_bir(kernel_func, frontend, inputs, compile_opts, output_names):
    assert type(frontend).__name__ == "ParserFrontend"
    return traced(kernel_func, inputs, output_names, "compile_to_bir", compile_opts)


def compile_kernel_to_nir(kernel_func, inputs, compile_opts, frontend, enable_cache, trace_cache):
    assert enable_cache is False
    if contract()["nki"]["lnc_by"] == "environment":
        assert getattr(kernel_func, "lnc", None) is None, "kernel[lnc] is deprecated in this release"
    else:
        assert kernel_func.lnc == compile_opts.lnc
    return traced(kernel_func, inputs, None, "compile_kernel_to_nir", compile_opts)


def compile_bir_to_neff(compile_opts, bir, input_arrays, argument_names, output_arg_names):
    assert argument_names == [spec.name for spec in bir.descriptor.input_specs]
    assert output_arg_names == [spec.name for spec in bir.descriptor.output_specs]
    finish(compile_opts, bir.descriptor)


def compile_bir_with_inputs(nir, opts, inputs):
    finish(opts, nir.descriptor)


def finish(options, descriptor):
    write(options.output_path, options.target, options.lnc, descriptor, options.neuronx_cc_args, options.artifacts_dir)


BEHAVIOUR = {
    "compile_nki_ir_kernel_to_neff": nki_standalone,
    "ParserFrontend.compile": parse,
    "CompiledKernel.from_frontend": from_frontend,
    "compile_to_bir": compile_to_bir,
    "compile_kernel_to_nir": compile_kernel_to_nir,
    "compile_bir_to_neff": compile_bir_to_neff,
    "_compile_bir_to_neff": compile_bir_with_inputs,
}
