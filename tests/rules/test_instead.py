"""What a rule says to write instead is there in the releases that break on the rule.

`api.yaml` holds, for each name that a rule recommends, the first release that has it: in AWS's declarations or on its pages.
"""

import ast
import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml

from neff_bench.rules import RULES
from tests.checkouts import NEURON_SDK, find

API = yaml.safe_load((Path(__file__).parent / "api.yaml").read_text())
NAME = re.compile(r"\b((?:nl|nisa|nki)(?:\.\w+)+)(?:\([^)]*\))?(?: \(from SDK ([\d.]+)\))?")
IN_FULL = {"nl": "nki.language", "nisa": "nki.isa", "nki": "nki"}
PAGES = ("nki/api", "nki/deep-dives", "release-notes/components/nki.rst", "nki/migration")


def recommended(rule):
    """The names that a rule recommends, each with the release from which on it does so."""
    return [(name, since or rule.releases[0]) for name, since in NAME.findall(rule.instead)]


def test_the_names_that_are_listed_are_those_that_rules_recommend():
    assert set(API) == {name for rule in RULES.values() for name, _ in recommended(rule)}


def test_no_rule_recommends_what_the_release_lacks():
    wrong = [
        (rule.code, name, since)
        for rule in RULES.values()
        for name, since in recommended(rule)
        if float(since) < float(API[name])
    ]
    assert wrong == []


def test_no_rule_recommends_what_another_rule_forbids():
    """A rule that finds names in a source finds none in what the rules recommend, in the releases that both speak of."""
    from neff_bench.rules.findings import of_source
    from neff_bench.rules.source import Source

    for rule in RULES.values():
        names = [name for name, _ in recommended(rule)]
        text = "import nki, nki.isa as nisa, nki.language as nl\n" + "".join(f"{name}\n" for name in names)
        found = [one for one in of_source(Source(text, "k.py"), "trn3") if one.level == "error"]
        broken = [one for one in found if set(one.releases) & set(rule.releases) - later(rule)]
        assert broken == [], rule.code


def later(rule):
    """The releases before the one from which on a rule recommends something."""
    return {one for one in rule.releases for _, since in recommended(rule) if float(one) < float(since)}


@cache
def aws(tag):
    """The names that AWS's declarations and pages of a release have."""
    checkout = find(NEURON_SDK)

    def git(*words):
        return subprocess.run(["git", "-C", checkout, *words], capture_output=True, text=True, check=True).stdout

    words = git("grep", "-hoE", r"(nki|tile_size)(\.\w+)+", tag, "--", *PAGES).split()
    names = {f"nki.language.{word}" if word.startswith("tile_size") else word for word in words}
    for path in git("ls-tree", "-r", "--name-only", tag, "nki/api/nki/").split():
        if path.endswith(".py"):
            package = path.removeprefix("nki/api/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            names |= set(declared(ast.parse(git("show", f"{tag}:{path}")).body, package))
    return names


def declared(body, prefix):
    """The names of a declaration, in full."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield f"{prefix}.{node.name}"
        if isinstance(node, ast.ClassDef):
            yield from declared(node.body, f"{prefix}.{node.name}")
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (f"{prefix}.{one.id}" for one in targets if isinstance(one, ast.Name))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (f"{prefix}.{one.asname or one.name}" for one in node.names)


@pytest.mark.skipif(
    not {"CHECKOUTS", NEURON_SDK.variable} & set(os.environ), reason="needs AWS's pages of each release"
)
@pytest.mark.parametrize("name", sorted(API))
def test_aws_has_a_name_from_its_release_on(name):
    first, _, rest = name.partition(".")
    tags = {"2.28": "v2.28.1", "2.29": "v2.29.1", "2.30": "v2.30.0", "2.31": "v2.31.1", "2.32": "v2.32.0"}
    assert [one for one, tag in tags.items() if f"{IN_FULL[first]}.{rest}" in aws(tag)] == [
        one for one in tags if float(one) >= float(API[name])
    ]
