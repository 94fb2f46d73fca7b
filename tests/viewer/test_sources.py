"""Which source files are read."""

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
