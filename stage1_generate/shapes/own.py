"""Reads a case of the user's own kernel in a shapes file.

    - kernel: my_kernels.py:scale_rows      # relative to the shapes file; or package.module:function
      implementation: nki                   # or xla: a jax function; nkilib: a kernel of the checkout that --nkilib names
      M: [128, 256]                         # any dimension names
      N: 512
      inputs:
        x: {shape: [M, N], dtype: bfloat16}
        w: {shape: [N], dtype: float32, values: normal}
      arguments: {eps: 1.0e-6}
      reference: my_reference.py:scale_rows
      tolerance: {rtol: 1.0e-2, atol: 1.0e-2}
      flops: 2*M*N

`kernel: my_declaration.py` instead names a file with a `KERNEL` like those of `stage1_generate/kernels/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neff_bench.chips.dtypes import LONG, SIZE_BYTES
from neff_bench.errors import meant
from neff_bench.neffs.intake import kernel_name
from neff_bench.neffs.own import OwnKernel, Tensor
from neff_bench.stage1_generate import kernels
from neff_bench.stage1_generate.entries import defined, functions
from neff_bench.stage1_generate.errors import GenerateError
from neff_bench.stage1_generate.jobs.closure import Closures, search_path
from neff_bench.stage1_generate.kernel import Implementation, Kernel
from neff_bench.stage1_generate.own_kernel import declared
from neff_bench.stage1_generate.shapes import arithmetic
from neff_bench.stage1_generate.shapes.arithmetic import NotArithmetic
from neff_bench.stage1_generate.shapes.nodes import Error, is_kind, mapping, plain, shown

if TYPE_CHECKING:
    import yaml

NKILIB = "nkilib_src"
"""The package that a checkout of nki-library holds."""
KEYS = ("name", "inputs", "outputs", "arguments", "reference", "tolerance", "flops")
FORMS = "file.py:function, package.module:function or file.py with a KERNEL"
_VALUES = ("normal", "uniform", "constant", "integers")
_POWERS = "float8_e8m0fnu"
"""It has powers of two alone: no zero and no negative value."""
_DTYPES = tuple(name for name in SIZE_BYTES if name != "tfloat32")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SIZE_MAX = 2**31 - 1


@dataclass(frozen=True)
class OwnEntry:
    """Holds what an entry of a shapes file says of a kernel, before its dimensions are known.

    `keys`: further keys that the entry may have. `dtypes`: the element type of the kernel's data where the entry itself
    fixes it. `describe`: (dimensions and `ranks`, dtype) -> `Case.own`; raises `ShapesError`.
    """

    kernel: Kernel
    keys: tuple[str, ...]
    dtypes: tuple[str, ...] | None
    describe: Callable[[Mapping[str, int], str], OwnKernel | str]


def is_own(text: str) -> bool:
    """Return whether the value of `kernel:` names the user's own code."""
    return ":" in text or text.endswith(".py")


def own_entry(entry: yaml.Node, folder: Path, common: tuple[str, ...], error: Error, draws: bool) -> OwnEntry:
    """Read an entry. `folder`: of the shapes file; `common`: the keys that every case may have; `draws`: inputs will be drawn, so that what
    says how must be there. Raises `ShapesError`."""
    own = _Own(entry, folder, common, error, draws)
    name = own.nodes["kernel"]
    return _declaration(name, folder, error) if name.value.endswith(".py") else own.read()


def _declaration(name: yaml.ScalarNode, folder: Path, error: Error) -> OwnEntry:
    if not (folder / name.value).is_file():
        raise error(name, f"kernel: found {shown(name)}, but {folder / name.value} is no file, allowed: {FORMS}")
    try:
        kernel = declared(folder / name.value)
    except GenerateError as wrong:
        raise error(name, f"kernel: {wrong}") from None
    if kernel.name in kernels.names():
        raise error(name, f"kernel: the KERNEL in {name.value} has the name of a built-in one, {kernel.name!r}")
    return OwnEntry(kernel, (), None, lambda dims, dtype: str(name.value))


