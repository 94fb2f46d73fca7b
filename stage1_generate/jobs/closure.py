"""Finds the import closure of Python code: every file that importing it can read, found without importing anything.

Statements anywhere in a file count, but not those below `if TYPE_CHECKING`; so do `import_module("name")` and `__import__("name")` with a literal name, and
`iter_modules(__path__)` stands for all modules of its package. A module that is chosen at run time is not seen.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neff_bench.neffs.aids import Aid
from neff_bench.sdk.installed import version_of
from neff_bench.system.files import read_plain

_INSTALLED = ("site-packages", "dist-packages")
_STANDARD = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}


@dataclass(frozen=True)
class Module:
    """One module of a closure. `name`: as it is imported, `file`: None for a package without `__init__.py`."""

    name: str
    file: Path | None
    folders: tuple[Path, ...]

    @property
    def package(self) -> str:
        """What a relative import is relative to."""
        return self.name if self.folders else self.name.rpartition(".")[0]


@dataclass
class Closures:
    """Closures of modules that are looked for in `folders`, in this order; every file is read once.

    A package below `site-packages` counts by its version where a distribution of its name is installed, unless it is the
    package that was asked for.
    """

    folders: tuple[Path, ...]
    known: Aid[list[str]] | None = None
    """What earlier calls found in the same contents (`known_imports`)."""
    _files: dict[tuple[str, Path], tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    _found: dict[tuple[Path, ...], dict[str, Module | None]] = field(default_factory=dict)
    _versions: dict[str, str | None] = field(default_factory=dict)
    _digests: dict[tuple[tuple[str | Path, ...], frozenset[str]], str] = field(default_factory=dict)

    def digest(self, *roots: str | Path, without: Collection[str] = ()) -> str:
        """Return the sha256 in hex over the closure's module names and the contents of their files; the folders do not count."""
        asked = (roots, frozenset(without))
        if asked not in self._digests:
            lines = [f"{name} {said}" for name, said in sorted(self._closure(roots, without).items())]
            self._digests[asked] = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        return self._digests[asked]

    def modules(self, *roots: str | Path, without: Collection[str] = ()) -> list[str]:
        """Return the sorted names of the modules and packages of the closure."""
        return sorted(self._closure(roots, without))

    def files(self, *roots: str | Path) -> set[Path]:
        """Return every file that these closures and earlier ones have read."""
        self._closure(roots, ())
        return {file for _, file in self._files}

    def find(self, name: str) -> Module | None:
        """Return the module or package of that name, None when there is none in the folders."""
        found = list(self._along(name, self.folders, name.partition(".")[0], {}))
        return found[-1] if found and found[-1].name == name else None

    def _closure(self, roots: Iterable[str | Path], without: Collection[str]) -> dict[str, str]:
        """Return, by name, the hash of the file, `version ...`, or `absent` for a root that is not there.

        `roots`: module names, or Python files, whose own folder is then searched first. `without`: modules whose imports are not followed.
        """
        closure: dict[str, str] = {}
        for root in roots:
            seen: set[str] = set()
            if isinstance(root, Path):
                own, folders = root.stem, (root.parent, *self.folders)
                waiting = [Module(root.stem, root, ())] if root.is_file() else []
            else:
                own, folders = root.partition(".")[0], self.folders
                waiting = list(self._along(root, folders, own, closure))
                if not waiting or waiting[-1].name != root:
                    closure[root] = "absent"
            while waiting:
                module = waiting.pop()
                if module.name in closure or module.file is None:
                    continue
                closure[module.name], imports = self._read(module.name, module.package, module.file)
                if module.name not in without:
                    for name in imports:
                        if name not in seen:
                            seen.add(name)
                            waiting += self._along(name, folders, own, closure)
            if isinstance(root, Path):
                closure.setdefault(root.stem, "absent")
        return closure

    def _along(self, name: str, folders: tuple[Path, ...], own: str, closure: dict[str, str]) -> Iterator[Module]:
        """Yield the packages on the way to a module and the module, as far as they exist as files."""
        top, *rest = name.split(".")
        module = self._find(top, top, folders)
        if module is None:
            return
        if top != own and _is_installed(module):
            version = self._version(top)
            if version is not None:
                closure[top] = f"version {version}"
                return
        yield module
        for part in rest:
            module = self._find(f"{module.name}.{part}", part, module.folders)
            if module is None:
                return
            yield module

    def _find(self, name: str, part: str, folders: tuple[Path, ...]) -> Module | None:
        known = self._found.setdefault(folders, {})
        if part not in known:
            known[part] = _look(name, part, folders)
        return known[part]

    def _read(self, name: str, package: str, file: Path) -> tuple[str, tuple[str, ...]]:
        known = self._files.get((name, file))
        if known is None:
            try:
                data = read_plain(file)
                sha256 = hashlib.sha256(data).hexdigest()
                found = self._imports(data, sha256, package)
                if file.name == "__init__.py" and b"iter_modules(__path__)" in data:
                    found += [f"{package}.{inside.stem}" for inside in file.parent.glob("*.py") if inside != file]
                known = sha256, tuple(found)
            except OSError as error:  # the compiler meets it too, and then it is the reason of a failed case
                known = f"unreadable: {error.strerror}", ()
            self._files[name, file] = known
        return known

    def _imports(self, data: bytes, sha256: str, package: str) -> list[str]:
        key = f"{sha256} {package}"
        found = self.known.find(key) if self.known is not None else None
        if found is None:
            found = imports(data, package)
            if self.known is not None:
                self.known.keep(key, found)
        return [*found]

    def _version(self, distribution: str) -> str | None:
        if distribution not in self._versions:
            self._versions[distribution] = version_of(distribution)
        return self._versions[distribution]


