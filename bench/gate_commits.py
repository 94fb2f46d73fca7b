"""Thirty synthetic commits to a copy of nki-library, each judged as a pull request: what the gate says, and what it costs.

    python bench/gate_commits.py ~/nki-library

Three commits repeat a statement of a kernel (slower), three remove a repetition (faster), two change a kernel that no case
covers, the rest are comments and refactorings. For each the commands of the workflow run: changed_kernels.py, both steps for
what it chooses, the gate. Exit code 1: the gate judged one of them otherwise than it was made.
"""

from __future__ import annotations

import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from neff_bench.nkilib.install import install

PACKAGE = "src/nkilib_src/nkilib/"
RUN = (sys.executable, "-m", "neff_bench")
COMMENT = "# What follows was looked at again.\n"


@dataclass(frozen=True)
class Commit:
    """In `file`, below the package, the first `before` becomes `after`. `kind`: slower, faster, not covered or same."""

    kind: str
    file: str
    before: str
    after: str


def twice(line: str) -> str:
    """Return a statement, and the same again."""
    return line + line


CUMSUM, LOSS = "core/cumsum/cumsum.py", "experimental/loss/cross_entropy.py"
ROPE, ROPE_HF = "core/embeddings/rope.py", "core/embeddings/rope_hf.py"
NORM, FLATTEN, NONZERO = (
    f"core/subkernels/{name}.py" for name in ("layernorm_tkg", "indexed_flatten", "find_nonzero_indices")
)
ONES = "        nisa.memset(dst=ones_sb, value=1.0)\n"
COSINES = "    nisa.dma_copy(dst=cos_sb, src=cos[:, :, tile_start : tile_start + tile_size])\n"
MAXIMA = "            nisa.tensor_copy(src=batch_m_new, dst=batch_m, name=f\"update_m_batch_{batch_idx}_chunk_{chunk_idx}\")\n"
MAXIMA_TWICE = MAXIMA + MAXIMA.replace("update_m", "update_again_m")
REDUCTION = "    nisa.memset(dst=reduction_const, value=(1.0 / H))\n"
LOAD = "        nisa.dma_copy(x_tile, x_ap_src)\n"
COUNTS = "    nisa.memset(dst=nonzero_counts_local, value=0)\n"

FASTER = [
    Commit("faster", NORM, twice(REDUCTION), REDUCTION),
    Commit("faster", ROPE_HF, twice(LOAD), LOAD),
    Commit("faster", NONZERO, twice(COUNTS), COUNTS),
]
SLOWER = [
    Commit("slower", CUMSUM, ONES, twice(ONES)),
    Commit("slower", ROPE, COSINES, twice(COSINES)),
    Commit("slower", LOSS, MAXIMA, MAXIMA_TWICE),
]
NOT_COVERED = [
    Commit("not covered", "core/topk/rotational_topk.py", "import nki\n", COMMENT + "import nki\n"),
    Commit("not covered", "experimental/collectives/sb2sb_allgather.py", "import nki\n", COMMENT + "import nki\n"),
]
COMMENTED = (
    "core/attention/attention_bwd core/attention/attention_cte core/cumsum/cumsum core/embeddings/rope core/embeddings/rope_hf "
    "core/max/cascaded_max core/mlp/mlp core/rmsnorm/rmsnorm_quant core/router_topk/router_topk core/subkernels/rmsnorm_tkg "
    "core/subkernels/layernorm_tkg core/subkernels/indexed_flatten experimental/conv/conv1d experimental/conv/depthwise_conv1d "
    "experimental/loss/cross_entropy"
).split()
REFACTORED = [
    Commit("same", CUMSUM, "num_f_tiles", "f_tile_count"),
    Commit("same", CUMSUM, "last_col_idx", "last_column"),
    Commit("same", CUMSUM, "init_sb", "carried_sb"),
    Commit("same", ROPE, "cos_sb", "cosines_sb"),
    Commit("same", NORM, "reduction_const", "one_over_h"),
    Commit("same", FLATTEN, "sbuf_init", "padding_sb"),
    Commit("same", NONZERO, "sbuf_init", "minus_one_sb"),
]


