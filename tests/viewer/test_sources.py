"""Which source files are read."""

from neff_bench.neffs.sources import SOURCES, keep_sources
from neff_bench.viewer.sources import Place, place_of, read_sources


def test_a_place_is_a_file_and_a_line():
    assert place_of("a/kernel.py:33") == Place("a/kernel.py", 33)
    assert place_of("a/kernel.py:33:5") == Place("a/kernel.py", 33)
    assert place_of("no line") is None


def test_only_python_files_below_the_roots_are_read(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "kernel.py").write_text("x = 1\n")
    (root / "secret.txt").write_text("no")
    (tmp_path / "outside.py").write_text("no")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    wanted = [
        "kernel.py:1",
        "secret.txt:1",
        "../outside.py:1",
        f"{tmp_path}/outside.py:1",
        "link.py:1",
        "none.py:1",
        "a\0.py:1",
    ]
    assert dict(read_sources(wanted, [root])) == {"kernel.py": "x = 1\n"}


def test_a_file_of_an_absolute_name_is_found_in_the_bundle_that_keeps_it(tmp_path):
    (tmp_path / "kernel.py").write_text("x = 1\n")
    keep_sources(tmp_path / "bundle", [f"{tmp_path}/kernel.py", "none.py", f"{tmp_path}/../up.py"], ["/nowhere"])
    (tmp_path / "kernel.py").unlink()
    where = f"{tmp_path}/kernel.py:1"
    assert dict(read_sources([where], [tmp_path / "bundle" / SOURCES])) == {f"{tmp_path}/kernel.py": "x = 1\n"}


def test_a_file_of_another_machine_is_found_by_the_end_of_its_place(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/attn.py").write_text("x = 1\n")
    (tmp_path / "alone.py").write_text("x = 2\n")
    where = ["/home/u/kernels/attn.py:1", "/home/u/other/attn.py:1", "/home/u/alone.py:1"]
    assert list(read_sources(where, [tmp_path])) == ["/home/u/kernels/attn.py"]
    assert list(read_sources(where, [tmp_path / "kernels"])) == ["/home/u/kernels/attn.py"]
