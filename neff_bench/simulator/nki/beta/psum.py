"""Follows PSUM tiles that products accumulate in: which elements something wrote already.

`nl.zeros` in PSUM costs no instruction as long as products fill it: the first one overwrites. Only when elements are
read that nothing wrote, a memset is put before the first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neff_bench.simulator.nki import isa
from neff_bench.simulator.recording import views
from neff_bench.simulator.recording.recorder import recorder
from neff_bench.simulator.recording.tensor import NkiTensor

if TYPE_CHECKING:
    import numpy as np


class _Written:
    """`parts`: places that were written; `mask`: the elements, made when places differ.

    `zero`: what nothing writes reads as zero. `others`: something else than an accumulating product wrote.
    `asked`: the kernel itself put the tile in PSUM.
    """

    __slots__ = ("all", "asked", "mask", "others", "parts", "zero")

    def __init__(self) -> None:
        self.asked = False
        self.zero = False
        self.others = False
        self.all = False
        self.parts: set[tuple[Any, ...]] = set()
        self.mask: np.ndarray | None = None


def asked(view: NkiTensor) -> None:
    """Note that the kernel put this new tile in PSUM itself."""
    _state(view).asked = True


def was_asked(view: NkiTensor) -> bool:
    """Return whether the kernel put this tile in PSUM."""
    known = recorder().dialect.get(("psum", view.storage.index))
    return known is not None and known.asked


def zeroed(view: NkiTensor) -> None:
    """Let what nothing writes of a new tile read as zero."""
    _state(view).zero = True


def wrote(view: NkiTensor) -> None:
    """Note that an instruction overwrote `view`."""
    if view.storage.memory == "psum":
        known = _state(view)
        known.others = True
        _mark(known, view)


def accumulates(view: NkiTensor) -> bool | None:
    """Return the flag of a product into `view`: add, overwrite, or (None) add where something was written."""
    known = _state(view)
    key = _key(view)
    if known.all or key in known.parts:
        return True
    before = _covered(known, view)
    if before is None and known.zero and known.others:  # the PE adds to what it wrote itself only
        _zero(view)
        known.all = before = True
    _mark(known, view)
    return before


def settle(view: NkiTensor) -> None:
    """Zero the elements of `view` that must be zero and that nothing wrote, before it is read."""
    known = recorder().dialect.get(("psum", view.storage.index))
    if known is None or not known.zero or known.all or _key(view) in known.parts:
        return
    if _covered(known, view) is not True:
        _zero(view)
        known.all = True


def _zero(view: NkiTensor) -> None:
    """Put a memset of the whole tile before the first instruction that touches it."""
    now, storage = recorder(), view.storage
    first = next(
        (
            at
            for at, step in enumerate(now.written())
            if any(to.buffer == storage.index for to in (*step.writes.values(), *step.reads.values()))
        ),
        len(now.written()),
    )
    whole = NkiTensor(storage, 0, storage.shape, views.row_major(storage.shape), storage.dtype)
    isa.memset(whole, 0.0)
    now.written().insert(first, now.written().pop())


def _state(view: NkiTensor) -> _Written:
    found: _Written = recorder().dialect.setdefault(("psum", view.storage.index), _Written())
    return found


def _key(view: NkiTensor) -> tuple[Any, ...]:
    return view.offset, view.shape, view.strides


def _mark(known: _Written, view: NkiTensor) -> None:
    if known.all or _key(view) in known.parts:
        return
    known.parts.add(_key(view))
    if view.size == view.storage.size:
        known.all = True
    elif known.mask is not None or len(known.parts) > 1:
        _mask(known, view)


def _mask(known: _Written, view: NkiTensor) -> None:
    import numpy as np

    if known.mask is None:
        known.mask = np.zeros(view.storage.size, dtype=bool)
        for offset, shape, strides in known.parts:
            _elements(known.mask, offset, shape, strides)[...] = True
    _elements(known.mask, *_key(view))[...] = True
    known.all = bool(known.mask.all())


def _covered(known: _Written, view: NkiTensor) -> bool | None:
    """Return whether all (True), none (False) or some (None) of the elements were written."""
    if known.mask is None:
        if not known.parts:
            return False
        import numpy as np

        known.mask = np.zeros(view.storage.size, dtype=bool)
        for offset, shape, strides in known.parts:
            _elements(known.mask, offset, shape, strides)[...] = True
    part = _elements(known.mask, *_key(view))
    return True if part.all() else None if part.any() else False


def _elements(mask: np.ndarray, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    from numpy.lib.stride_tricks import as_strided

    return as_strided(mask[offset:], shape, strides)
