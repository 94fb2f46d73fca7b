"""Columns of messages, beside the same messages one by one."""

import numpy as np

from neff_bench.parsers.wire import BYTES, FIXED64, VARINT, encode_field, encode_message, encode_tag, encode_varint
from neff_bench.parsers.wire_columns import fixed64, joined, messages, varints

NUMBERS = [0, 1, 127, 128, 300, 16383, 16384, 1 << 32, (1 << 63) - 1]


def test_numbers_are_as_one_by_one():
    assert varints(np.array(NUMBERS)).each() == [*map(encode_varint, NUMBERS)]


def test_messages_are_as_one_by_one():
    numbers = varints(np.array(NUMBERS))
    found = messages(4, encode_tag(1, VARINT), numbers, b"\x12\x01x", numbers).each()
    expected = [encode_field(4, encode_message((1, one), (2, b"x")) + encode_varint(one)) for one in NUMBERS]
    assert found == expected


def test_a_long_message_has_a_long_length():
    text = bytes(300)
    assert messages(1, text, varints(np.array([5]))).each() == [
        encode_tag(1, BYTES) + encode_varint(301) + text + b"\5"
    ]


def test_what_is_not_there_takes_no_bytes():
    numbers = varints(np.array([1, 300])).where(np.array([True, False]))
    assert messages(1, numbers).each() == [encode_field(1, b"\1"), encode_field(1, b"")]


def test_eight_bytes_are_those_of_the_dtype():
    found = joined(encode_tag(2, FIXED64), fixed64(np.array([1.5, -2.0]))).each()
    assert found == [b"\x11" + np.float64(one).tobytes() for one in (1.5, -2.0)]


def test_no_message_is_no_bytes():
    assert messages(1, varints(np.zeros(0, np.int64))).each() == []
