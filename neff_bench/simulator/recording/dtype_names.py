"""Names of dtypes as the dialect spells them, to canonical strings. A dtype of `nl` is its canonical string."""

from __future__ import annotations

from typing import Any

from neff_bench.parsers.formats import packed
from neff_bench.simulator.numpy_dtypes import DTYPES, size_bytes
from neff_bench.simulator.recording.recorder import invalid

_KNOWN: dict[Any, str] = {name: name for name in DTYPES} | {dtype: name for name, dtype in packed.DTYPES.items()}
_KNOWN.update(
    {"float8e4": "float8_e4m3", "float8e5": "float8_e5m2", "bool": "uint8", "bool_": "uint8", "fp32": "float32"}
)


class Dtype(str):
    """A canonical name with what host code asks a numpy type."""

    __slots__ = ()

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return size_bytes(self)

    @property
    def name(self) -> str:
        """The canonical name."""
        return str(self)


def dtype_of(given: Any) -> str:
    """Return the canonical name of a string, numpy, ml_dtypes or torch dtype. Raises NkiValidationError for any other."""
    try:
        return _KNOWN[given]
    except (KeyError, TypeError):
        pass
    if isinstance(given, str):
        name = given
    else:
        name = getattr(given, "name", None) or getattr(given, "__name__", None) or str(given)
    name = name.removeprefix("torch.").removeprefix("nki.language.").removeprefix("nl.")
    found = _KNOWN.get(name)
    if found is None:
        raise invalid(f"unknown dtype {given!r}; known: {', '.join(DTYPES)}")
    _KNOWN[given] = found
    return found
