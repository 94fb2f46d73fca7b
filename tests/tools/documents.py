"""What the calls of the documents' rows do: the list that `test_document_calls.py` runs.

`Run`: the call itself, with `more` words where it would write outside its directory or measure for long. `Within`: another call of the
list does the same and more. `Shown`: a block of the page runs the call or a wider one, and `test_docs.py` compares what the page
shows with fresh output.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADING = "## Every row of the document"


@dataclass(frozen=True)
class Run:
    """`says`: what its output or its messages hold. `code`: its exit code, of several where that depends on the host."""

    says: str
    code: int | tuple[int, ...] = 0
    more: str = ""


@dataclass(frozen=True)
class Shown:
    """`says`: what the page's blocks hold."""

    says: str


@dataclass(frozen=True)
class Within:
    """`call`: the other one."""

    call: str


SIM, ONCE = "--backend sim", "--backend numpy --warmup 0 --iterations 1"
SUITE = "neff-bench latency --preset llm --preset tiling --output results/suite.csv"
NO_SDK = "activate the Neuron SDK's environment, or use --toolchain sim"
DOCTOR = Run("driver      not loaded (aws-neuronx-dkms)")
OWN_CASES = "neff-bench linear-projection --cases mine.yaml"
NEEDS_DEVICE = Run("an NKI kernel needs a Neuron device, or --backend sim", code=1)
NOT_BUILT = "needs the AWS Neuron SDK with torch-neuronx (closed kernel of neuronx-cc)"
CAPTURED = 'saved output "out" as "out.10"'

