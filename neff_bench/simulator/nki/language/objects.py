"""Provides `NKIObject`: the base of kernels' configuration classes, with the dialect's own rules for missing fields."""

from __future__ import annotations

import dataclasses
from typing import Any

from neff_bench.simulator.recording.recorder import invalid


class _Meta(type):
    """Makes a dataclass accept what the NKI compiler accepts.

    A field without a default that is not passed is None, and class attributes without annotation are fields too.
    """

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: Any) -> Any:
        cls = super().__new__(mcs, name, bases, namespace, **kwargs)
        # A class that dataclass(slots=True) makes again keeps what the first one said.
        cls._writes_init = namespace.get("_writes_init", "__init__" in namespace)  # type: ignore[attr-defined]
        return cls

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.__init__ is object.__init__:  # type: ignore[misc]
            return _filled(cls, args, kwargs)
        if "__dataclass_fields__" not in cls.__dict__ or cls._writes_init:  # type: ignore[attr-defined]
            return super().__call__(*args, **kwargs)
        fields = [field for field in dataclasses.fields(cls) if field.init]  # type: ignore[arg-type]
        names = {field.name for field in fields}
        extra = {key: kwargs.pop(key) for key in list(kwargs) if key not in names and hasattr(cls, key)}
        for field in fields[len(args) :]:
            required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            if required and field.name not in kwargs:
                kwargs[field.name] = None
        made = super().__call__(*args, **kwargs)
        for key, value in extra.items():
            object.__setattr__(made, key, value)
        return made


def _filled(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return an object of a class that says its fields and nothing else: as a dataclass would, and None for what is missing."""
    names: dict[str, Any] = {}
    for base in reversed(cls.__mro__[:-1]):
        said = vars(base)
        for name in (*said.get("__annotations__", {}), *said):
            if not name.startswith("_") and not callable(said.get(name)):
                names[name] = said.get(name, names.get(name))
    unknown = [name for name in kwargs if name not in names]
    if unknown or len(args) > len(names):
        raise invalid(
            f"{cls.__name__} has the fields {', '.join(names) or 'none'}, not {', '.join(unknown) or len(args)}"
        )
    made: Any = object.__new__(cls)
    for name, value in {**names, **dict(zip(names, args)), **kwargs}.items():
        object.__setattr__(made, name, value)
    getattr(made, "__post_init__", lambda: None)()
    return made


class NKIObject(metaclass=_Meta):
    """The base class of kernels' configuration objects."""
