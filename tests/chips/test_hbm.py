from neff_bench.chips.hbm import bank_of, cores_of


def test_two_physical_cores_share_a_bank():
    assert [bank_of(core) for core in (0, 1, 2, 7, 8)] == [0, 0, 1, 3, 4]
    assert cores_of({0, 3}) == {0, 1, 6, 7}
