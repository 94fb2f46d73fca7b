"""Writes many messages of the protobuf wire format at once, a column for each of their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neff_bench.parsers.wire import BYTES, encode_tag

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Encoded(NamedTuple):
    """The bytes of each of n messages: those of `digits` (w, n) that are `used`. `length` (n,): how many these are."""

    digits: NDArray[np.uint8]
    used: NDArray[np.bool_]
    length: NDArray[np.int64]

    def each(self) -> list[bytes]:
        """Return each message."""
        digits, used = np.ascontiguousarray(self.digits.T), np.ascontiguousarray(self.used.T)
        whole, ends = digits[used].tobytes(), np.cumsum(self.length).tolist()
        return [whole[begin:end] for begin, end in zip([0, *ends], ends)]

    def where(self, there: Any) -> Encoded:
        """Return the messages that are there; the others are empty."""
        return Encoded(self.digits, self.used & there, self.length * there)


def varints(values: Any) -> Encoded:
    """Return numbers that are not negative."""
    digits_max = max(-(-int(values.max(initial=0)).bit_length() // 7), 1)
    groups = values >> np.arange(0, 7 * digits_max, 7)[:, None]
    used = groups > 0
    used[0] = True
    digits = groups.astype(np.uint8) & 0x7F
    digits[:-1] |= used[1:].view(np.uint8) << 7
    return Encoded(digits, used, used.sum(axis=0))


def fixed64(values: Any) -> Encoded:
    """Return numbers in eight bytes, each as its dtype has it."""
    digits = np.ascontiguousarray(values).view(np.uint8).reshape(-1, 8).T
    return Encoded(digits, np.ones(digits.shape, bool), np.full(len(values), 8))


def joined(*parts: bytes | Encoded) -> Encoded:
    """Return the parts of each message as one. What is `bytes` is the same in all of them."""
    count = next(len(part.length) for part in parts if isinstance(part, Encoded))
    columns = [part if isinstance(part, Encoded) else _same(part, count) for part in parts]
    digits, used, length = zip(*columns)
    return Encoded(np.concatenate(digits), np.concatenate(used), sum(length, np.zeros(count, np.int64)))


def _same(part: bytes, count: int) -> Encoded:
    digits = np.repeat(np.frombuffer(part, np.uint8), count).reshape(len(part), count)
    return Encoded(digits, np.ones(digits.shape, bool), np.full(count, len(part)))


def messages(number: int, *parts: bytes | Encoded) -> Encoded:
    """Return a field of this number whose value is a message of these parts."""
    inner = joined(*parts)
    return joined(encode_tag(number, BYTES), varints(inner.length), inner)