def commented(checkout: Path) -> list[Commit]:
    """Return commits that write a comment above the first import of a kernel's file, which moves every line of it."""
    found = []
    for name in COMMENTED:
        text = (checkout / PACKAGE / f"{name}.py").read_text()
        line = next(line for line in text.splitlines(keepends=True) if line.startswith(("import ", "from ")))
        found.append(Commit("same", f"{name}.py", line, COMMENT + line))
    return found


def main() -> int:
    given = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="gate-commits-") as scratch:
        work = Path(scratch)
        for side in ("base", "head"):
            shutil.copytree(given / "src", work / side / "src", ignore=shutil.ignore_patterns("__pycache__"))
            install(work / side, allow_dirty=True)
            for commit in FASTER:
                change(work / side, Commit("", commit.file, commit.after, commit.before))
        commits = [*SLOWER, *FASTER, *NOT_COVERED, *commented(given), *REFACTORED]
        right = 0
        print(f"{'cpu s':>6} {'made':12} {'said':12} file")
        for commit in commits:
            started = cpu_s()
            said, about = judged(work, commit)
            right += said == commit.kind
            print(f"{cpu_s() - started:6.1f} {commit.kind:12} {said:12} {commit.file}{about}", flush=True)
    print(f"{right} of {len(commits)} commits were judged as they were made")
    return 0 if right == len(commits) else 1


def judged(work: Path, commit: Commit) -> tuple[str, str]:
    """Return what the gate says of a commit, and the first line of why."""
    file = work / "head" / PACKAGE / commit.file
    text = file.read_text()
    change(work / "head", commit)
    try:
        changed = run(work, sys.executable, "head/benchmarks/ci/changed_kernels.py", given=PACKAGE + commit.file).stdout
        (work / "changed.txt").write_text(changed)
        only, *missing = changed.splitlines()
        options = only.removeprefix("only=")
        if options == "none":
            return ("not covered" if missing else "same"), f": {', '.join(missing)}"
        for side in ("base", "head"):
            shutil.rmtree(work / f"{side}.neffs", ignore_errors=True)
            steps = ("head/benchmarks/benchmark_step1_generate_neff.py", "head/benchmarks/benchmark_step2_profile.py")
            out = f"{side}.neffs"
            run(
                work,
                sys.executable,
                steps[0],
                "--toolchain",
                "sim",
                "--nkilib",
                side,
                "--out",
                out,
                *shlex.split(options),
            )
            run(work, sys.executable, steps[1], out, "--toolchain", "sim")
        gate = ("gate", "base.neffs", "head.neffs", "--config", "head/benchmarks/gate.yaml", "--changed", "changed.txt")
        done = run(work, *RUN, *gate, "--format", "md")
    finally:
        file.write_text(text)
    better = "got better" in done.stdout
    told = next((line for line in done.stdout.splitlines() if "worse |" in line or "better |" in line), "")
    return "slower" if done.returncode == 1 else "faster" if better else "same", f"  {told}"


def change(checkout: Path, commit: Commit) -> None:
    """A statement is changed once, a name everywhere."""
    file = checkout / PACKAGE / commit.file
    text = file.read_text()
    if commit.before not in text:
        raise SystemExit(f"{file}: does not hold {commit.before!r}")
    file.write_text(text.replace(commit.before, commit.after, -1 if commit.before.isidentifier() else 1))


def run(work: Path, *words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """Exit code 2 of any command of the workflow ends the program."""
    done = subprocess.run(words, cwd=work, input=given, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{shlex.join(words)}: exit code {done.returncode}: {done.stderr}")
    return done


def cpu_s() -> float:
    """CPU seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
