"""Instructions of a program that become one, and the order of what is left."""

from hypothesis import given
from hypothesis import strategies as st

from neff_bench.simulator.compiler.passes.contraction import Contraction


def test_independent_instructions_become_one_that_waits_for_all_that_they_waited_for():
    # 0 -> 2, 1 -> 3, and 4 waits for both.
    graph = Contraction([set(), set(), {0}, {1}, {2, 3}])
    assert graph.merge([2, 3])
    assert graph.order() == [0, 1, 2, 4]
    assert graph.before[2] == {0, 1}
    assert graph.before[4] == {2}


def test_an_instruction_never_joins_one_that_it_waits_for():
    graph = Contraction([set(), {0}, {1}, set()])
    assert not graph.merge([0, 2])
    assert graph.merge([0, 3])


def test_an_instruction_is_merged_once():
    graph = Contraction([set(), set(), set(), set()])
    assert graph.merge([1, 2])
    assert not graph.merge([2, 3])
    assert not graph.merge([0, 1])


def test_two_merges_that_wait_for_each_other_have_no_order():
    # 0 -> 1 and 2 -> 3: together {0, 3} and {1, 2} would wait for each other.
    graph = Contraction([set(), {0}, set(), {2}])
    merged = graph.merge([0, 3]), graph.merge([1, 2])
    assert merged == (True, False) or graph.order() is None


@given(st.data())
def test_every_order_keeps_every_dependency(data):
    count = data.draw(st.integers(2, 12))
    edges = [data.draw(st.sets(st.integers(0, max(0, i - 1)), max_size=3)) if i else set() for i in range(count)]
    graph = Contraction(edges)
    for _ in range(data.draw(st.integers(0, 4))):
        members = sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=2, max_size=4)))
        graph.merge(members)
    order = graph.order()
    if order is not None:
        place = {index: at for at, index in enumerate(order)}
        for index, waits in enumerate(edges):
            for before in waits:
                here, there = graph.stands_for[index], graph.stands_for[before]
                assert place[there] < place[here]


def test_a_rank_goes_before_the_number_but_not_before_what_an_instruction_waits_for():
    graph = Contraction([set(), set(), {1}, set()])
    assert graph.order([3.5, 1.0, 2.0, 0.0]) == [3, 1, 2, 0]
    assert graph.order([0.0, 9.0, 2.0, 3.0]) == [0, 3, 1, 2]


def test_what_holds_a_merge_up_is_found_through_others():
    """1 and 5 become one, which waits for 4 and through it for 3 and 0."""
    graph = Contraction([set(), set(), set(), {0}, {3}, {4}])
    assert graph.merge([1, 5])
    assert graph.held_up_by(1) == {3, 4}
