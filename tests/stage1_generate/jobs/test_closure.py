import pytest

from neff_bench.installation import PACKAGE
from neff_bench.stage1_generate.jobs import closure
from neff_bench.stage1_generate.jobs.closure import Closures, imports


@pytest.fixture
def write(tmp_path):
    """Write files below `tmp_path`; returns their closures there."""

    def files(**texts):
        for name, text in texts.items():
            path = tmp_path.joinpath(*name.split("__dir__")).with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Closures((tmp_path,))

    return files


@pytest.mark.parametrize(
    ("source", "package", "names"),
    [
        ("import a.b, c", "", ["a.b", "c"]),
        ("from a import b, c", "", ["a.b", "a.c"]),
        ("from a import *", "", ["a"]),
        ("from . import b", "p.q", ["p.q.b"]),
        ("from ..m import b", "p.q", ["p.m.b"]),
        ("from ... import b", "p", []),
        ("from . import b", "", []),
        ("def f():\n  try:\n    import a\n  except ImportError:\n    import b", "", ["a", "b"]),
        ("match x:\n  case 1:\n    import a", "", ["a"]),
        ("if TYPE_CHECKING:\n  import a\nelse:\n  import b", "", ["b"]),
        ("import typing\nif typing.TYPE_CHECKING:\n  import a", "", ["typing"]),
        ("from importlib import import_module\nm = import_module('a.b')", "", ["importlib.import_module", "a.b"]),
        ("__all__ = ['a']", "p", ["p.a"]),
        ("x = ['a']", "p", []),
        ("__all__ = ['a']", "", []),
        ("__all__ = [1, 'a']", "p", ["p.a"]),
        ("__all__ = names", "p", []),
        ("import a; import b\nthis is no Python", "", []),
    ],
)
def test_imports_of_a_source(source, package, names):
    assert imports(source.encode(), package) == names


def test_lines_tell_what_a_parser_does():
    files = [path for room in ("simulator", "stage1_generate") for path in (PACKAGE / room).rglob("*.py")]
    assert len(files) > 100
    by_lines = {path: closure._by_lines(path.read_bytes(), "neff_bench.p") for path in files}
    told = [path for path, names in by_lines.items() if names is not None]
    assert len(told) > 0.9 * len(files)
    for path in told:
        assert set(by_lines[path]) == set(closure._by_parser(path.read_bytes(), "neff_bench.p")), path


@pytest.mark.parametrize(
    "source",
    ["from . import b", "from.a import(b, c)", "from .. a import b", "from ..a import (  # two (2)\n  b,\n\n  c as d,  # )\n)",
     "\timport a.b as c, d # e", "if typing.TYPE_CHECKING:\n  import a\n\n  import b\nimport c", "from a import *",
     "m = import_module(\n  'a.b', package=c)", "m = __import__(\"a\")", "__all__ = [  # ]\n  'a',\n  \"b\"]", "__all__ = ('a',)"],
)  # fmt: skip
def test_a_statement_on_lines_of_its_own_is_found_with_and_without_a_parser(source):
    source = f"if x:\n  {source}" if source[0] == "\t" else source
    names = closure._by_parser(source.encode(), "p.q.r")
    assert imports(source.encode(), "p.q.r") == names != []


@pytest.mark.parametrize("source", ["m = import_module('a' '.b')", "__all__ = list\nimport a", "import a; import b", "if a: import b", "if a:\timport b",
                                    "from a import b, \\\n  c", "from a import b, \\\r\n  c", "from a . b import c", "\fimport a", "x=1\rimport a"])  # fmt: skip
def test_other_imports_take_a_parser(source):
    assert closure._by_lines(source.encode(), "p") is None
    assert imports(source.encode(), "p") == closure._by_parser(source.encode(), "p") != []


def test_text_that_is_not_utf8_takes_a_parser():
    assert imports("# coding: latin-1\nimport a  # \xe9".encode("latin-1"), "") == ["a"]


def test_a_closure_follows_packages_and_relative_imports(write):
    closures = write(
        kernel="from pack.deep import tiles",
        other="",
        pack__dir____init__="from . import at_import",
        pack__dir__at_import="",
        pack__dir__unused="",
        pack__dir__deep__dir____init__="",
        pack__dir__deep__dir__tiles="from ..shared import size",
        pack__dir__shared="size = 128",
    )
    found = ["kernel", "pack", "pack.at_import", "pack.deep", "pack.deep.tiles", "pack.shared"]
    assert closures.modules("kernel") == found


def test_imports_in_a_circle_end(write):
    assert write(a="import b", b="import a").modules("a") == ["a", "b"]


def test_a_file_finds_what_lies_beside_it(write, tmp_path):
    write(dir__dir__kernel="import tiles", dir__dir__tiles="", tiles="other = True")
    closures = Closures((tmp_path,))
    before = closures.digest(tmp_path / "dir" / "kernel.py")
    assert closures.modules(tmp_path / "dir" / "kernel.py") == ["kernel", "tiles"]
    write(tiles="other = False")
    assert Closures((tmp_path,)).digest(tmp_path / "dir" / "kernel.py") == before
    write(dir__dir__tiles="changed = True")
    assert Closures((tmp_path,)).digest(tmp_path / "dir" / "kernel.py") != before


def test_the_folder_does_not_count(write, tmp_path):
    write(one__dir__kernel="import tiles", one__dir__tiles="", two__dir__kernel="import tiles", two__dir__tiles="")
    assert Closures((tmp_path / "one",)).digest("kernel") == Closures((tmp_path / "two",)).digest("kernel")


def test_what_is_installed_counts_by_its_version(write):
    assert Closures((*write(kernel="import numpy").folders, *_site_packages())).modules("kernel") == ["kernel", "numpy"]


