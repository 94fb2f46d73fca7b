import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def host_packages(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    wild = pytest.importorskip("validation.wild.loading", reason="validation is part of the repository only")
    monkeypatch.setattr(wild, "_HOST_PACKAGES", ("click", "no_such_host_package"))
    wild.replace_host_packages()


def test_a_package_that_is_not_installed_has_any_part():
    assert importlib.import_module("no_such_host_package.part").anything is not None


def test_a_part_that_an_installed_package_lacks_stays_absent():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("click.no_such_part")


def test_a_public_kernel_has_the_same_verdict_by_the_two_commands(nki_samples, tmp_path):
    from validation.wild import generated
    from validation.wild.cases import CASES

    (tmp_path / "aws-neuron").mkdir()
    (tmp_path / "aws-neuron" / "nki-samples").symlink_to(nki_samples)
    name = "src/nki_samples/tutorials/tensor_addition/tensor_addition_nki_kernels.py:nki_tensor_add"
    at = next(at for at, case in enumerate(CASES) if (case.repository, case.name) == ("aws-neuron/nki-samples", name))
    (tmp_path / "built").mkdir()
    (found,) = generated.verdicts([at], tmp_path, tmp_path / "built", 1)
    assert (found["verdict"], found["findings"]) == ("right", [])


def test_a_refused_kernel_counts_where_a_record_shows_it_on_a_device():
    from validation.wild.cases import CASES
    from validation.wild.judged import NEVER_RAN, RAN, of_those_that_ran

    names = [f"{case.repository}/{case.name}" for case in CASES]
    ran, never = (
        [next(at for at, name in enumerate(names) if name.startswith(start)) for start in starts]
        for starts in (RAN, NEVER_RAN)
    )
    unknown = names.index("whn09/nki-moe/nki_kernels.py:nki_topk_kernel")
    verdicts = ["refused", "missing", "crashed", *("right" for _ in ran[3:]), *("refused" for _ in (*never, unknown))]
    told = of_those_that_ran([*ran, *never, unknown], [{"verdict": one} for one in verdicts])
    total = len(RAN) - 2
    assert (
        told
        == f"Of {total} kernels that a public record shows on a device, 1 ({1 / total:.1%}) are said to be refused."
    )