class _Own:
    """One entry; keeps what its messages need."""

    def __init__(self, entry: yaml.Node, folder: Path, common: tuple[str, ...], error: Error, draws: bool) -> None:
        self.entry, self.folder, self.error, self.draws = entry, folder, error, draws
        self.nodes: dict[str, Any] = {key.value: value for key, value in entry.value if is_kind(key, "Scalar")}
        self.dims = {key: node for key, node in self.nodes.items() if key not in (*common, *KEYS)}
        self.known = (*common, *KEYS)

    def read(self) -> OwnEntry:
        name = self.nodes["kernel"]
        self._check_entry(name, "kernel")
        if "reference" in self.nodes:
            self._check_entry(self.nodes["reference"], "reference")
        elif "tolerance" in self.nodes:
            raise self.error(self.nodes["tolerance"], "tolerance: found without `reference`, allowed: with it")
        if "inputs" not in self.nodes:
            found = next((key for key in self.dims if meant(key, ["inputs"])), "nothing")
            allowed = "inputs: {x: {shape: [M, N], dtype: bfloat16}}"
            raise self.error(self.dims.get(found, self.entry), f"inputs: found {found}, allowed: {allowed}")
        inputs = self._fields(self.nodes["inputs"], "inputs")
        for field, node in inputs.items():
            values: Any = _value_of(node, "values")
            if is_kind(values, "Scalar") and ":" in values.value:
                self._check_entry(values, f"inputs.{field}.values")
        self._check_dims()
        said = [self._dtype(node, f"inputs.{key}") for key, node in inputs.items()]
        fixed = None if None in said else tuple(str(dtype) for dtype in said if dtype)[:1]
        label = self._text(self.nodes["name"], "name", "a text") if "name" in self.nodes else kernel_name(name.value)
        kernel = Kernel(
            name=label,
            dims=tuple(self.dims),
            inputs=lambda d, dtype: (),
            outputs=None,
            reference=None,
            model_flops=lambda d: None,
            implementations={
                "nki": Implementation("nki", name.value),
                "xla": Implementation("xla", name.value),
                "nkilib": Implementation("nki", name.value, needs=("nkilib",)),
            },
            dtypes=_DTYPES,
        )
        return OwnEntry(kernel, (*KEYS, *self.dims), fixed, self._describe)

    def _describe(self, dims: Mapping[str, int], dtype: str) -> OwnKernel:
        nodes = self.nodes
        outputs = nodes.get("outputs")
        reference = nodes["reference"].value if "reference" in nodes else None
        return OwnKernel(
            entry=nodes["kernel"].value,
            inputs=self._tensors(nodes["inputs"], "inputs", dims, dtype),
            outputs=None if outputs is None else self._tensors(outputs, "outputs", dims, dtype),
            arguments=tuple(self._arguments(nodes.get("arguments"), dims)),
            reference=reference,
            tolerance=self._tolerance(nodes["tolerance"]) if "tolerance" in nodes else None,
            flops=self._whole(nodes["flops"], "flops", dims, 0, 2**200) if "flops" in nodes else None,
        )

    def _tensors(self, node: Any, key: str, dims: Mapping[str, int], dtype: str) -> tuple[Tensor, ...]:
        return tuple(self._tensor(name, said, key, dims, dtype) for name, said in self._fields(node, key).items())

    def _tensor(self, name: str, node: Any, key: str, dims: Mapping[str, int], dtype: str) -> Tensor:
        where = f"{key}.{name}"
        keys = ("shape", "dtype", "values", "scale") if key == "inputs" else ("shape", "dtype")
        said = mapping(node, where, keys, self.error)
        shape: Any = said.get("shape")
        if not is_kind(shape, "Sequence") or not shape.value:
            found = "nothing" if shape is None else shown(shape)
            raise self.error(shape or node, f"{where}: found {found} as shape, allowed: a list like [M, N]")
        sizes = tuple(self._whole(size, f"{where}.shape", dims, 1, _SIZE_MAX) for size in shape.value)
        own = self._dtype(node, where) or dtype
        if key == "outputs":
            return Tensor(name, sizes, own)
        whole = "int" in own
        allowed = _VALUES[2:] if whole else _VALUES[1:3] if own == _POWERS else _VALUES
        usual = "integers" if whole else "constant" if own == _POWERS else "normal"
        values = self._text(said["values"], f"{where}.values", ", ".join(_VALUES)) if "values" in said else usual
        if ":" in values:
            return Tensor(name, sizes, own, 1.0, values)
        if values not in allowed:
            raise self.error(
                said["values"], f"{where}.values: found {values!r}, allowed for {own}: {', '.join(allowed)}"
            )
        if values == "integers" and "scale" not in said and self.draws:
            raise self.error(
                node, f"{where}: found integers without `scale`, allowed: scale: N, drawn from 0 up to N - 1"
            )
        scale = float(self._number(said["scale"], f"{where}.scale", dims)) if "scale" in said else 1.0
        if values == "integers" and not 1 <= scale <= _SIZE_MAX:
            raise self.error(said["scale"], f"{where}.scale: found {scale:g}, allowed: from 1 to {_SIZE_MAX}")
        return Tensor(name, sizes, own, scale, values)

    def _dtype(self, node: Any, where: str) -> str | None:
        """Return the dtype that an input or output names; None for that of the case."""
        found: Any = _value_of(node, "dtype")
        if found is None:
            return None
        if not is_kind(found, "Scalar") or LONG.get(found.value, found.value) not in _DTYPES:
            raise self.error(found, f"{where}.dtype: found {shown(found)}, allowed: {', '.join(_DTYPES)}")
        return LONG.get(found.value, str(found.value))

    def _arguments(self, node: Any, dims: Mapping[str, int]) -> list[tuple[str, Any]]:
        if node is None:
            return []
        inputs = self._fields(self.nodes["inputs"], "inputs")
        found = []
        for name, value in self._fields(node, "arguments").items():
            if name in inputs:
                raise self.error(value, f"arguments.{name}: found an argument with the name of an input")
            expression = _arithmetic_in(value)
            found.append(
                (name, plain(value) if expression is None else self._number(expression, f"arguments.{name}", dims))
            )
        return found

    def _tolerance(self, node: Any) -> tuple[float, float]:
        said = mapping(node, "tolerance", ("rtol", "atol"), self.error)
        limits = {}
        for key in ("rtol", "atol"):
            value = plain(said[key]) if key in said else None
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < float("inf"):
                raise self.error(
                    said.get(key, node), f"tolerance: found no number as {key}, allowed: {{rtol: 1e-2, atol: 1e-2}}"
                )
            limits[key] = float(value)
        return limits["rtol"], limits["atol"]

    def _number(self, node: Any, where: str, dims: Mapping[str, int]) -> int | float:
        try:
            return arithmetic.evaluate(self._text(node, where), dims)
        except NotArithmetic as wrong:
            raise self.error(node, f"{where}: {wrong}") from None

    def _whole(self, node: Any, where: str, dims: Mapping[str, int], lowest: int, highest: int) -> int:
        try:
            value = arithmetic.whole(self._text(node, where), dims)
        except NotArithmetic as wrong:
            raise self.error(node, f"{where}: {wrong}") from None
        if not lowest <= value <= highest:
            raise self.error(node, f"{where}: {node.value!r} is {value}, allowed: from {lowest} to {highest}")
        return value

    def _text(self, node: Any, where: str, allowed: str = arithmetic.ALLOWED) -> str:
        if not is_kind(node, "Scalar"):
            raise self.error(node, f"{where}: found {shown(node)}, allowed: {allowed}")
        return str(node.value)

    def _fields(self, node: Any, key: str) -> dict[str, Any]:
        """Return names to nodes; every name is one of Python's."""
        if not is_kind(node, "Mapping"):
            raise self.error(
                node, f"{key}: found {shown(node)}, allowed: a mapping of names, in the order of the parameters"
            )
        found: dict[str, Any] = {}
        for name, value in node.value:
            if not is_kind(name, "Scalar") or not _NAME.fullmatch(name.value) or name.value in found:
                raise self.error(
                    name, f"{key}: found the name {shown(name)}, allowed: letters, digits and _, each name once"
                )
            found[name.value] = value
        return found

    def _check_entry(self, node: Any, key: str) -> None:
        """Check that the file or module is there and binds the name. Nothing is imported. What nki-library holds is seen when the case is
        built: its checkout is not known here."""
        file, _, function = node.value.rpartition(":") if is_kind(node, "Scalar") else ("", "", "")
        if not file or not all(part.isidentifier() for part in function.split(".")):
            raise self.error(node, f"{key}: found {shown(node)}, allowed: file.py:function or package.module:function")
        if file.startswith(f"{NKILIB}."):
            return
        if file.endswith(".py"):
            path: Path | None = self.folder / file
            if not (self.folder / file).is_file():
                raise self.error(node, f"{key}: found {shown(node)}, but {self.folder / file} is no file")
        else:
            module = Closures((self.folder.absolute(), *search_path())).find(file)
            if module is None:
                raise self.error(node, f"{key}: found no module {file} in {self.folder.absolute()} or on PYTHONPATH")
            path = module.file
        names = defined(path) if path is not None else None
        if path is not None and names is not None and function.partition(".")[0] not in names:
            allowed = ", ".join((functions(path) or names)[:20]) or "nothing, it defines no function"
            raise self.error(node, f"{key}: found no {function} in {file}, allowed: {allowed}")

    def _check_dims(self) -> None:
        """Check that each key that nobody knows is used as a dimension; else it is a slip of the pen."""
        used: set[str] = set()
        for text in _expressions(self.nodes):
            try:
                used |= arithmetic.names(text)
            except NotArithmetic:
                pass  # told with its line when it is computed
        for name, node in self.dims.items():
            if not _NAME.fullmatch(name) or name not in used:
                raise self.error(
                    node,
                    f"found key {name!r}, allowed: {', '.join(self.known)}, or a dimension that a shape or `flops` uses",
                )


def _value_of(node: Any, key: str) -> Any:
    """Return the node under a key of a mapping, None without it."""
    return next((value for name, value in node.value if name.value == key), None) if is_kind(node, "Mapping") else None


def _expressions(nodes: Mapping[str, Any]) -> list[str]:
    """Return every text of an entry that may be arithmetic."""
    found = [nodes["flops"]] if "flops" in nodes else []
    for key in ("inputs", "outputs"):
        for _, tensor in nodes[key].value if key in nodes else ():
            for name, value in tensor.value if is_kind(tensor, "Mapping") else ():
                found += value.value if name.value == "shape" and is_kind(value, "Sequence") else [value]
    arguments: Any = nodes.get("arguments")
    if is_kind(arguments, "Mapping"):
        found += [expression for _, value in arguments.value if (expression := _arithmetic_in(value)) is not None]
    return [node.value for node in found if is_kind(node, "Scalar")]


def _arithmetic_in(node: Any) -> Any:
    """Return the expression of `{arithmetic: M // 2}`, None for any other argument."""
    pairs = node.value if is_kind(node, "Mapping") else []
    return pairs[0][1] if len(pairs) == 1 and pairs[0][0].value == "arithmetic" else None
