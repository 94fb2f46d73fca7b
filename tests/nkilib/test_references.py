"""The references of the drop-in's cases: small inputs, and what each kernel's documentation says of them."""

import numpy as np
import pytest

from neff_bench.installation import PACKAGE
from neff_bench.nkilib import references
from neff_bench.nkilib.inputs import tokens_of_blocks
from neff_bench.stage1_generate.shapes.read import read_shapes


def test_every_case_of_the_drop_in_has_a_reference():
    cases = read_shapes(PACKAGE / "nkilib" / "template" / "shapes.yaml")
    assert [case.kernel for case in cases if case.own is not None and not case.own.reference] == []


def test_rope_turns_a_quarter_where_the_cosine_is_zero():
    x = np.array([[[[1.0, 2.0, 3.0, 4.0]]]])
    zero, one = np.zeros((1, 1, 4)), np.ones((1, 1, 4))
    queries, keys = references.rope_hf(q=x, k=2 * x, cos=zero, sin=one, q_out=x, k_out=x)
    assert queries.tolist() == [[[[-3, -4, 1, 2]]]] and keys.tolist() == [[[[-6, -8, 2, 4]]]]


def test_indices_that_are_not_zero_come_first_and_their_count_is_told():
    indices, counts = references.find_nonzero_indices(np.array([[0, 1], [5, 1], [0, 1]]))
    assert indices.tolist() == [[1, -1, -1], [0, 1, 2]] and counts.tolist() == [1, 3]
    assert references.find_nonzero_indices_with_count(np.array([[0, 7, 0, 7]])).tolist() == [[1, 3, -1, -1, 2]]


def test_each_channel_is_convolved_with_its_own_filter():
    image, filters = np.array([[[[1, 2, 3]], [[1, 2, 3]]]]), np.array([[[[1, 0]]], [[[1, 10]]]])
    assert references.depthwise_conv1d(image, filters).tolist() == [[[[1, 2]], [[21, 32]]]]


def test_the_gradient_of_a_loss_is_the_softmax_less_one_at_the_target():
    logits = np.log(np.array([[1.0, 3.0], [1.0, 1.0]]))
    gradient = references.cross_entropy_backward(logits, np.array([1, 0]), np.log(np.array([4.0, 2.0])))
    assert gradient.ravel().tolist() == pytest.approx([0.125, -0.125, -0.25, 0.25])


def test_a_token_gets_the_sum_of_its_experts():
    hidden, affinities = np.array([[1.0], [0.0]]), np.array([[0.5], [2.0], [0.0], [0.0]])
    weights = np.array([[[[1.0], [1.0]]], [[[1.0], [3.0]]]])
    made = references.moe_cte(hidden, affinities, weights, np.ones((2, 1, 1)), np.array([0, 0]), np.array([[0], [1]]))
    one = 1 / (1 + np.exp(-1))
    assert made.ravel().tolist() == pytest.approx([0.5 * one + 2 * 3 * one, 0])


def test_a_token_is_twice_in_all_blocks_and_once_in_one():
    tokens = tokens_of_blocks((2048,))
    assert np.bincount(tokens).tolist() == [2] * 1024
    assert all(len(set(block)) == 256 for block in np.split(tokens, 8))
