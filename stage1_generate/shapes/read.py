"""Reads shapes.yaml into cases.

    defaults: {target: trn2, lnc: 2, dtype: bfloat16, seed: 42}
    cases:
      - {kernel: matmul, implementation: [nki, xla], M: [128, 256], K: 512:2048:512, N: 1024}
      - {preset: boundary, implementation: nki}

A list stands for each of its values, a range `start:stop:step` for its numbers, the stop included; an entry stands for the
product of them all. A preset (`neff_bench.stage1_generate.shapes.presets`) stands for its kernel and dimensions. The file is read as a tree of nodes, not as values, so that every message can name its line, and
so that `1:20:5` stays text (YAML 1.1 reads it as a number in base 60).
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neff_bench.chips import CHIPS, first_of_generation
from neff_bench.chips.dtypes import LONG
from neff_bench.neffs.case import DEFAULT_SEED, IMPLEMENTATIONS, Case
from neff_bench.neffs.errors import CaseError
from neff_bench.neffs.intake import default_lnc, variant_of
from neff_bench.neffs.own import OwnKernel
from neff_bench.stage1_generate import kernels
from neff_bench.stage1_generate.errors import ShapesError
from neff_bench.stage1_generate.kernel import Dims, Kernel
from neff_bench.stage1_generate.shapes.nodes import is_kind as _is
from neff_bench.stage1_generate.shapes.nodes import mapping
from neff_bench.stage1_generate.shapes.nodes import shown as _shown
from neff_bench.stage1_generate.shapes.own import FORMS, OwnEntry, is_own, own_entry

if TYPE_CHECKING:
    import yaml

MAX_CASES = 100_000
MAX_BYTES = 16 << 20
MAX_SIZE = 2**31 - 1
MAX_DEPTH = 32
MAX_NODES = 250_000
"""The most nodes of a file, an alias counted as one; a list or a range says more cases in fewer nodes."""
_COMMON = ("kernel", "implementation", "dtype", "target", "lnc", "ranks", "seed", "flags")
_DEFAULTS = _COMMON[1:]
_NUMBER = re.compile(r"[+-]?[0-9][0-9_]*")
_RANGE = "a positive whole number, a list of them, or a range start:stop:step"


def read_shapes(path: Path, overrides: Mapping[str, Any] | None = None, draws: bool = True) -> list[Case]:
    """Return the cases of a shapes file, each once, in its order. `overrides`: values of `target` and `lnc` above the file's. `draws`: their inputs
    will be drawn. Raises `ShapesError`."""
    reader = _Reader(str(path), dict(overrides or {}), path.parent, draws)
    return reader.cases(reader.load(path))


def read_preset(name: str, overrides: Mapping[str, Any] | None = None) -> list[Case]:
    """Return the cases of a preset, from our own NKI and XLA kernels. Raises `ShapesError`."""
    reader = _Reader("--preset", dict(overrides or {}))
    return reader.cases(reader.compose(f"cases: [{{preset: {name!r}, implementation: [nki, xla]}}]"))


class _Reader:
    """One pass over one file; keeps the file's name for the messages."""

    def __init__(self, file: str, overrides: dict[str, Any], folder: Path = Path(), draws: bool = True) -> None:
        self.file, self.folder, self.draws = file, folder, draws
        self.overrides = overrides

    def cases(self, root: yaml.Node) -> list[Case]:
        """Return the cases below the root node of a file."""
        top = self._mapping(root, "the file", ("defaults", "cases"))
        if "cases" not in top:
            raise self._error(root, "found no `cases`, allowed: a list of cases under `cases:`")
        defaults = self._mapping(top["defaults"], "defaults", _DEFAULTS) if "defaults" in top else {}
        entries = top["cases"]
        if not _is(entries, "Sequence") or not entries.value:
            raise self._error(entries, f"cases: found {_shown(entries)}, allowed: a list with at least one case")
        found: dict[str, Case] = {}
        expanded = 0  # equal cases count too: each is worked out before it is seen to be one that is there
        for entry in entries.value:
            for case in self._expand_entry(entry, defaults):
                if found.setdefault(case.name, case) != case:
                    raise self._error(
                        entry,
                        f"found a second, different kernel under the name {case.name}, allowed: `name:` to tell it apart",
                    )
                expanded += 1
                if expanded > MAX_CASES:
                    raise self._error(entry, f"found more than {MAX_CASES} cases, allowed: at most {MAX_CASES}")
        return list(found.values())

    def _expand_entry(self, entry: yaml.Node, defaults: Mapping[str, yaml.Node]) -> Iterator[Case]:
        if not _is(entry, "Mapping"):
            raise self._error(entry, f"case: found {_shown(entry)}, allowed: a mapping like {{kernel: matmul, M: 128}}")
        preset = next((value for key, value in entry.value if key.value == "preset"), None)
        if preset is None:
            yield from self._expand(entry, defaults)
            return
        import yaml

        from neff_bench.stage1_generate.shapes import presets

        if not _is(preset, "Scalar") or preset.value not in presets.NAMES:
            raise self._error(preset, f"preset: found {_shown(preset)}, allowed: {', '.join(presets.NAMES)}")
        allowed = ("preset", *_DEFAULTS)
        self._mapping(entry, "preset", allowed)
        own = [(key, value) for key, value in entry.value if key.value != "preset"]
        for values in presets.preset(preset.value):
            pairs = [
                tuple(yaml.ScalarNode("", str(part), entry.start_mark) for part in pair) for pair in values.items()
            ]
            yield from self._expand(yaml.MappingNode("", [*pairs, *own], entry.start_mark), defaults)

    def _expand(self, entry: yaml.Node, defaults: Mapping[str, yaml.Node]) -> Iterator[Case]:
        name = next((value for key, value in entry.value if key.value == "kernel"), None)
        if name is None:
            raise self._error(entry, f"kernel: found nothing, allowed: {', '.join(kernels.names())}, {FORMS}")
        own = self._own(name, entry)
        kernel = own.kernel if own else kernels.load(name.value)
        further = own.keys if own else ()
        nodes = {**defaults, **self._mapping(entry, kernel.name, (*_COMMON, *further, *kernel.dims))}

        missing = [dim for dim in kernel.dims if dim not in nodes and dim not in kernel.defaults]
        if missing:
            raise self._error(entry, f"{missing[0]}: found nothing, allowed for {kernel.name}: {_RANGE}")
        axes: dict[str, list[Any]] = {
            dim: self._numbers(nodes.get(dim), dim, kernel.defaults.get(dim), lowest=int(dim not in kernel.may_be_zero))
            for dim in kernel.dims
        }
        axes["implementation"] = self._words(nodes, entry, "implementation", tuple(kernel.implementations), None)
        fixed = own.dtypes if own else None
        axes["dtype"] = list(fixed or self._words(nodes, entry, "dtype", kernel.dtypes, "bfloat16", LONG))
        axes["target"] = self._overridden("target") or self._words(
            nodes, entry, "target", tuple(CHIPS), _default_target()
        )
        axes["lnc"] = self._overridden("lnc") or self._numbers(nodes.get("lnc"), "lnc", default=None)
        axes["seed"] = self._numbers(nodes.get("seed"), "seed", default=DEFAULT_SEED, lowest=0)
        axes["ranks"] = self._numbers(nodes.get("ranks"), "ranks", default=1)
        flags = self._flags(nodes.get("flags"))
        for values in islice(product(*axes.values()), MAX_CASES + 1):
            yield self._case(own or kernel, dict(zip(axes, values)), flags, nodes, entry)

    def _own(self, name: yaml.Node, entry: yaml.Node) -> OwnEntry | None:
        """Return the user's own kernel that an entry names, None for a built-in one."""
        if _is(name, "Scalar") and is_own(name.value):
            return own_entry(entry, self.folder, _COMMON, self._error, self.draws)
        if not _is(name, "Scalar") or name.value not in kernels.names():
            raise self._error(name, f"kernel: found {_shown(name)}, allowed: {', '.join(kernels.names())}, {FORMS}")
        return None

    def _case(
        self,
        what: Kernel | OwnEntry,
        chosen: dict[str, Any],
        flags: tuple[str, ...],
        nodes: Mapping[str, Any],
        entry: yaml.Node,
    ) -> Case:
        kernel = what.kernel if isinstance(what, OwnEntry) else what
        dims = tuple((dim, chosen[dim]) for dim in kernel.dims)
        wrong = kernel.check_dims(Dims(**dict(dims)))
        if wrong is not None:
            raise self._error(entry, wrong)
        target, dtype = chosen["target"], chosen["dtype"]
        if dtype.startswith("float8") and not CHIPS[target].float8:
            raise self._error(
                nodes.get("dtype", entry),
                f"dtype: found {dtype} with target {target}, allowed with {', '.join(chip.name for chip in CHIPS.values() if chip.float8)}",
            )
        lnc = chosen["lnc"] if chosen["lnc"] is not None else default_lnc(target)
        ranks = chosen["ranks"]
        own = what.describe({**dict(dims), "ranks": ranks}, dtype) if isinstance(what, OwnEntry) else None
        variant = ""
        if isinstance(own, OwnKernel) and not dims:
            variant = variant_of(tensor.shape for tensor in own.inputs)
        try:
            return Case(
                kernel.name,
                chosen["implementation"],
                dims,
                dtype,
                target,
                lnc,
                flags,
                chosen["seed"],
                own,
                ranks,
                variant,
            )
        except CaseError as error:
            raise self._error(nodes.get("ranks" if ranks > 1 else "lnc", entry), str(error)) from None

    def _numbers(self, node: yaml.Node | None, key: str, default: Any, lowest: int = 1) -> list[Any]:
        if node is None:
            return [default]
        numbers: list[Any] = []
        for item in self._items(node, key, _RANGE):
            numbers += self._range(item, key, lowest)
            if len(numbers) > MAX_CASES:
                raise self._error(item, f"{key}: found more than {MAX_CASES} values, allowed: at most {MAX_CASES}")
        return numbers

    def _range(self, node: Any, key: str, lowest: int) -> list[int]:
        parts = node.value.split(":") if _is(node, "Scalar") else []
        ranged = len(parts) == 3
        whole = (ranged or (len(parts) == 1 and not node.style)) and all(_NUMBER.fullmatch(part) for part in parts)
        if not whole:
            raise self._error(node, f"{key}: found {_shown(node)}, allowed: {_RANGE}")
        numbers = [int(part) for part in parts]
        if min(numbers) < lowest or max(numbers) > MAX_SIZE:
            raise self._error(node, f"{key}: found {node.value}, allowed: {_RANGE}, from {lowest} to {MAX_SIZE}")
        if not ranged:
            return numbers
        start, stop, step = numbers
        if stop < start or step < 1:
            raise self._error(
                node, f"{key}: found {node.value}, allowed: start:stop:step with start <= stop, step >= 1"
            )
        if (stop - start) // step >= MAX_CASES:
            raise self._error(
                node, f"{key}: found a range of more than {MAX_CASES} values, allowed: at most {MAX_CASES}"
            )
        return list(range(start, stop + 1, step))

    def _words(
        self,
        nodes: Mapping[str, yaml.Node],
        entry: yaml.Node,
        key: str,
        allowed: tuple[str, ...],
        default: str | None,
        synonyms: Mapping[str, str] = {},
    ) -> list[str]:
        node = nodes.get(key)
        options = ", ".join(allowed)
        if node is None:
            if default is None:
                raise self._error(entry, f"{key}: found nothing, allowed: {options}")
            return [default]
        items = self._items(node, key, options)
        for item in items:
            if not _is(item, "Scalar") or synonyms.get(item.value, item.value) not in allowed:
                hint = " for this kernel" if item.value in IMPLEMENTATIONS else ""
                raise self._error(item, f"{key}: found {_shown(item)}, allowed{hint}: {options}")
        return [synonyms.get(item.value, item.value) for item in items]

    def _flags(self, node: yaml.Node | None) -> tuple[str, ...]:
        if node is None:
            return ()
        items = self._items(node, "flags", "compiler flags")
        if not all(_is(item, "Scalar") for item in items):
            raise self._error(node, f"flags: found {_shown(node)}, allowed: a text or a list of texts")
        try:
            return tuple(word for item in items for word in shlex.split(item.value))
        except ValueError as error:
            raise self._error(node, f"flags: found {_shown(node)}, allowed: compiler flags ({error})") from None

    def _items(self, node: yaml.Node, key: str, allowed: str) -> list[yaml.Node]:
        if _is(node, "Scalar"):
            return [node]
        if _is(node, "Sequence") and node.value:
            return list(node.value)
        raise self._error(node, f"{key}: found {_shown(node)}, allowed: {allowed}")

    def _overridden(self, key: str) -> list[Any] | None:
        return [self.overrides[key]] if self.overrides.get(key) is not None else None

    def _mapping(self, node: yaml.Node, where: str, allowed: tuple[str, ...]) -> dict[str, yaml.Node]:
        return mapping(node, where, allowed, self._error)

    def load(self, path: Path) -> yaml.Node:
        """Return the root node of the file."""
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise ShapesError(self.file, None, f"cannot read the shapes file: {error.strerror}") from None
        if len(data) > MAX_BYTES:
            raise ShapesError(self.file, None, f"larger than {MAX_BYTES >> 20} MiB, so this is no shapes file")
        try:
            return self.compose(data.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ShapesError(self.file, None, f"not text: byte {error.start} is not UTF-8") from None

    def compose(self, text: str) -> yaml.Node:
        """Return the root node of a text."""
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            self._check_size(text, loader)
            node = yaml.compose(text, Loader=loader)
        except yaml.reader.ReaderError as error:
            raise ShapesError(self.file, None, f"not YAML: {error.reason} at position {error.position}") from None
        except yaml.MarkedYAMLError as error:
            # A key without its colon is found a line later; the context is the line of the key.
            mark = error.context_mark if error.context == "while scanning a simple key" else error.problem_mark
            line = mark.line + 1 if mark else None
            if "nesting depth" in (error.problem or ""):  # libyaml has a limit of its own, and reads ahead
                raise self._too_deep(line) from None
            raise ShapesError(self.file, line, f"not YAML: {error.problem}") from None
        except yaml.YAMLError as error:
            raise ShapesError(self.file, None, f"not YAML: {' '.join(str(error).split())}") from None
        if node is None:
            raise ShapesError(self.file, None, "empty, allowed: `defaults:` and a list of cases under `cases:`")
        return node

    def _check_size(self, text: str, loader: Any) -> None:
        """Refuse deep nesting, which libyaml composes by recursion on the C stack, and what fills the memory."""
        import yaml

        depth = nodes = 0
        for event in yaml.parse(text, Loader=loader):
            nodes += isinstance(event, yaml.NodeEvent)
            if nodes > MAX_NODES:
                line = event.start_mark.line + 1 if event.start_mark else None
                what = f"found more than {MAX_NODES} values, allowed: at most {MAX_NODES}; use lists and ranges"
                raise ShapesError(self.file, line, what)
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    line = event.start_mark.line + 1 if event.start_mark else None
                    raise self._too_deep(line)
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1

    def _too_deep(self, line: int | None) -> ShapesError:
        return ShapesError(self.file, line, f"nested more than {MAX_DEPTH} deep, so this is no shapes file")

    def _error(self, node: yaml.Node, what: str) -> ShapesError:
        return ShapesError(self.file, node.start_mark.line + 1, what)


def _default_target() -> str:
    """Return the chip that NKI itself would take from the environment, else trn2."""
    named = os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE", "").lower()
    target = first_of_generation(named)
    return target if target in CHIPS else "trn2"
