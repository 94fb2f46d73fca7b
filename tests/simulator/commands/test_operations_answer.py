import csv
import io
import json

import pytest
from click.testing import CliRunner

from neff_bench.chips import CHIPS
from neff_bench.simulator.commands.cli import main
from neff_bench.simulator.commands.operations_answer import FIELDS, operations_answer
from neff_bench.simulator.costs.table import TABLES
from neff_bench.simulator.operations import OPERATIONS


def told(*words):
    done = CliRunner().invoke(main, ["explain", "--operations", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def rows(target):
    return json.loads(told("--target", target, "--format", "json"))


@pytest.mark.parametrize("target", CHIPS)
def test_every_operation_of_a_chip_is_there_with_a_cost_and_a_source(target):
    found = rows(target)
    generation = CHIPS[target].generation
    issued_by_others = {"ldweights", "register_alu"}  # a product loads weights, a DMA computes its address
    assert {row["operation"] for row in found} - issued_by_others == {
        name
        for name in OPERATIONS
        if generation >= 4 or name not in ("activate2", "exponential", "nc_matmul_mx", "quantize_mx")
    }
    assert len({(row["operation"], row["engine"], row["dtypes"], row["memory"], row["mode"]) for row in found}) == len(
        TABLES[generation]
    )
    for row in found:
        assert row["source"]
        assert row["cycles_per_column"] is not None or row["interval_ns"] > 0


def test_a_generation_has_its_own_costs():
    cycles = {
        target: {row["cycles_per_column"] for row in rows(target)
                 if (row["operation"], row["engine"], row["memory"], row["dtypes"]) == ("tensor_tensor", "vector", "sbuf", "any")}
        for target in ("trn1", "trn2")
    }  # fmt: skip
    assert cycles == {"trn1": {2.0}, "trn2": {1.0}}


def test_what_was_compared_says_with_what_and_how_far_off_it_was():
    known = [row for row in rows("trn2") if row["compared"]]
    assert {row["operation"] for row in known} >= {"activation", "tensor_reduce", "nc_matmul", "dma_copy"}
    for row in known:
        assert row["compared_number"] > 0 and abs(row["median_error_percent"]) <= abs(row["worst_error_percent"])
    assert any("allenkchau/trainium-kernel-fusion" in row["compared"] for row in known)


@pytest.mark.parametrize("format", ["csv", "md", "table"])
def test_all_formats(format):
    text = told("--target", "trn3", "--format", format)
    assert "exponential" in text
    if format == "csv":
        assert next(csv.reader(io.StringIO(text))) == list(FIELDS)
    else:
        assert "never" in text


def test_the_constants_are_those_of_the_chip():
    lines = [line for grid in operations_answer(CHIPS["inf2"]).grids for line in grid.lines]
    assert any("1.12 GHz" in text for line in lines for text in line)


@pytest.mark.parametrize("words", [(), ("a.neff", "--target", "trn2")])
def test_a_chip_is_named_once(words):
    done = CliRunner().invoke(main, ["explain", "--operations", *words])
    assert done.exit_code != 0 and "name a NEFF or --target" in done.output


def test_without_a_neff_there_is_nothing_else_to_explain():
    done = CliRunner().invoke(main, ["explain"])
    assert done.exit_code == 2 and "name a NEFF" in done.output
