"""Which cases judge a change of nki-library, and what no case judges."""

import pytest
from click.testing import CliRunner

from neff_bench.nkilib.changed import Touched, covered, library_of, touched
from neff_bench.nkilib.coverage_cli import changed_kernels
from neff_bench.nkilib.library import Library
from neff_bench.stage1_generate.shapes.read import read_shapes

JIT = "import nki\n\n\n@nki.jit\n"
SOURCES = {
    "core/mlp/mlp.py": f"from ..utils.tiles import tile\nfrom .mlp_tkg import mlp_tkg\n{JIT}def mlp(x):\n    pass\n",
    "core/mlp/mlp_tkg.py": "def mlp_tkg(x):\n    pass\n",
    "core/mlp/mlp_torch.py": "import torch\n",
    "core/attention/attention_bwd.py": f"from ..utils.tiles import tile\n{JIT}def attention_bwd(q):\n    pass\n",
    "core/attention/attention_cte.py": f"{JIT}def attention_cte(q):\n    pass\n",
    "core/cumsum/__init__.py": "from .cumsum import cumsum\n",
    "core/cumsum/cumsum.py": f"{JIT}def cumsum(x):\n    pass\n",
    "core/transformer/transformer_torch.py": "import torch\n",
    "core/utils/tiles.py": "def tile():\n    pass\n",
    "experimental/conv/conv.py": "import nki\n\n\ndef _part(x):\n    pass\n\n\nclass Config:\n    pass\n"
    + JIT
    + "def conv1d(x):\n    pass\n",
}
SHAPES = """\
defaults: {implementation: nkilib}
cases:
  - {kernel: mlp, b: 1, s: 1, h: 128, i: 128}
  - {kernel: attention_cte, b: 1, kv: 1, s: 512, d: 128}
  - {kernel: "nkilib_src.nkilib.core.cumsum.cumsum:cumsum", name: sums, M: 8, inputs: {x: {shape: [M]}}}
"""
LIBRARY = "src/nkilib_src/nkilib/"


@pytest.fixture
def checkout(tmp_path):
    for name, text in SOURCES.items():
        path = tmp_path / LIBRARY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for folder in path.parents:
            if tmp_path / "src" in folder.parents:
                (folder / "__init__.py").touch()
    (tmp_path / "shapes.yaml").write_text(SHAPES)
    return tmp_path


@pytest.fixture
def ask(checkout):
    library = Library(checkout)
    globs = covered(library, read_shapes(checkout / "shapes.yaml"))
    return lambda *paths: touched(library, globs, paths)


def test_kernels_are_the_public_functions_that_nothing_else_uses(checkout):
    assert {kernel.name for kernel in Library(checkout).kernels} == {
        "mlp", "attention_bwd", "attention_cte", "cumsum", "conv1d",
    }  # fmt: skip


def test_a_kernel_that_a_test_imports_is_one_though_others_use_it(checkout):
    test = checkout / "test/integration/nkilib/core/mlp/test_mlp_tkg.py"
    test.parent.mkdir(parents=True)
    test.write_text("from nkilib_src.nkilib.core.mlp.mlp_tkg import mlp_tkg\n")
    library = Library(checkout)
    (kernel,) = [kernel for kernel in library.kernels if kernel.name == "mlp_tkg"]
    assert library.tests_of(kernel) == [test]
    assert covered(library, read_shapes(checkout / "shapes.yaml"))[kernel.entry] == "mlp_*"


def test_a_change_of_a_kernel_or_of_its_parts_chooses_its_cases(ask):
    assert ask(LIBRARY + "core/mlp/mlp.py", "README.md") == Touched("--only 'mlp_*'")
    assert ask(LIBRARY + "core/mlp/mlp_tkg.py") == Touched("--only 'mlp_*'")
    assert ask(LIBRARY + "core/cumsum/cumsum.py") == Touched("--only 'sums_*'")


def test_a_kernel_without_a_case_is_named_and_no_other_stands_for_it(ask):
    assert ask(LIBRARY + "core/attention/attention_bwd.py") == Touched("none", ("attention_bwd",))
    assert ask(LIBRARY + "experimental/conv/conv.py") == Touched("none", ("conv1d",))


def test_shared_code_touches_every_kernel_that_reads_it(ask):
    assert ask(LIBRARY + "core/utils/tiles.py") == Touched("--only 'mlp_*'", ("attention_bwd",))


def test_a_file_that_no_kernel_reads_touches_those_of_its_folder(ask):
    assert ask(LIBRARY + "core/mlp/mlp_torch.py") == Touched("--only 'mlp_*'")
    assert ask(LIBRARY + "core/attention/gone.py") == Touched("--only 'attention_cte_*'", ("attention_bwd",))
    assert ask(LIBRARY + "core/utils/gone.py") == Touched("--only 'mlp_*'", ("attention_bwd",))


def test_a_folder_without_a_kernel_is_named(ask):
    assert ask(LIBRARY + "core/transformer/transformer_torch.py") == Touched("none", ("core/transformer",))


def test_what_is_no_kernel_chooses_none_and_benchmarks_choose_all(ask):
    assert ask("README.md", "test/unit/test_x.py") == Touched("none")
    assert ask("benchmarks/shapes.yaml") == Touched("")


def test_the_command_keeps_its_lines(checkout):
    words = [str(checkout), "--shapes", str(checkout / "shapes.yaml")]
    paths = f"{LIBRARY}core/mlp/mlp.py\n{LIBRARY}core/attention/attention_bwd.py\n"
    result = CliRunner().invoke(changed_kernels, words, input=paths)
    assert result.exit_code == 0
    assert result.stdout == "only=--only 'mlp_*'\nnot covered: attention_bwd\n"


def test_what_a_shapes_file_names_is_a_kernel_though_others_use_it(checkout):
    entry = "nkilib_src.nkilib.core.mlp.mlp_tkg:mlp_tkg"
    (checkout / "shapes.yaml").write_text(
        f"cases: [{{kernel: '{entry}', implementation: nkilib, M: 8, inputs: {{x: {{shape: [M]}}}}}}]\n"
    )
    cases = read_shapes(checkout / "shapes.yaml")
    assert entry in covered(library_of(checkout, cases), cases)
