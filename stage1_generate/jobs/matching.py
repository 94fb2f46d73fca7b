"""Says which tensor of a NEFF is which of the kernel's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from neff_bench.neffs.agreement import same_type
from neff_bench.neffs.bundle import is_safe_tensor_name
from neff_bench.parsers.formats.neff import plain_name
from neff_bench.stage1_generate.errors import BuildError

if TYPE_CHECKING:
    from neff_bench.parsers.neff import TensorInfo
    from neff_bench.stage1_generate.kernel import Tensor


def match(
    kind: str, asked: Sequence[Tensor], found: Sequence[TensorInfo], said: Sequence[str] | None = None
) -> tuple[dict[str, str], str | None]:
    """Return for each asked name the one in the NEFF, in NEFF order, and what must be said of it. `said`: the names that the compiler says it gave
    to the tensors that were asked for.

    Tensors that neither a name nor the compiler tells apart are paired by size and type. Raises `BuildError` where that leaves
    several ways, or none.
    """
    if len(asked) != len(found):
        raise BuildError(f"the NEFF has {len(found)} {kind}s, the kernel {len(asked)}")
    for tensor in found:
        if not is_safe_tensor_name(tensor.name) or "/" in tensor.name:
            raise BuildError(f"{kind} {tensor.name!r} has a name that is unsafe as a file name or on a command line")
    there = {plain_name(tensor.name): tensor.name for tensor in found}
    if len(there) != len(found):
        raise BuildError(f"the NEFF has two {kind}s of one name: {', '.join(tensor.name for tensor in found)}")
    wanted = [plain_name(name) for name in said] if said is not None else [tensor.name for tensor in asked]
    pairs = {tensor.name: there[name] for tensor, name in zip(asked, wanted) if name in there}
    others = [tensor for tensor in asked if tensor.name not in pairs]
    left = [tensor for tensor in found if tensor.name not in pairs.values()]
    guessed = _by_size(kind, others, left)
    order = [tensor.name for tensor in found]
    matched = dict(sorted((pairs | guessed).items(), key=lambda pair: order.index(pair[1])))
    how = ", ".join(f"{theirs} is {mine}" for mine, theirs in guessed.items())
    note = f"the NEFF's {kind}s have other names than the kernel's and were paired by size and type: {how}"
    return matched, note if guessed else None


def _by_size(kind: str, asked: Sequence[Tensor], found: Sequence[TensorInfo]) -> dict[str, str]:
    """Return the only way to pair what is left. Raises `BuildError`."""
    fitting = {mine.name: [theirs.name for theirs in found if _fits(mine, theirs)] for mine in asked}
    chosen = [names[0] for names in fitting.values() if len(names) == 1]
    if len(chosen) == len(asked) == len(set(chosen)):
        return dict(zip(fitting, chosen))
    if len(asked) == 1:
        mine, theirs = asked[0], found[0]
        raise BuildError(
            f"{kind} {theirs.name} has {theirs.bytes} bytes of {theirs.dtype} in the NEFF, "
            f"{mine.bytes} of {mine.dtype} by the kernel's declaration of {mine.name}"
        )
    raise BuildError(
        f"the NEFF calls its {kind}s {', '.join(tensor.name for tensor in found)}, the kernel {', '.join(fitting)}, and sizes "
        f"and types do not tell which is which; declare them under the names of the NEFF"
    )


def _fits(mine: Tensor, theirs: TensorInfo) -> bool:
    return theirs.bytes in (None, mine.bytes) and same_type(mine.dtype, theirs.dtype)
