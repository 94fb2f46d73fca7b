"""`trace` with the signature of the AWS Neuron documentation, api-torch-neuronx-trace."""

from pathlib import Path

import fake_sdk


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
    assert cpu_backend, "without it the trace wants a device"
    result = func(*example_inputs)
    work = Path(compiler_workdir)
    (work / "model").mkdir(parents=True)
    (work / "model" / "graph.hlo").write_bytes(b"hlo")
    words = ["neuronx-cc", "compile", "model", "--framework", "XLA", "--output", "graph.neff", *compiler_args]
    (work / "command.txt").write_text(" ".join(words))
    lnc = int(compiler_args[compiler_args.index("--lnc") + 1]) if "--lnc" in compiler_args else 1
    fake_sdk.record(compiler_args=list(compiler_args))
    fake_sdk.neff(
        work / "graph.neff",
        compiler_args[compiler_args.index("--target") + 1],
        lnc,
        [(f"input{index}", tensor.shape, tensor.dtype) for index, tensor in enumerate(example_inputs)],
        [("output0", result.shape, result.dtype)],
    )
