"""The model beside figures that others measured on hardware. validation/corpus.py says where each comes from and makes the tables anew."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from neff_bench.chips import CHIPS
from neff_bench.simulator.calibration.operations import Operand, Operation, model_ns

HERE = Path(__file__).parent
DATA = HERE.parents[2] / "shared" / "data"
MANIFEST, TRACES, PREDICTIONS = (
    json.loads((HERE / f"{name}.json").read_bytes()) for name in ("manifest", "traces", "predictions")
)

COST_ERROR = {"trn2": 0.08, "inf2": 0.25}
"""Largest share by which an operation's time in the model may differ from its median on the chip. On inf2 an instruction that Scalar takes in
while it is busy lasts 70 ns less than one that finds it idle, as which the model counts it; its end is where the model has it."""


def operations():
    for trace, figures in TRACES.items():
        for opcode, engine, operands, pointer, function, _, fastest_ns, median_ns in figures["operations"]:
            made = tuple(Operand(*operand) for operand in operands)
            operation = Operation(opcode, engine, made, pointer, function)
            yield pytest.param(figures["target"], operation, fastest_ns, median_ns, id=f"{trace} {opcode}")


@pytest.mark.parametrize(("target", "operation", "fastest_ns", "median_ns"), list(operations()))
def test_an_operation_costs_what_it_costs_on_the_chip(target, operation, fastest_ns, median_ns):
    least, most = model_ns(operation, CHIPS[target])
    share = COST_ERROR[target]
    # A product lasts between its time at full and at reduced speed of the PE, whatever the throttle does.
    assert least <= (1 + share) * median_ns
    assert most >= (1 - share) * fastest_ns


def test_most_kinds_of_work_occur_in_the_traces():
    seen = {(figures["target"], row[0], row[1]) for figures in TRACES.values() for row in figures["operations"]}
    assert {"MATMUL", "COPY", "CAST", "ACTIVATE", "ACT_TABLE_LOAD", "TENSOR_REDUCE", "TENSOR_SCALAR"} <= {
        opcode for _, opcode, _ in seen
    }
    assert {engine for _, _, engine in seen} == {"tensor", "scalar", "vector"}


def test_every_table_names_its_origin_in_the_manifest():
    known = {(entry["repository"], entry["commit"]) for entry in MANIFEST}
    origins = [figures["origin"] for figures in (*TRACES.values(), *PREDICTIONS.values())]
    assert {(origin["repository"], origin["commit"]) for origin in origins} <= known
    paths = {(entry["repository"], file["path"]) for entry in MANIFEST for file in entry["files"]}
    for figures in TRACES.values():
        for kind in ("profile", "trace"):
            assert (figures["origin"]["repository"], figures["origin"][kind]) in paths


def test_the_manifest_says_of_each_file_what_it_takes_to_verify_it():
    for entry in MANIFEST:
        assert re.fullmatch(r"[0-9a-f]{40}", entry["commit"]) and "licence" in entry
        for file in entry["files"]:
            assert file["sha256"] is None or (re.fullmatch(r"[0-9a-f]{64}", file["sha256"]) and file["bytes"] > 0)
    assert [file["path"] for e in MANIFEST for file in e["files"] if file["sha256"] is None] == [
        "mlp_benchmark/benchmark_results.txt"
    ]


@pytest.mark.skipif(not DATA.exists(), reason="no measurements beside the project")
@pytest.mark.parametrize("name", TRACES)
def test_the_tables_are_those_of_the_files(name):
    from validation.tables import traces

    made = dict(traces([e for e in MANIFEST if "real" in e["files"][0]["to"]], DATA))
    assert json.loads(json.dumps(made[name])) == TRACES[name]
