"""api-torch-neuronx-trace.rst: `trace` compiles what a function does to example inputs, and leaves the NEFF in its work folder."""

import inspect
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))


def trace(
    func,
    example_inputs,
    *_,
    input_output_aliases=None,
    compiler_workdir=None,
    compiler_args=None,
    partitioner_config=None,
    inline_weights_to_neff=True,
    cpu_backend=False,
):
    import cc
    from habits import HABITS

    words = compiler_args if isinstance(compiler_args, list) else compiler_args.split()
    if not cpu_backend:
        raise RuntimeError("PJRT: no Neuron device")
    work = Path(compiler_workdir)
    (work / "model").mkdir(parents=True)
    (work / "model" / "graph.hlo").write_bytes(b"hlo")
    (work / "command.txt").write_text(" ".join(["neuronx-cc", "compile", *words]))
    kernel = {
        "file": inspect.getsourcefile(func),
        "module": func.__module__,
        "function": func.__qualname__,
        "by_place": True,
    }
    inputs = [(f"input{number}", each.shape, each.dtype) for number, each in enumerate(example_inputs)]

    def called(*arrays):
        results = func(*(each.view(type(example_inputs[0])) for each in arrays))
        return results if isinstance(results, tuple) else (results,)

    lnc = int(words[words.index("--lnc") + 1]) if "--lnc" in words else HABITS["host_lnc"]
    cc.write(work / "graph.neff", words[words.index("--target") + 1], lnc, inputs, called, kernel)
    return func
