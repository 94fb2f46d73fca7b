"""Provides `nki.typing`: names for annotations, which say something to the reader and nothing to the recorder, and for arguments.

A kernel that is called on `nt.tensor[[250, 512], nl.float32]` gets an array of that shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


class Annotation:
    """`nt.tensor`, `nt.tensor[128, 512]`, `nt.tensor[[128, 512], nl.float32]`. `of`: shape and dtype of the last form."""

    def __init__(self, shape: tuple[int, ...] | None = None, dtype: Any = None) -> None:
        self.of = shape, dtype

    def __getitem__(self, of: Any) -> Annotation:
        if isinstance(of, tuple) and len(of) == 2 and isinstance(of[0], (list, tuple)):
            return Annotation(tuple(of[0]), of[1])
        return self

    def __call__(self, *_: Any, **__: Any) -> Annotation:
        """Accept the annotation of a kernel's argument, which is only read."""
        return self

    def __or__(self, other: Any) -> Annotation:
        return self

    __ror__ = __or__

    def array(self) -> np.ndarray | None:
        """Return seeded normal values of the shape and dtype, None where it has none. Which values AWS takes is not documented."""
        import numpy as np

        from neff_bench.neffs.dtypes import value_shape
        from neff_bench.parsers.formats import packed
        from neff_bench.simulator.numpy_dtypes import PACKED, canonical, dtype_name, from_float32

        shape, dtype = self.of
        if shape is None:
            return None
        name = canonical(dtype) if isinstance(dtype, str) else dtype_name(dtype)
        values = np.random.default_rng(0).standard_normal(value_shape(shape, name), np.float32)
        return packed.packed(values, name) if name in PACKED else from_float32(values, name)


tensor = Annotation()
mutable = Annotation()
mutable_tensor = Annotation()
scalar = Annotation()


def __getattr__(name: str) -> object:
    from neff_bench.simulator.nki.names import missing

    raise AttributeError(name) if name.startswith("__") else missing("nki.typing", name)
