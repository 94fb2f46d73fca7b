"""Random kernels with the same steps in numpy: dtypes, views, masks, empty slices, and scalars of every numpy type.

    python bench/random_kernels.py 500 folder [FIRST]
    generate-neffs --shapes folder/shapes.yaml --out folder/neffs && profile-neffs folder/neffs --format csv

Every case must be built, and its check must say passed. Kernel N is the same in every run: FIRST (by default 0) chooses others.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

WIDTH = 48
_SCALARS = ("np.float16", "np.float32", "np.float64", "np.longdouble", "ml_dtypes.bfloat16", "float")
_WHOLE = ("np.int8", "np.int16", "np.int32", "np.int64", "np.uint8", "np.uint64", "int")
_OPERATORS = ("add", "subtract", "multiply", "maximum", "minimum")
_HEAD = {
    "kernel": "import ml_dtypes\nimport nki\nimport nki.isa as nisa\nimport nki.language as nl\nimport numpy as np\n",
    "reference": (
        "import ml_dtypes\nimport numpy as np\n\n\ndef rounded(values, dtype):\n"
        '    return values.astype(ml_dtypes.bfloat16).astype("f4") if dtype == "bfloat16" else values.astype("f4")\n'
    ),
}


def scalar(draw: random.Random) -> str:
    """Return a number that each of the types holds exactly, in one of them."""
    if draw.random() < 0.4:
        return f"{draw.choice(_WHOLE)}({draw.randrange(4)})"
    return f"{draw.choice(_SCALARS)}({draw.choice((-1.5, -0.25, 0.5, 2.0))})"


def step(draw: random.Random, dtypes: dict[str, str]) -> tuple[list[str], list[str]]:
    """Lines of a kernel on the tiles `dtypes`, and lines of numpy that do the same to arrays of their names."""
    dst, first, second = (draw.choice(sorted(dtypes)) for _ in range(3))
    size = draw.randint(1, WIDTH)
    begins = [draw.randint(0, WIDTH - size) for _ in range(3)]
    whole = draw.choice(_WHOLE)
    to, one, two = (f"{tile}[:, {at}:{at + size}]" for tile, at in zip((dst, first, second), begins))
    seen = draw.choice((one, f"{first}[:, nl.ds({whole}({begins[1]}), {whole}({size}))]"))
    number, operator = scalar(draw), draw.choice(_OPERATORS)
    match draw.choice(("scalar", "tensor", "fill", "scale", "mask", "empty", "split")):
        case "scalar":
            told = f"nisa.tensor_scalar({to}, {seen}, nl.{operator}, {number})"
            result = f"np.{operator}({one}, np.float32({number}))"
        case "tensor":
            told = f"nisa.tensor_tensor({to}, {seen}, {two}, nl.{operator})"
            result = f"np.{operator}({one}, {two})"
        case "fill":
            told, result = f"nisa.memset({to}, {number})", f"np.full((128, {size}), {number}, np.float32)"
        case "scale":
            told = f"nisa.activation({to}, nl.copy, {seen}, scale={number})"
            result = f"{one} * np.float32({number})"
        case "mask":
            lines = [
                f"m = nl.ndarray((128, {size}), nl.uint8)",
                f"nisa.tensor_scalar(m, {seen}, nl.greater, {number})",
                f"nisa.tensor_copy_predicated({to}, {number}, m)",
            ]
            result = f"np.where({one} > np.float32({number}), np.float32({number}), {to})"
            return lines, [f"{to} = rounded({result}, {dtypes[dst]!r})"]
        case "empty":
            lines = [
                f"e = {first}[:, {begins[0]}:{whole}({begins[0]})]",
                "if e.shape[1]:",
                f"    nisa.memset({dst}, 9)",
            ]
            return lines, ["pass"]
        case _:
            parts = draw.choice((2, 3, 4, 6))
            at = draw.randrange(parts)
            view = f".reshape((128, {parts}, {WIDTH // parts}))[:, {at}, :]"
            lines = [f"nisa.tensor_scalar({dst}{view}, {first}{view}, nl.{operator}, {number})"]
            result = f"np.{operator}({first}{view}, np.float32({number}))"
            return lines, [f"{dst}{view} = rounded({result}, {dtypes[dst]!r})"]
    return [told], [f"{to} = rounded({result}, {dtypes[dst]!r})"]


def kernel(number: int) -> tuple[str, str, str]:
    """Return a kernel `k<number>`, its reference, and its case."""
    draw = random.Random(number)
    given = draw.choice(("float32", "bfloat16"))
    dtypes = {"a": given, "b": given, "c": draw.choice(("float32", "bfloat16"))}
    told = [
        "out = nl.ndarray(x.shape, nl.float32, buffer=nl.shared_hbm)",
        "a, b = nl.load(x), nl.load(y) if y else None",
        f"c = nl.full(x.shape, {scalar(draw)}, nl.{dtypes['c']})",
    ]
    done = ["a, b = np.array(x), np.array(y)", f"c = {told[-1].split('nl.full(x.shape, ')[1].rpartition(',')[0]}"]
    done[1] = f"c = np.full(x.shape, {done[1][4:]}, np.float32)"
    for _ in range(draw.randint(2, 9)):
        lines, same = step(draw, dtypes)
        told += lines
        done += same
    told += ["nl.store(out, nl.add(nl.add(a, b, dtype=nl.float32), c))", "return out"]
    done.append("return a + b + c")
    name = f"k{number}"
    body, reference = ("\n    ".join(lines) for lines in (told, done))
    case = f"  - {{kernel: 'kernels.py:{name}', implementation: nki, reference: 'references.py:{name}', inputs: {{" + (
        ", ".join(f"{tensor}: {{shape: [128, {WIDTH}], dtype: {given}}}" for tensor in "xy") + "}}\n"
    )
    return f"\n\n@nki.jit\ndef {name}(x, y):\n    {body}\n", f"\n\ndef {name}(x, y):\n    {reference}\n", case


def main() -> None:
    """Write the files of so many kernels into a folder."""
    count, folder, first = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if sys.argv[3:] else 0
    folder.mkdir(parents=True, exist_ok=True)
    kernels, references, cases = zip(*map(kernel, range(first, first + count)))
    (folder / "kernels.py").write_text(_HEAD["kernel"] + "".join(kernels))
    (folder / "references.py").write_text(_HEAD["reference"] + "".join(references))
    (folder / "shapes.yaml").write_text("defaults: {target: trn2, lnc: 1}\ncases:\n" + "".join(cases))


if __name__ == "__main__":
    main()
