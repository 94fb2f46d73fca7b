import click
import pytest

from neff_bench.system.shard import SHARD, Shard


def test_every_name_is_in_one_shard():
    names = [f"matmul_nki_M{m}" for m in range(200)]
    for count in (1, 2, 7):
        held = [[shard for shard in range(1, count + 1) if Shard(shard, count).holds(name)] for name in names]
        assert all(len(shards) == 1 for shards in held)
        assert {shard for (shard,) in held} == set(range(1, count + 1))


def test_a_shard_is_read_from_the_command_line():
    assert SHARD.convert("2/4", None, None) == Shard(2, 4)


@pytest.mark.parametrize("text", ["0/4", "5/4", "2", "2/0", "a/b", "-1/2", "1/2/3"])
def test_what_is_no_shard_is_a_wrong_call(text):
    with pytest.raises(click.UsageError, match="expected I/N"):
        SHARD.convert(text, None, None)
