"""Would the release on which its authors ran a public kernel take it, by the rules of `neff-bench check`?

A kernel of the old dialect ran on a release before those that the rules speak of: it is judged as by the first of them.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from pathlib import Path

from neff_bench.doors.judging import TIMEOUT_S, Found, Task, warm_up
from neff_bench.rules import findings
from neff_bench.rules.findings import Finding
from neff_bench.rules.source import Source
from neff_bench.sdk.release import names
from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.nki import launch
from neff_bench.simulator.program import Program
from neff_bench.system.forked import Died, map_forked
from validation.wild.cases import CASES
from validation.wild.cases.case import Case
from validation.wild.running import results_of

RELEASES = {
    "KevGomes1403/nki-moe-megakernel": "2.28",
    "KevGomes1403/trainium-model-translation": "2.29",  # NKI 0.3 in its kernels
    "alpharomercoma/": "2.31",  # nki 0.5.0 in its notes
    "aws-neuron/aws-neuron-sdk": "2.32",
    "aws-neuron/neuronx-distributed-inference": "2.29",
    "aws-neuron/nki-samples/src/nki_samples/tutorials/mxfp": "2.28",  # its platform_target= ends there
    "aws-neuron/nki-samples": "2.32",
    "aws-neuron/nkipy": "2.30",  # its pull request 64
    "awslabs/nki-autotune": "2.30",
    "charleshong3/": "2.29",  # its report
    "thustorage/": "2.28",
    "trnsci/": "2.29",  # NKI 0.3 in its notes
    "ucb-bar/autocomp": "2.28",  # NKI 0.2
    "yahavb/": "2.31",
}
"""The release of the SDK on which each repository's kernels of the current dialect ran. A repository that is not listed ran none on a device."""
CHIPS = {
    "KevGomes1403/trainium-model-translation": "trn3",
    "charleshong3/": "trn3",
    "thustorage/": "trn3",
    "trnsci/": "trn1",
}
"""Where that is not the chip of the case."""
_POOLED = "part2/conv2d.py:fused_conv2d_maxpool, pool 2"
RAN = (
    # AWS's own, which it tests on devices, and copies of them
    "aws-neuron/aws-neuron-sdk",
    "aws-neuron/neuronx-distributed-inference",
    "aws-neuron/nki-samples",
    "aws-neuron/nkipy",
    "aws-neuron/upstreaming-to-vllm",
    "aws-qieqingy/",
    "awslabs/",
    "dacorvo/",
    "gnovack/",
    "huggingface/",
    "parfloat/",
    "whn09/neuronx-distributed-inference",
    # with measured times, profiles, or device tests that their notes say pass
    "Jerry2423/",
    "KevGomes1403/",
    "allenkchau/",
    "alpharomercoma/",
    "biquando/",
    "charleshong3/",
    "dinghongsong/",
    "iitaku/",
    "thustorage/",
    "trnsci/trnfft",
    "trnsci/trnrand/trnrand/nki/dispatch.py:philox4x32_kernel",
    "trnsci/trnrand/trnrand/nki/dispatch.py:threefry4x32_kernel",
    "trnsci/trnsolver",
    "trnsci/trntensor",
    "ucb-bar/",
    "yahavb/",
    "zhang677/",
    # a course whose tests run on a device
    "Ericcsr/",
    "Ni2002ka/",
    "Pre1999/",
    "TomZelazny/",
    "Yousef02/",
    "a-argy/",
    "chengli2003/",
    "chenhzhu/",
    "iamsalil/",
    "ichuniq/",
    "im-a-jin/CS149-asst4/part1",
    "minamky/",
    "okyangyishen/",
    "rishic3/",
    "riya-ranjan/",
    "robertpare17/",
    "rohanchanani/",
    "sahiljain01/",
    "ssu53/",
    "xaviergonzalez/",
)
"""How the names of those kernels begin of which a public record says that they ran on a device."""
NEVER_RAN = (
    # 256 rows of a tile, which the course has its students see refused
    *(
        f"{one}/part1/kernels.py:vector_add_tiled"
        for one in (
            "chenhzhu/asst4-trainium2",
            "im-a-jin/CS149-asst4",
            "riya-ranjan/cs149-pa4",
            "robertpare17/asst4-trainium",
            "xaviergonzalez/asst4-trainium2",
        )
    ),
    # pooling that is not written
    f"TomZelazny/asst4-trainium/{_POOLED}",
    f"Yousef02/149-asst4-trainium/{_POOLED}",
    f"chengli2003/asst4-trainium2/{_POOLED}",
    f"okyangyishen/asst4-trainium/{_POOLED}",
    # nothing calls them
    "dinghongsong/NeuronMM/profiler/nki_profiler.py:fused_mlp_up_T_new",
    "iitaku/nki-llama/llama.py:nki_fused_rmsnorm_thin_gemm",
)
"""Which of them did not, by the same record."""
TRACED = ("awslabs/nki-autotune",)
"""Those that name NKI's tracing front end (`nki.compiler.frontend.TracerFrontend`) before it is the default: no parser refuses their Python."""