def known_imports(store: Path, parser: Path = Path(__file__)) -> Aid[list[str]]:
    """Return what files import by sha256 and package, so that an unchanged file is not parsed at each call. Other code in `parser`, the file that finds
    them, or another Python finds them anew."""
    maker = f"{hashlib.sha256(parser.read_bytes()).hexdigest()} {sys.version_info[:2]}"
    return Aid(store, "imports.json", list[str], maker)


def search_path() -> tuple[Path, ...]:
    """Return the folders of `sys.path` without those of Python itself."""
    folders = (Path(entry or ".").absolute() for entry in sys.path if entry not in _STANDARD)
    return tuple(folder for folder in folders if folder.is_dir() and folder.name != "lib-dynload")


def imports(source: bytes, package: str) -> list[str]:
    """Return absolute names that a file may import; `from a import b` gives `a.b`, which may be a name in `a` only.

    `package`: of the file, for relative imports. A line of a text that reads like an import counts where no parser is needed.
    Of a file that is no Python whoever compiles it says so.
    """
    found = _by_lines(source, package)
    return _by_parser(source, package) if found is None else found


# Each begins with the end of the line before: that is found several times as fast as the beginning of a line.
_FOR_TYPES = re.compile(r"\nif (?:\w+\.)?TYPE_CHECKING:(?:\n[ \t].*|\n(?=\n))*")
_BEGINNING = re.compile(r"\n[ \t]*(?:import\b|from\b.*\bimport\b)")
_IMPORT = re.compile(
    r"\n[ \t]*(?:from(?:[ \t]+|(?=\.))(\.*)([\w.]*)[ \t]*\bimport\b[ \t]*(\((?:#.*|[^)#])*\)|[^(#\n]+)|import[ \t]+([^(#\n]+))"
)
_COMMENT = re.compile(r"#.*")
_SHARED = re.compile(r"[;:][ \t]*(?:import\b|from\b.*\bimport\b)")
"""A statement that is not the first of its line."""
_CALL = re.compile(
    r"\b(?:import_module|__import__)\([ \t\n]*(?=[rRbBuUfF]{0,2}[\"'])(?:([\"'])([\w.]*)\1[ \t\n]*[,)])?"
)
"""A call with a literal name; without a name where the first argument is more than one literal."""
_ALL = re.compile(r"\n[ \t]*__all__[ \t]*=[ \t]*[\[(]((?:#.*|[^#\])])*)[\])]")
_NAME = re.compile(r"[\"']([\w.]+)[\"']")
_PARSED = ("\\\n", "\r", "\f", "\v")
"""What makes lines alone not enough: statements on several lines, and other ends of lines."""


