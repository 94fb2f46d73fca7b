"""Bundles of NEFFs that come without one."""

import json
from dataclasses import replace

import numpy as np
import pytest

from neff_bench.neffs.bare import bare_case, plain_name, publish_neff
from neff_bench.neffs.bundle import read_bundle, verify_bundle
from neff_bench.neffs.case import content_key
from neff_bench.neffs.checksums import sha256_file
from neff_bench.neffs.errors import BundleError
from neff_bench.neffs.store import Store
from neff_bench.parsers.formats.neff import PROGRAM_MEMBER
from neff_bench.parsers.neff import read_neff


@pytest.fixture
def neff(tmp_path, files):
    """A function that writes a NEFF with inputs x (4x8) and y (8x2), other names and texts by replacement in its JSON."""

    def write(dtype="bfloat16", element=2, x_bytes=None, y_rows=8, says_y=True, **names):
        sizes = {
            '"size": 64': f'"size": {32 * element if x_bytes is None else x_bytes}',
            '"size": 16': f'"size": {8 * element}',
        }
        sizes["[8, 2]"] = f"[{y_rows}, 2]"
        if says_y:
            sizes['"var": {'] = f'"var": {{"y": {{"type": "input", "size": {2 * y_rows * element}}}, '
        members = files.neff_members(dtype=dtype)
        for member, data in members.items():
            if member.endswith(".json"):
                text = data.decode()
                for old, new in (*sizes.items(), *((f'"{old}"', json.dumps(new)) for old, new in names.items())):
                    text = text.replace(old, new)
                members[member] = text.encode()
        path = tmp_path / "given.neff"
        path.write_bytes(files.neff_of(members))
        return path

    return write


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_a_bundle_holds_what_the_neff_says(neff, store):
    path = neff()
    bundle = read_bundle(publish_neff(store, "dump/graph", path, log=b"said", remarks=("a remark",)))
    said = bundle.manifest
    verify_bundle(bundle)
    assert bundle.name == bare_case("dump/graph", read_neff(path)).name == "dump-graph_framework_bfloat16_trn2_lnc2"
    assert (said.status, said.toolchain, said.interface) == ("built", "neuron", "framework")
    assert (said.neff, said.neff_sha256) == ("file.neff", sha256_file(path))
    assert said.key == content_key(said.case, {"neff": sha256_file(path)})
    assert (said.versions, said.warnings) == ({"compiler": "2.23.6484.0+3b612583"}, ("a remark",))
    assert [(one.name, one.shape, one.bytes, one.file) for one in said.inputs] == [
        ("x", (4, 8), 64, "inp-x-000.bin"), ("y", (8, 2), 32, "inp-y-000.bin")
    ]  # fmt: skip
    assert [(one.name, one.shape, one.dtype, one.bytes, one.file) for one in said.outputs] == [
        ("out", (4, 2), "bfloat16", 16, None)
    ]
    assert (bundle.path / "compile.log").read_bytes() == b"said"
    assert bundle.neff_path.read_bytes() == path.read_bytes()


def test_a_neff_with_a_simulators_program_is_the_simulators(neff, store, files):
    path = neff()
    members = {**files.neff_members(), PROGRAM_MEMBER: b"program"}
    path.write_bytes(files.neff_of(members))
    assert read_bundle(publish_neff(store, "k", path)).manifest.toolchain == "sim"


def test_floating_inputs_are_normal_and_the_same_every_time(neff, store, tmp_path):
    """From one generator, in the order of the NEFF."""
    path = publish_neff(store, "k", neff())
    data = [(path / f"inp-{name}-000.bin").read_bytes() for name in "xy"]
    again = publish_neff(Store(tmp_path / "other"), "k", neff())
    assert data == [(again / f"inp-{name}-000.bin").read_bytes() for name in "xy"]
    drawn = np.random.default_rng(42)
    for found, shape in zip(data, ((4, 8), (8, 2)), strict=True):
        values = drawn.standard_normal(shape, dtype=np.float32)
        words = (values.view(np.uint32) + 0x7FFF + (values.view(np.uint32) >> 16 & 1)) >> 16
        assert found == words.astype("<u2").tobytes()


