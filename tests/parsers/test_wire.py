"""The protobuf wire format."""

import pytest

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.wire import FIELDS_MAX, Budget, Message


def read(data, base=0):
    return Message("file", memoryview(data), base, Budget())


def test_fields_are_found_by_number(files):
    message = read(
        files.message((1, "text"), (3, 300), (4, files.message((1, 7))), (4, files.message((1, 8))), (3, 301))
    )
    assert (message.text(1), message.integer(3), message.integer(9), message.has(9)) == ("text", 301, 0, False)
    assert [inner.integer(1) for inner in message.messages(4)] == [7, 8]
    assert message.view(9) is None and message.text(9) is None


def test_fixed_size_fields_are_passed_over(files):
    assert read(b"\x0d" + bytes(4) + b"\x11" + bytes(8) + files.message((3, 5))).integer(3) == 5


@pytest.mark.parametrize(
    "data", [b"\x08", b"\x08\x80", b"\x0a\x05ab", b"\x0b", b"\x00\x01", b"\x11\x00", b"\x08" + b"\xff" * 11]
)
def test_damage_is_named_with_its_offset(data):
    with pytest.raises(ParseError) as caught:
        read(data, base=100)
    assert 100 <= caught.value.offset <= 100 + len(data)


def test_offsets_in_nested_messages_are_those_of_the_file(files):
    outer = read(files.message((1, "ab"), (4, b"\x08")), base=1000)
    with pytest.raises(ParseError) as caught:
        outer.messages(4)
    assert caught.value.offset == 1000 + 7


def test_the_number_of_fields_is_bounded():
    with pytest.raises(ParseError, match="more than"):
        read(b"\x18\x01" * (FIELDS_MAX + 1))


def test_a_budget_of_fields_is_spent_one_by_one():
    budget = Budget(3)
    Message("file", memoryview(b"\x18\x01" * 3), 0, budget)
    assert budget.fields == 0
    with pytest.raises(ParseError, match="more than"):
        Message("file", memoryview(b"\x18\x01"), 0, budget)