CALLS: dict[str, dict[str, Run | Within | Shown]] = {
    "matmul-latency.md": {
        "neff-bench doctor": DOCTOR,
        SUITE: Run("94/94", more=SIM),
        "neff-bench latency": Run("written: results/quick.csv", more="--backend numpy"),
        "neff-bench latency 1024x4096x4096": Run("2048", more=ONCE),
        "neff-bench latency 256x1024x1024 512x2048x2048": Run("256", more=ONCE),
        "neff-bench latency --preset boundary": Shown("neff-bench latency --preset boundary --iterations 50"),
        "neff-bench latency --preset llm": Within(SUITE),
        "neff-bench latency --preset quick": Run("256x512x512", more=SIM),
        "neff-bench latency --backend torch": Run("", code=(0, 2), more="--iterations 1"),
        "neff-bench latency --backend neuron": Run("error: Neuron device not available: no /dev/neuron*", code=2),
        "generate-neffs --shapes shapes.yaml --out neffs --force": Run("1 built"),
        "generate-neffs --shapes shapes.yaml --out neffs": Run("nothing to build: neffs is up to date (1 case)"),
        "neff-bench latency --warmup 5": Run("measured: ", more="--backend numpy"),
        "neff-bench latency --iterations 20": Run("median of 20", more="--backend numpy"),
        "neff-bench latency --preset tiling": Within(SUITE),
        "neff-bench latency --preset sweep": Run("1024x1024x1024", more=SIM),
        "neff-bench latency --format csv": Run(
            "M,K,N,latency_ms,num_tiles_M,num_tiles_K,num_tiles_N,total_tiles,", more="--backend numpy"
        ),
        "neff-bench latency 100000x100000x100000": Run("needs 111.8 GiB", code=1, more="--backend numpy"),
        "neff-bench latency --backend auto": Run("notice: Neuron device not available: no /dev/neuron*"),
        "neff-bench buckets buckets.csv -k 5 --lengths uniform:1:2048": Shown("best 5         5"),
    },
    "tiles-and-neff-files.md": {
        "generate-neffs --shapes matmuls.yaml --list": Run("matmul_xla_M128_K128_N128_float16_inf2_lnc1"),
        "generate-neffs --shapes matmuls.yaml --out neffs -v --force": Run("1 built"),
        "generate-neffs --shapes matmuls.yaml --out neffs": Run("nothing to build: neffs is up to date (1 case)"),
        "neff-bench inspect neffs/matmul_xla_M128_K128_N128_float16_inf2_lnc1/graph.neff": Run("sunda"),
        "neff-bench inspect neffs": Run("NEFF in neffs/matmul_xla_M128_K128_N128_float16_inf2_lnc1"),
        "neff-bench inspect neffs/matmul_xla_M128_K128_N128_float16_inf2_lnc1/model/graph.hlo": Run("FLOPs 4194304"),
        "neff-bench inspect neffs --format json": Shown("11264\t14\t128x128 128x128"),
        "neff-bench tiling device.csv": Shown("M at K=128 N=128 (xla float16 inf2 lnc1 simulated)  128 129"),
        "neff-bench latency --backend sim --dtype float16 128x128x128 160x128x128 256x128x128 288x128x128": Run(
            "288x128x128 float16"
        ),
        "neff-bench latency --backend sim --dtype float16 --preset boundary --output boundary.csv": Run("34/34"),
        "neff-bench tiling boundary.csv --metric device_us": Run(
            "M at K=128 N=128 (sim float16 simulated) 128 129"
        ),
        "neff-bench latency --shapes matmuls.yaml": Run("128x128x128 float16", more=ONCE),
        "profile-neffs neffs --hot 3": Run("%dot_general.1 = dot("),
    },
    "mlp-comparison.md": {
        "generate-neffs --shapes shapes/mlp.yaml --out neffs": Run(NOT_BUILT, code=1),
        "generate-neffs --shapes shapes/mlp.yaml": Run("mlp_nkilib_b1_s128_h256_i128_bfloat16_trn2_lnc1", more="--list"),
        "generate-neffs --shapes shapes/mlp.yaml --toolchain neuron": Run(NO_SDK, code=2),
        "profile-neffs neffs": Run("mlp CTE nkilib b1 s128 h256 i128", code=1),
        "profile-neffs neffs --format json": Run('"neuroncore_cycle_count": ', code=1),
        "profile-neffs neffs --format csv": Run("compile_time_s", code=1),
        "profile-neffs neffs --profile-nth-exec 2": Run("cached", code=1),
        "neff-bench compare neffs --between nkilib neuronxcc": Run(NOT_BUILT),
        "neff-bench latency 1x128x1024x512 --implementation nkilib --dtype bfloat16": NEEDS_DEVICE,
        "neff-bench latency 1x128x1024x512 --implementation nkilib --dtype bfloat16 --iterations 20": NEEDS_DEVICE,
        "neff-bench latency 1x128x1024x512 --implementation neuronxcc --dtype bfloat16": NEEDS_DEVICE,
        "neuron-sim capture --save-output --neff file.neff --num-exec 10 hidden_tensor inp-hidden_tensor-000.bin "
        "gate_proj_weights_tensor inp-gate_proj_weights_tensor-000.bin up_proj_weights_tensor "
        "inp-up_proj_weights_tensor-000.bin down_proj_weights_tensor inp-down_proj_weights_tensor-000.bin": Run(CAPTURED),
        "neuron-sim capture --neff file.neff --save-output --num-exec 10": Run(CAPTURED),
        "neuron-sim show-session -s profile.ntff": Run(
            "| NODE ID | EXEC TIME (NS) | EXECUTOR | NAME | TRACE | CYCLES | EVENTS | ERRORS |"
        ),
        "neuron-sim view -n file.neff -s profile.ntff --output-format json --output-file profile.json": Run(""),
        "neff-bench inspect profile.json": Run("total_time (us)"),
        "neuron-sim view -n file.neff -s profile.ntff --output-format summary-json": Run('"event_count":'),
        "profile-neffs dumps": Run("framework"),
        "neff-bench install-benchmarks nki-library": Run(
            "wrote nki-library/benchmarks", more="--allow-dirty"
        ),
    },
    "profiling-a-kernel.md": {
        "neff-bench doctor": DOCTOR,
        "neff-bench run --store neffs prof-kernel.py": Run("prof-kernel.tensor_exp_kernel_"),
        "generate-neffs --shapes exp.yaml --disable-dge": Run("exp_nki_M128_N64_float32_trn2_lnc1_flags", more="--list"),
        "neff-bench run prof-kernel-benchmark.py": Run("us, simulated", more="--store other"),
        "neuron-sim capture -n file.neff -s profile.ntff --profile-nth-exec 2": Run(""),
        "profile-neffs dumps": Run("framework"),
        "neff-bench view file.neff profile.ntff --output page.html": Run("SIMULATED"),
        "neff-bench view file.neff profile.ntff --output my_kernel.html": Run("SIMULATED"),
        "neff-bench view file.neff profile.ntff --output page.html --sources my_nki": Run("SIMULATED"),
        "profile-neffs neffs": Run("prof-kernel.tensor_exp_kernel_"),
        "profile-neffs neffs --search prof-kernel.py:35": Run("prof-kernel.py:35"),
        "profile-neffs neffs --search /./": Run("prof-kernel.py:38"),
        "neuron-sim view -n file.neff -s profile.ntff --output-format json --output-file profile.json": Run(""),
        "neff-bench inspect profile.json": Run("event_count"),
    },
    "linear-projections.md": {
        **{
            f"neff-bench linear-projection --test-case {case}": Shown(f"{case} ")
            for case in ("q_proj", "k_proj", "v_proj", "o_proj", "up_proj", "gate_proj", "down_proj")
        },
        "neff-bench linear-projection": Shown("$ neff-bench linear-projection --out store --num-runs 0\n"),
        "neff-bench linear-projection --num-runs 50": Shown("--test-case q_proj --num-runs 50"),
        "neff-bench linear-projection --num-runs 20": Shown("--test-case q_proj --num-runs 50"),
        "neff-bench linear-projection --test-case k_proj --num-runs 1": Within(OWN_CASES),
        "neff-bench linear-projection --toolchain neuron": Run(NO_SDK, code=2, more="--out store"),
        OWN_CASES: Run("my_test 64 100 256", more="--out store --num-runs 1"),
        "neff-bench doctor": DOCTOR,
        "neff-bench linear-projection --batch 1 --batch 4": Shown("--batch 1 --batch 4"),
        "neff-bench linear-projection --dtype bfloat16 --dtype float8_e4m3": Shown("--dtype bfloat16 --dtype float8_e4m3"),
        "neff-bench linear-projection --tile-m 64 --tile-k 64 --tile-n 64": Shown("--tile-m 64 --tile-k 64 --tile-n 64"),
        "neff-bench tile --dtype float32 --tile-m 64 --tile-n 128 --tile-k 128": Shown(
            "neff-bench tile --out store --dtype float32 --tile-m 64 --tile-n 128 --tile-k 128"
        ),
    },
}  # fmt: skip
"""Page -> call of a row -> what it does where there is no SDK and no device, in an order in which each finds what it needs."""


def rows(page: str) -> list[tuple[str, ...]]:
    """Of the table of a page: what the document has, the calls here, the verdict."""
    _, _, table = (ROOT / "docs" / page).read_text().partition(HEADING)
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[1:]]


def calls(row: tuple[str, ...]) -> list[str]:
    """Of one row."""
    return re.findall(r"`([^`]+)`", row[1])


def blocks(page: str) -> str:
    """The console blocks of a page."""
    return "\n".join(re.findall(r"```console[^\n]*\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL))
