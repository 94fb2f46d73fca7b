import shutil

import numpy as np
import pytest

from neff_bench.simulator import native
from neff_bench.simulator.native import loop
from neff_bench.system import compiled


@pytest.fixture
def looked_up_again():
    native.compiled_passes.cache_clear()
    yield
    native.compiled_passes.cache_clear()


def test_a_part_of_other_sources_is_not_used(monkeypatch, looked_up_again):
    monkeypatch.setattr(compiled, "digest", lambda: "0" * 16)
    assert native.compiled_passes() is None
    assert "passes.abi3.so is not of these sources" in compiled.slow()


def test_a_file_that_is_no_extension_is_not_used(monkeypatch, tmp_path, looked_up_again):
    (tmp_path / "passes.abi3.so").write_bytes(b"of another machine")
    monkeypatch.setattr(compiled, "FOLDER", tmp_path)
    assert native.compiled_passes() is None


@pytest.mark.skipif(native.compiled_passes() is None, reason="the passes are not compiled here")
@pytest.mark.parametrize("part", compiled.PARTS)
@pytest.mark.parametrize("kept", [0.01, 0.5, 0.9, 0.9999])
def test_a_part_that_was_cut_off_is_not_loaded(part, kept, monkeypatch, tmp_path):
    copy = tmp_path / compiled.usable(part).relative_to(compiled.FOLDER)
    data = compiled.usable(part).read_bytes()
    for path in (*compiled.c_files(), *compiled.pass_files()):
        (tmp_path / path.relative_to(compiled.FOLDER)).parent.mkdir(exist_ok=True)
        (tmp_path / path.relative_to(compiled.FOLDER)).write_bytes(path.read_bytes())
    copy.write_bytes(data)
    monkeypatch.setattr(compiled, "FOLDER", tmp_path)
    assert compiled.usable(part) == copy
    copy.write_bytes(data[: int(kept * len(data))])
    assert compiled.usable(part) is None
    assert f"{copy} is cut off" in compiled.slow() and "no compiled " in compiled.slow()


@pytest.mark.parametrize("changed", [path.name for path in (*compiled.c_files(), *compiled.pass_files())])
def test_a_change_of_any_file_changes_the_digest(changed, monkeypatch, tmp_path):
    for path in (*compiled.c_files(), *compiled.pass_files()):
        (tmp_path / path.name).write_bytes(path.read_bytes() + (b" " if path.name == changed else b""))
    before = compiled.digest()
    monkeypatch.setattr(compiled, "FOLDER", tmp_path)
    assert compiled.digest() != before


@pytest.mark.skipif(native.compiled_passes() is None, reason="the passes are not compiled here")
def test_an_edited_pass_is_not_shadowed_by_its_compiled_form(monkeypatch, tmp_path, looked_up_again):
    folder = shutil.copytree(compiled.FOLDER, tmp_path / "native")
    monkeypatch.setattr(compiled, "FOLDER", folder)
    assert compiled.usable("passes") is not None and native.compiled_passes() is not None
    native.compiled_passes.cache_clear()
    compiled._digest.cache_clear()
    edited = folder / "loop.py"
    edited.write_text(edited.read_text().replace("DEADLOCK", "STUCK"))
    assert native.compiled_passes() is None


@pytest.mark.skipif(native.compiled_passes() is None, reason="the passes are not compiled here")
@pytest.mark.parametrize("other", [np.zeros(4, np.float32), np.zeros(8)[::2]])
def test_an_array_that_a_compiled_pass_would_misread_is_refused(other):
    columns = loop.Moves(*[np.zeros(4, column.dtype) for column in loop.Moves._types])
    with pytest.raises(TypeError, match="an array of float.., expected float64 without gaps"):
        native.run(loop.run_loop, columns._replace(spacing=other))
