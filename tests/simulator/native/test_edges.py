"""What the pass of edges does to its numbers."""

from neff_bench.simulator.native.edges import sort


def test_numbers_are_sorted_however_many_there_are():
    for count in range(200):
        numbers = [number * 7919 % 211 for number in range(count)]
        expected = sorted(numbers)
        sort(numbers, count)
        assert numbers == expected
