"""Reads the protobuf wire format, as much of it as a message without a published schema needs (protobuf.dev, encoding)."""

from __future__ import annotations

from neff_bench.parsers.errors import ParseError

FIELDS_MAX = 100_000
"""The most fields of one file, nested messages included: a trace has a few thousand; more would only burn time."""
VARINT, FIXED64, BYTES = 0, 1, 2
"""Kinds of a field's value."""


class Budget:
    """Holds how many fields may still be read from one file."""

    def __init__(self, fields: int = FIELDS_MAX) -> None:
        self.fields = fields


class Message:
    """One message, decoded to its fields by number; nested ones are decoded when asked for.

    `base`: offset of the message in the file `name`, for errors. Raises ParseError for bytes that are no message.
    """

    def __init__(self, name: str, view: memoryview, base: int, budget: Budget) -> None:
        self._name, self._base, self._budget = name, base, budget
        self._integers: dict[int, list[int]] = {}
        self._views: dict[int, list[tuple[int, memoryview]]] = {}
        at, end = 0, len(view)
        while at < end:
            start = at
            key, at = self._varint(view, at)
            number, kind = key >> 3, key & 7
            if kind == 0:
                value, at = self._varint(view, at)
                self._integers.setdefault(number, []).append(value)
            elif kind == 2:
                length, at = self._varint(view, at)
                self._views.setdefault(number, []).append((at, view[at : at + length]))
                at += length
            elif kind in (1, 5):
                at += 8 if kind == 1 else 4
            else:
                raise ParseError(name, base + start, f"field {number} has wire type {kind}: the metadata is damaged")
            if at > end or number == 0:
                raise ParseError(
                    name, base + start, f"field {number} runs past the end of its message: the metadata is damaged"
                )
            budget.fields -= 1
            if budget.fields < 0:
                raise ParseError(name, base + start, f"more than {FIELDS_MAX} metadata fields")

    def _varint(self, view: memoryview, at: int) -> tuple[int, int]:
        value = 0
        for shift in range(0, 70, 7):
            if at + shift // 7 >= len(view):
                break
            byte = view[at + shift // 7]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF, at + shift // 7 + 1
        raise ParseError(self._name, self._base + at, "a number without an end: the metadata is damaged")

    def integer(self, number: int, default: int = 0) -> int:
        """Return the last value, as protobuf reads a repeated scalar; absent means zero there."""
        return self._integers.get(number, [default])[-1]

    def has(self, number: int) -> bool:
        """Return whether the field occurs."""
        return number in self._integers or number in self._views

    def view(self, number: int) -> memoryview | None:
        """Return the bytes of the field's last occurrence, None when there is none."""
        found = self._views.get(number)
        return found[-1][1] if found else None

    def text(self, number: int) -> str | None:
        """Return the field as text, None when there is none."""
        found = self.view(number)
        return None if found is None else bytes(found[:65536]).decode("utf-8", "backslashreplace")

    def texts(self, number: int) -> list[str]:
        """Return every occurrence of the field as text."""
        return [bytes(view[:65536]).decode("utf-8", "backslashreplace") for _, view in self._views.get(number, ())]

    def packed(self, number: int) -> list[int]:
        """Return the varints of a repeated field, packed or one by one."""
        found = list(self._integers.get(number, ()))
        for _, view in self._views.get(number, ()):
            at = 0
            while at < len(view):
                value, at = self._varint(view, at)
                found.append(value)
        return found

    def messages(self, number: int) -> list[Message]:
        """Return every occurrence of the field as a message."""
        return [Message(self._name, view, self._base + at, self._budget) for at, view in self._views.get(number, [])]


def encode_varint(value: int) -> bytes:
    """Return a number that is not negative."""
    if value <= 0x7F:
        return value.to_bytes(1, "little")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_tag(number: int, kind: int) -> bytes:
    """Return what begins a field: its number, and the kind of its value."""
    return encode_varint(number << 3 | kind)


def encode_field(number: int, value: int | bytes) -> bytes:
    """Return a field with a number, or with the bytes of a text or a message."""
    if isinstance(value, int):
        return encode_tag(number, VARINT) + encode_varint(value)
    return encode_tag(number, BYTES) + encode_varint(len(value)) + value


def encode_message(*fields: tuple[int, int | bytes]) -> bytes:
    """Return the fields of a message end to end."""
    return b"".join(encode_field(number, value) for number, value in fields)
