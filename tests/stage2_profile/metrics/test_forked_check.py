"""The comparison of two tensors in another process is the one in this."""

import math
import os
from dataclasses import asdict

import numpy as np
import pytest

from neff_bench.stage2_profile.metrics import check, forked_check
from neff_bench.stage2_profile.metrics.forked_check import compare_forked
from neff_bench.stage2_profile.options import Options
from neff_bench.system.warm import WarmParent

TOLERANCE = (0.1, 1 / 3)


@pytest.fixture(scope="module")
def settings():
    with WarmParent([forked_check.__name__], os.environ) as warm:
        yield Options(warm=warm)


@pytest.mark.parametrize("out", [[1.0, 2.0, 9.5], [0.0, 0.0, 0.0], [1.0, math.nan, -math.inf]])
def test_another_process_finds_the_same(tmp_path, settings, out, monkeypatch):
    files = tmp_path / "out", tmp_path / "ref"
    for file, values in zip(files, (out, [1.0, 2.0, math.inf])):
        file.write_bytes(np.array(values, np.float32).tobytes())
    here = check.compare_files(*files, "float32", TOLERANCE, 1)
    monkeypatch.delattr(forked_check, "compare_files")  # nothing is compared in this process
    assert repr(asdict(compare_forked(settings, *files, "float32", TOLERANCE, 1))) == repr(asdict(here))


def test_what_goes_wrong_there_is_raised_here(tmp_path, settings):
    with pytest.raises(FileNotFoundError, match="out"):
        compare_forked(settings, tmp_path / "out", tmp_path / "ref", "float32", TOLERANCE, 1)
