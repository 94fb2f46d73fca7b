"""Which cases a pull request builds."""

from neff_bench.install_benchmarks.template.ci.changed_kernels import options


def test_a_kernel_chooses_its_cases():
    assert options(["src/nkilib_src/nkilib/core/mlp/mlp.py", "README.md"]) == "--only 'mlp_*'"


def test_shared_code_chooses_all():
    assert options(["src/nkilib_src/nkilib/core/mlp/mlp.py", "src/nkilib_src/nkilib/core/utils/x.py"]) == ""


def test_no_kernel_chooses_none():
    assert options(["README.md", "test/unit/test_x.py"]) == "none"