def judge(chosen: Sequence[int], checkouts: Path, jobs: int) -> list[dict[str, str]]:
    """Return what each case's release makes of it: right stands for a kernel that breaks no known rule."""
    warm_up()
    present = [at for at in chosen if (checkouts / CASES[at].repository / CASES[at].path).is_file()]
    tasks = [(at, str(checkouts)) for at in present]
    said: dict[int, dict[str, str]] = {}
    for (at, _), answer in map_forked(_answer, tasks, jobs=jobs, timeout_s=10 * TIMEOUT_S, memory_bytes=8 * 1024**3):
        said[at] = {"verdict": "crashed", "what": answer.reason} if isinstance(answer, Died) else json.loads(answer)
        case = CASES[at]
        print(f"{said[at]['verdict']:8} {case.repository}/{case.name}  {said[at]['what']}", flush=True)
    return [said.get(at, {"verdict": "missing", "what": "no checkout"}) for at in chosen]


def of_those_that_ran(chosen: Sequence[int], found: Sequence[dict[str, str]]) -> str:
    """Return how many kernels with a verdict a public record shows on a device, and how many of these are refused."""
    names = {at: f"{CASES[at].repository}/{CASES[at].name}" for at in chosen}
    verdicts = [
        one["verdict"]
        for at, one in zip(chosen, found, strict=True)
        if one["verdict"] in ("right", "refused") and names[at].startswith(RAN) and not names[at].startswith(NEVER_RAN)
    ]
    refused = verdicts.count("refused")
    share = f" ({refused / len(verdicts):.1%})" if verdicts else ""
    return (
        f"Of {len(verdicts)} kernels that a public record shows on a device, {refused}{share} are said to be refused."
    )


def _answer(task: tuple[int, str]) -> bytes:
    at, checkouts = task
    case = CASES[at]
    file = Path(checkouts, case.repository, case.path)
    source = Source(f"{case.prelude}\n{file.read_text(errors='replace')}", str(file))
    name = f"{case.repository}/{case.path}"
    release = next(
        (one for start, one in RELEASES.items() if name.startswith(start)), names()[0] if source.old else None
    )
    target = next((one for start, one in CHIPS.items() if name.startswith(start)), case.target)
    if release is None:
        return _told("missing", "no release is known on which it ran")
    heard: list[Program | SimulatorError] = []
    failed = _record(at, Path(checkouts), target, heard.append)
    found = Found(Task(file, target), source.old)
    for one in heard:
        found.hear(one)
    broken = found.findings.union(_of_what_ran(source, case, target, heard))
    traced = case.repository in TRACED
    refused = findings.refused_by([one for one in broken if not (traced and one.code.startswith("NBLP"))], release)
    if refused:
        return _told("refused", f"{release}: {refused.code} {refused.place}: {refused.text}")
    if not heard or found.untold:
        return _told("crashed", f"{release}: cannot tell, {found.untold or failed}")
    return _told("right", f"{release}: no known rule broken")


def _of_what_ran(source: Source, case: Case, target: str, heard: Sequence[Program | SimulatorError]) -> list[Finding]:
    """Return what the functions of the case's file break in which something was recorded."""
    texts = [text for one in heard for text in (one.sources if isinstance(one, Program) else [one.source or ""])]
    own = [text.rpartition(":") for text in texts if text.rpartition(":")[0].endswith(Path(case.path).name)]
    above = case.prelude.count("\n") + 1  # lines that the file itself does not have
    lines = {int(line) + above for _, _, line in own}
    ran = [span for span in map(source.span, source.device) if any(line in span for line in lines)]
    return [one for one in findings.of_source(source, target) if any(one.line in span for span in ran)]


def _told(verdict: str, what: str) -> bytes:
    return json.dumps({"verdict": verdict, "what": what}).encode()


class _Enough(Exception):
    """The kernel is recorded; what its module makes of the result is not asked."""


def _record(at: int, checkouts: Path, target: str, hear: object) -> str:
    """Record the launch of a case, and return why none was."""

    def heard(recorded: Program | SimulatorError) -> None:
        hear(recorded)  # type: ignore[operator]
        raise _Enough

    launch.recorded_only = heard
    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = target
    warnings.simplefilter("ignore")
    try:
        results_of(CASES[at], checkouts / CASES[at].repository)
    except _Enough:
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was launched"