def _by_lines(source: bytes, package: str) -> list[str] | None:
    """Return the imports, found twenty times as fast as a parser does; None where it takes a parser."""
    try:
        text = "\n" + source.decode()
    except UnicodeDecodeError:
        return None
    if any(word in text for word in _PARSED) or _SHARED.search(text):
        return None
    text = _FOR_TYPES.sub("", text)
    statements = _IMPORT.findall(text)
    calls = _CALL.findall(text) if "import_module" in text or "__import__" in text else []
    listed = _ALL.findall(text) if "__all__" in text else []
    if len(statements) != len(_BEGINNING.findall(text)) or text.count("__all__") != len(listed) or ("", "") in calls:
        return None
    found = []
    for dots, module, members, modules in statements:
        parts = _COMMENT.sub("", members or modules).strip("() \t\n").split(",")
        names = [part.split()[0] for part in parts if part.strip()]
        found += _members(_base(module, len(dots), package), names) if members else names
    found += [f"{package}.{name}" for names in listed for name in _NAME.findall(names) if package]
    return found + [name for _, name in calls]


def _by_parser(source: bytes, package: str) -> list[str]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = [name for statement in _statements(tree.body) for name in _named(statement, package)]
    if b"import_module" in source or b"__import__" in source:
        found += [name for node in ast.walk(tree) for name in _called(node)]
    return found


def _base(module: str, level: int, package: str) -> str:
    """Return what `from module import` with `level` dots names; empty where it is above all packages."""
    if not level:
        return module
    parents = package.split(".")
    above = ".".join(parents[: max(0, len(parents) - level + 1)])
    return (f"{above}.{module}" if module else above) if above else ""


def _members(base: str, names: Iterable[str]) -> list[str]:
    return [base if name == "*" else f"{base}.{name}" for name in names] if base else []


def imports_relatively(path: Path) -> bool:
    """Return whether a file has an import like `from . import tiles`."""
    try:
        statements = _statements(ast.parse(path.read_bytes()).body)
        return any(isinstance(statement, ast.ImportFrom) and statement.level > 0 for statement in statements)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return False


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield all statements at any depth. Expressions hold none, so they are not visited."""
    for statement in body:
        yield statement
        if not (isinstance(statement, ast.If) and _is_type_checking(statement.test)):
            yield from _statements(getattr(statement, "body", ()))
        for name in ("orelse", "finalbody"):
            yield from _statements(getattr(statement, name, ()))
        for name in ("handlers", "cases"):
            for part in getattr(statement, name, ()):
                yield from _statements(part.body)


def _is_type_checking(test: ast.expr) -> bool:
    return (test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)) == "TYPE_CHECKING"


def _named(statement: ast.stmt, package: str) -> Iterator[str]:
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
    elif isinstance(statement, ast.ImportFrom):
        base = _base(statement.module or "", statement.level, package)
        yield from _members(base, (alias.name for alias in statement.names))
    elif isinstance(statement, ast.Assign) and [getattr(t, "id", None) for t in statement.targets] == ["__all__"]:
        # `from package import *` imports the submodules that __all__ names.
        names = statement.value.elts if isinstance(statement.value, (ast.List, ast.Tuple)) else ()
        texts = (name.value for name in names if isinstance(name, ast.Constant))
        yield from (f"{package}.{text}" for text in texts if isinstance(text, str) and package)


def _called(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
        if name in ("import_module", "__import__") and isinstance(node.args[0].value, str):
            yield node.args[0].value


def _look(name: str, part: str, folders: Iterable[Path]) -> Module | None:
    """Find a module as Python does: the first folder with a package or a module; folders without `__init__.py` only if there is none."""
    bare = []
    for folder in folders:
        inside, file = f"{folder}/{part}", f"{folder}/{part}.py"
        if os.path.isfile(f"{inside}/__init__.py"):
            return Module(name, Path(inside, "__init__.py"), (Path(inside),))
        if os.path.isfile(file):
            return Module(name, Path(file), ())
        if os.path.isdir(inside):
            bare.append(Path(inside))
    return Module(name, None, tuple(bare)) if bare else None


def _is_installed(module: Module) -> bool:
    places = module.folders or ((module.file,) if module.file else ())
    return any(place.parent.name in _INSTALLED for place in places)
