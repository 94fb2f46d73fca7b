"""The data of the releases, and which release a version is of."""

import ast
from pathlib import Path

import msgspec
import pytest

from neff_bench.sdk.identify import identify, newest_published
from neff_bench.sdk.release import documents, load, names, order, read


def test_every_release_is_there_with_what_is_announced():
    assert names() == ("2.28", "2.29", "2.30", "2.31", "2.32", "2.33", "2.34")
    assert [load(name).name for name in names()] == list(names())
    assert newest_published().name == "2.33"


def test_a_release_is_the_one_before_it_with_its_changes():
    assert "neuron-profile" in load("2.29").tools and "neuron-profile" not in load("2.30").tools
    assert "json" in load("2.33").formats("neuron-explorer") and "json" not in load("2.34").formats("neuron-explorer")
    assert load("2.32").parquet_schema.version == "7.4.0" and load("2.33").parquet_schema.version == "12.0.1"
    assert set(load("2.34").messages) > set(load("2.28").messages)


def test_a_file_with_an_unknown_word_is_refused():
    written = {"2.28": {**documents()["2.28"], "toolz": {}}}
    with pytest.raises(msgspec.ValidationError, match="toolz"):
        read(written, "2.28")


@pytest.mark.parametrize(
    ("component", "version", "release", "known"),
    [
        ("tools", "2.32.28.0%kaena-tools/2.32@b486b0a", "2.32", True),
        ("tools", "2.32.1.0", "2.32", True),
        ("tools", "2.36.1", "2.34", False),
        ("tools", "2.27.33.0", "2.28", False),
        ("tools", "unknown", "2.33", False),
        ("tools", None, "2.33", False),
        ("nki", "0.6.0", "2.32", True),
        ("neuronx-cc", "2.27.5334.0+abc", "2.32", True),
        ("driver", "2.26.5.0", "2.28", True),
        ("driver", "2.26.10.0", "2.29", True),
        ("runtime", "2.34.10.0-1234567", "2.32", True),
    ],
)
def test_a_version_names_its_release(component, version, release, known):
    match = identify(component, version)
    assert (match.release.name, match.known) == (release, known)


def test_versions_are_compared_as_numbers():
    assert order("2.9.1") < order("2.31.24-abc12")
    assert order("unknown") == ()


@pytest.mark.parametrize(
    ("package", "fake"),
    [
        ("nrtpy", "stage2_profile/fake_nrtpy/nrtpy.py"),
        ("torch_neuronx", "stage1_generate/fake_sdk/torch/torch_neuronx/__init__.py"),
    ],
)
def test_the_fake_of_a_package_has_the_parameters_of_the_contract(package, fake):
    tree = ast.parse((Path(__file__).parents[1] / fake).read_text())
    found = {}
    for owner in [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]:
        for function in (node for node in owner.body if isinstance(node, ast.FunctionDef)):
            given = function.args
            optional = [None] * (len(given.args) - len(given.defaults)) + given.defaults
            words = [each.arg + "=" * (default is not None) for each, default in zip(given.args, optional)]
            words += [f"*{given.vararg.arg}"] if given.vararg else []
            words += [f"{each.arg}=" for each in given.kwonlyargs]
            prefix = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
            found[f"{package}:{prefix}{function.name}"] = tuple(word for word in words if word != "cls")
    functions = load(names()[-1]).python[package].functions
    assert {name: found.get(name) for name in functions} == functions


def test_a_wheel_holds_the_data_files():
    assert '"neff_bench.sdk" = ["releases/*.yaml"]' in (Path(__file__).parents[2] / "pyproject.toml").read_text()
