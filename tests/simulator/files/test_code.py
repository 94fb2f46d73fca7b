"""The machine code that a NEFF carries is that of its program, and is not made twice."""

import dataclasses

import numpy as np
import pytest

from neff_bench.simulator.compiler.code import assembler
from neff_bench.simulator.errors import CaptureError
from neff_bench.simulator.files import code as member
from neff_bench.simulator.files import neff as files
from neff_bench.simulator.timing.schedule import schedule
from tests.simulator.programs import matmul


@pytest.fixture
def neff(tmp_path):
    path = str(tmp_path / "file.neff")
    files.write_neff(matmul(lnc=2), path)
    return path


def columns(codes):
    return [
        {field.name: getattr(code, field.name) for field in dataclasses.fields(code)} for code in codes
    ]  # fmt: skip


def test_the_code_comes_back_as_it_was_assembled(neff):
    found = files.read_neff_content(neff).codes
    for ours, theirs in zip(columns(found), columns(assembler.assemble(matmul(lnc=2))), strict=True):
        assert tuple(ours.pop("transfers")) == tuple(theirs.pop("transfers"))
        for name, array in theirs.items():
            assert ours[name].dtype == array.dtype
            assert np.array_equal(ours[name], array), name


def test_a_schedule_with_the_code_assembles_nothing(neff, monkeypatch):
    content = files.read_neff_content(neff)
    expected = schedule(content.program).total_ns
    monkeypatch.setattr("neff_bench.simulator.timing.schedule.assemble", None)
    assert schedule(content.program, codes=content.codes).total_ns == expected


def test_code_of_another_timing_model_is_not_used(neff, monkeypatch):
    monkeypatch.setattr(member, "model_name", lambda target: f"{target}-0.00000000")
    assert files.read_neff_content(neff).codes is None


def test_code_that_was_changed_is_refused(neff, monkeypatch):
    encoded = member.encode_code(assembler.assemble(matmul(lnc=2)), "trn2", b"")
    for data, says in ((encoded, "not that of its program"), (b"", "not that of its program")):
        monkeypatch.setattr(files, "encode_code", lambda *_, data=data: data)
        files.write_neff(matmul(lnc=2), neff)
        with pytest.raises(CaptureError, match=says):
            files.read_neff_content(neff)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("waits", lambda column: column + 10**6),
        ("waits", lambda column: column.astype("int64")),
        ("engine", lambda column: column - 9),
        ("transfer", lambda column: column + 99),
        ("wait_start", lambda column: column[::-1].copy()),
        ("latency_ns", lambda column: column[1:]),
    ],
)
def test_code_that_cannot_be_run_is_refused(name, change):
    code, *_ = assembler.assemble(matmul())
    damaged = dataclasses.replace(code, **{name: change(getattr(code, name))})
    with pytest.raises(CaptureError, match="cannot be run"):
        member.decode_code(member.encode_code([damaged], "trn2", b""), "trn2", b"")


def test_a_neff_without_code_is_read(neff, monkeypatch):
    monkeypatch.setattr(files, "CODE_MEMBER", "sim/nothing")
    content = files.read_neff_content(neff)
    assert content.codes is None and content.program == matmul(lnc=2)