@pytest.mark.parametrize(("dtype", "element"), [("uint8", 1), ("int32", 4), ("void8", 3), ("float8_e8m0fnu", 1)])
def test_inputs_that_may_be_indices_or_have_no_sign_are_zeros(neff, store, dtype, element):
    bundle = publish_neff(store, "k", neff(dtype, element))
    assert (bundle / "inp-x-000.bin").read_bytes() == bytes(32 * element)
    assert (bundle / "inp-y-000.bin").read_bytes() == bytes(16 * element)


def test_a_tensor_of_no_elements_has_no_bytes(neff, store):
    bundle = publish_neff(store, "k", neff("int32", 4, y_rows=0))
    assert (bundle / "inp-y-000.bin").read_bytes() == b""
    assert (bundle / "inp-x-000.bin").stat().st_size == 128


def test_a_tensor_of_no_known_size_is_refused_before_anything_is_written(neff, store):
    with pytest.raises(BundleError, match="says neither size nor element type of its tensor y"):
        publish_neff(store, "k", neff("void8", says_y=False))
    assert not store.path.exists()


def test_a_size_that_is_not_the_shape_is_refused_before_anything_is_written(neff, store):
    with pytest.raises(BundleError, match="gives its tensor x 63 bytes, which is not its shape"):
        publish_neff(store, "k", neff(x_bytes=63))
    assert not store.path.exists()


@pytest.mark.parametrize("name", ["x", "out"])
def test_a_tensor_named_like_an_option_is_refused_before_anything_is_written(neff, store, name):
    with pytest.raises(BundleError, match="has a tensor named '--x', which is unsafe on a command line"):
        publish_neff(store, "k", neff(**{name: "--x"}))
    assert not store.path.exists()


def test_a_file_is_called_by_its_tensor_where_that_can_be_a_name_and_by_its_place_too_where_it_cannot(neff, store):
    path = publish_neff(store, "k", neff(y="a/b:0"))
    assert [one.file for one in read_bundle(path).manifest.inputs] == ["inp-x-000.bin", "inp-1-a-b-0-000.bin"]


@pytest.mark.parametrize("name", ["inp-x-000.bin", "x.bin", "x"])
def test_inputs_of_the_user_are_taken_under_three_names(neff, store, tmp_path, name):
    given = tmp_path / "given"
    given.mkdir()
    (given / name).write_bytes(b"\1" * 64)
    with pytest.raises(BundleError, match=f"--inputs: {given} holds no file for y, expected inp-y-000.bin"):
        publish_neff(store, "k", neff(), inputs=given)
    (given / "y.bin").write_bytes(b"\2" * 33)
    with pytest.raises(BundleError, match=r"--inputs: .*y.bin has 33 bytes, y takes 32"):
        publish_neff(store, "k", neff(), inputs=given)
    (given / "y.bin").write_bytes(b"\2" * 32)
    path = publish_neff(store, "k", neff(), inputs=given)
    assert [(path / f"inp-{one}-000.bin").read_bytes() for one in "xy"] == [b"\1" * 64, b"\2" * 32]


def test_a_case_takes_what_the_neff_says_and_the_first_chip_where_it_says_nothing(neff):
    said = read_neff(neff())
    assert (bare_case("a b", said).kernel, bare_case("a b", said).lnc) == ("a-b", 2)
    unsaid = bare_case("k", replace(said, inputs=(), target=None, lnc=None))
    assert (unsaid.dtype, unsaid.target, unsaid.lnc) == ("none", "trn1", 1)
    assert bare_case("k", replace(said, target="inf2/trn1", lnc=1)).target == "inf2"


@pytest.mark.parametrize(
    ("text", "plain"),
    [("a/b.neff", "a-b-neff"), ("-_a_", "a_"), ("a b//c", "a-b-c"), ("a" * 100, "a" * 100)],
)
def test_a_plain_name_has_letters_digits_and_two_signs_only(text, plain):
    assert plain_name(text) == plain


def test_long_names_stay_different():
    one, other = plain_name("a" * 100 + "b"), plain_name("a" * 100 + "c")
    assert one != other and one[:91] == other[:91] == "a" * 90 + "-" and len(one) == len(other) == 99