def test_a_package_that_is_installed_is_followed_when_the_kernel_is_in_it(write, tmp_path):
    site = tmp_path / "site-packages"
    (site / "pack").mkdir(parents=True)
    (site / "pack" / "__init__.py").write_text("")
    (site / "pack" / "kernel.py").write_text("from pack import tiles")
    (site / "pack" / "tiles.py").write_text("")
    (site / "pack-1.0.dist-info").mkdir()
    assert Closures((site,)).modules("pack.kernel") == ["pack", "pack.kernel", "pack.tiles"]


def test_a_root_that_is_absent_is_told_apart(write, tmp_path):
    closures = write(kernel="")
    assert closures.modules("nothing.here") == ["nothing.here"]
    assert closures.digest("nothing.here") != closures.digest("kernel")
    assert closures.modules(tmp_path / "gone.py") == ["gone"]


def test_a_module_that_is_left_out_counts_but_its_imports_do_not(write):
    closures = write(kernel="import face", face="import all_else", all_else="")
    assert closures.modules("kernel", without=["face"]) == ["face", "kernel"]


def _site_packages():
    from neff_bench.stage1_generate.jobs.closure import search_path

    return search_path()


def test_folders_are_searched_that_are_there_without_those_of_python_itself(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "lib-dynload").mkdir()
    (tmp_path / "b.zip").touch()
    standard = next(iter(closure._STANDARD))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        closure.sys, "path", ["", "a", standard, *(str(tmp_path / name) for name in ("lib-dynload", "b.zip", "gone"))]
    )
    assert closure.search_path() == (tmp_path, tmp_path / "a")


def test_a_module_is_that_of_the_first_folder_that_has_one_and_a_package_goes_before_a_file(write, tmp_path):
    write(one__dir__a="", two__dir__a__dir____init__="", two__dir__a="", one__dir__b__dir__c="", two__dir__b__dir__d="")
    write(two__dir__e="", one__dir__e__dir__f="")
    one, two = tmp_path / "one", tmp_path / "two"
    find = Closures((one, two)).find
    assert (find("a").file, find("a").folders) == (one / "a.py", ())
    assert Closures((two, one)).find("a") == closure.Module("a", two / "a" / "__init__.py", (two / "a",))
    assert find("b") == closure.Module("b", None, (one / "b", two / "b"))
    assert find("b.c").file == one / "b" / "c.py" and find("b.d").file == two / "b" / "d.py"
    assert find("e").file == two / "e.py" and find("e.f") is find("g") is find("a.x") is None


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages", "packages"])
@pytest.mark.parametrize("version", ["1.5", None])
def test_a_module_where_packages_are_installed_counts_by_its_version_if_that_is_known(
    write, tmp_path, monkeypatch, folder, version
):
    (tmp_path / folder / "pack").mkdir(parents=True)
    for file in ("pack/__init__.py", "pack/part.py", "alone.py"):
        (tmp_path / folder / file).write_text("")
    monkeypatch.setattr(closure, "version_of", lambda name: version)
    closures = Closures((*write(kernel="import pack.part, alone").folders, tmp_path / folder))
    found = closures._closure(["kernel"], ())
    by_version = folder != "packages" and version is not None
    assert {name for name, said in found.items() if said == "version 1.5"} == (
        {"pack", "alone"} if by_version else set()
    )
    assert ("pack.part" in found) == (not by_version)


def test_a_digest_is_of_names_and_contents_and_a_file_that_cannot_be_read_says_so(write, tmp_path):
    one, other = write(a="x = 1", b="x = 1"), write(c="import d", d="x = 2")
    assert one.digest("a") != one.digest("b") and one.digest("a", "b") == one.digest("b", "a")
    assert other.digest("c") != other.digest("c", without=["c"])
    (tmp_path / "gone.py").symlink_to("gone.py")
    assert one._closure([tmp_path / "gone.py"], ()) == {"gone": "absent"}
    assert one._read("e", "", tmp_path / "none.py") == ("unreadable: No such file or directory", ())


@pytest.mark.parametrize(
    ("module", "level", "package", "base"),
    [
        ("m", 0, "p.q", "m"), ("", 1, "p.q", "p.q"), ("m", 1, "p.q", "p.q.m"), ("m", 2, "p.q", "p.m"), ("", 2, "p.q", "p"),
        ("m", 3, "p.q", ""), ("m", 9, "p.q", ""), ("m", 1, "", ""), ("", 1, "p", "p"),
    ],
)  # fmt: skip
def test_a_relative_import_is_relative_to_the_packages_above(module, level, package, base):
    assert closure._base(module, level, package) == base


@pytest.mark.parametrize(
    ("source", "is_so"),
    [
        ("from . import a", True), ("def f():\n  from ..a import b", True), ("import a\nfrom a import b", False), ("from", False), ("", False),
    ],
)  # fmt: skip
def test_a_file_says_whether_it_imports_relatively(tmp_path, source, is_so):
    (tmp_path / "a.py").write_text(source)
    assert closure.imports_relatively(tmp_path / "a.py") is is_so
    assert closure.imports_relatively(tmp_path / "none.py") is False


def test_a_package_that_lists_its_modules_imports_all_of_them(write):
    closures = write(
        pack__dir____init__="from pkgutil import iter_modules\nnames = [m.name for m in iter_modules(__path__)]",
        pack__dir__one="", pack__dir__two="import three", three="", other="iter_modules(__path__)",
    )  # fmt: skip
    assert closures.modules("pack") == ["pack", "pack.one", "pack.two", "three"]
    assert closures.modules("other") == ["other"]
