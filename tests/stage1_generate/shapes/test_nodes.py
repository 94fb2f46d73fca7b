"""Nodes of a YAML file: how they are shown, and which value they have."""

import pytest
import yaml

from neff_bench.stage1_generate.shapes.nodes import is_kind, mapping, plain, shown


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7), ("-7", -7), ("+1_000", 1000), ("1.5", 1.5), ("1e-6", 1e-6), (".5", 0.5), ("2.", 2.0), ("-1E+3", -1000.0),
        ("true", True), ("False", False), ("NULL", None), ("~", None), ("''", ""), ("'7'", "7"), ('"true"', "true"), ("yes", "yes"),
        ("1:20", "1:20"), ("0x10", "0x10"), ("1e", "1e"), (".", "."), ("_1", "_1"), ("|\n  1", "1"), (">\n  1", "1"),
        ("[1, [a, null], {}]", [1, ["a", None], {}]), ("{a: 1, 2: {b: '3'}}", {"a": 1, "2": {"b": "3"}}), ("[a: ]", [{"a": None}]),
    ],
)  # fmt: skip
def test_a_value_is_what_json_has_it(text, value):
    found = plain(yaml.compose(text))
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a", "'a'"), ("'a'", "the text 'a'"), ('"a"', "the text 'a'"), ("|\n  a", "the text 'a'"), (">\n  a", "the text 'a'"),
        ("ä", "the text 'ä'"), ("[]", "an empty list"), ("[1]", "a list"), ("{}", "a mapping"),
        ("x" * 60, repr("x" * 60)), ("x" * 61, repr("x" * 57 + "...")),
    ],
)  # fmt: skip
def test_what_the_user_wrote_is_shown_in_few_words(text, words):
    assert shown(yaml.compose(text)) == words


def test_a_node_has_one_kind():
    kinds = ("Scalar", "Sequence", "Mapping")
    assert [[is_kind(yaml.compose(text), kind) for kind in kinds] for text in ("a", "[]", "{}")] == [
        [True, False, False], [False, True, False], [False, False, True]
    ]  # fmt: skip
    assert not is_kind(None, "Scalar")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[a]", "here: found a list, allowed: a mapping with a, b"), ("{c: 1}", "here: found key 'c', allowed: a, b"),
        ("{a: 1, a: 2}", "here: found key 'a' twice, allowed: once"), ("{? [a] : 1}", "here: found key a list, allowed: a, b"),
    ],
)  # fmt: skip
def test_a_mapping_has_known_keys_each_once(text, says):
    with pytest.raises(ValueError, match=rf"^{says}$".replace("[", r"\[")):
        mapping(yaml.compose(text), "here", ("a", "b"), lambda node, what: ValueError(what))


def test_a_mapping_is_its_nodes_by_key():
    found = mapping(yaml.compose("{b: 1, a: [2]}"), "here", ("a", "b"), lambda node, what: ValueError(what))
    assert {key: plain(node) for key, node in found.items()} == {"b": 1, "a": [2]}
