"""What an earlier call answered is not estimated again."""

import json
import os
import sqlite3
import subprocess
import sys

import pytest

HELPER = "COLUMNS = 64\n"
KERNEL = """
import os
import nki
import nki.isa as nisa
import nki.language as nl
from helper import COLUMNS


@nki.jit
def scale(x, factor=1.0):
    os.write(os.open("ran", os.O_WRONLY | os.O_APPEND | os.O_CREAT), b"x")
    out = nl.ndarray((128, COLUMNS), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, COLUMNS), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[:, 0:COLUMNS])
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


@pytest.fixture
def tune(tmp_path):
    (tmp_path / "k.py").write_text(KERNEL)
    (tmp_path / "helper.py").write_text(HELPER)

    def run(name=1, *options, **more):
        """The row of one variant, and how often the kernel ran."""
        (tmp_path / "ran").unlink(missing_ok=True)
        line = json.dumps(
            {"id": name, "kernel": "k.py:scale", "inputs": {"x": {"shape": [128, 256], "dtype": "float32"}}, **more}
        )
        command = [sys.executable, "-m", "neff_bench", "tune", *options]
        done = subprocess.run(command, cwd=tmp_path, input=line, capture_output=True, text=True)
        answer = json.loads(done.stdout)
        assert answer.pop("id") == name
        return answer, (tmp_path / "ran").stat().st_size if (tmp_path / "ran").exists() else 0

    return run


def test_the_same_variant_is_answered_without_running_its_kernel(tune):
    first, ran = tune("one")
    again, ran_again = tune("two")
    assert (ran, ran_again) == (1, 0)
    assert again == first
    assert tune("three", "--force") == (first, 1)


def test_whatever_an_answer_follows_from_asks_for_a_new_one(tune, tmp_path, monkeypatch):
    first, _ = tune()
    assert tune(arguments={"factor": 3.0})[1] == 1
    assert tune(target="trn3")[1] == 1
    assert tune(1, "--sdk", "2.29")[1] == 1
    monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", "2")
    assert tune()[1] > 0
    monkeypatch.delenv("NEURON_LOGICAL_NC_CONFIG")
    (tmp_path / "helper.py").write_text("COLUMNS = 128\n")
    wider, ran = tune()
    assert ran == 1 and wider["row"]["hbm_read_bytes"] == 2 * first["row"]["hbm_read_bytes"]


def test_a_file_that_changes_between_two_lines_is_seen(tmp_path, monkeypatch):
    from neff_bench.doors.tune.known import Known

    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").write_text("from helper import COLUMNS\n")
    (tmp_path / "helper.py").write_text(HELPER)
    about, known = (b"{}", ("k.py:scale",)), Known("2.33", force=False)
    assert known.find(b"line", *about) is None
    known.keep(b"line", b"answer")
    assert known.find(b"line", *about) == b"answer"
    (tmp_path / "helper.py").write_text("COLUMNS = 128\n")
    assert known.find(b"line", *about) is None
    (tmp_path / "helper.py").write_text("COLUMNS = 1024\n")
    known.keep(b"line", b"of files that are gone")
    assert known.find(b"line", *about) is None


def test_what_fails_is_asked_again(tune, tmp_path):
    assert tune(arguments={"unknown": 1})[0]["status"] == "failed"
    (table,) = (tmp_path / "cache").rglob("*.sqlite3")
    assert sqlite3.connect(table).execute("SELECT count(*) FROM answers").fetchone() == (0,)


@pytest.mark.parametrize("broken", ["bytes", "folder"])
def test_a_cache_that_cannot_be_used_knows_nothing(tune, tmp_path, broken):
    folder = tmp_path / "cache" / "neff-bench"
    folder.mkdir(parents=True)
    path = folder / "tuned.sqlite3"
    path.mkdir() if broken == "folder" else path.write_bytes(os.urandom(4096))
    assert [tune()[1], tune()[1]] == [1, 1]
