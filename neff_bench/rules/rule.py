"""Says how a rule of AWS's compiler is declared.

    rule("E603", "nl.divide as an operator of tensor_scalar", DIVIDE, source="vs", sure="DM", judges=[...], since="2.29")

A code is never used again: one that a release made wrong keeps its number and gets an `until`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from neff_bench.chips import chip_for
from neff_bench.rules.call import Call, Kernel
from neff_bench.rules.source import Source
from neff_bench.sdk.release import names

PREFIX = "NBL"
Level = Literal["error", "warning", "note"]
Found: TypeAlias = "str | bool | None"
"""What a judge says: what is wrong in words, or only that something is."""


@dataclass(frozen=True)
class OfCalls:
    """Judges each recorded call of the operations `ops`; no name stands for all that compute, `dma` for all transfers."""

    ops: tuple[str, ...]
    test: Callable[[Call], Found]


@dataclass(frozen=True)
class OfSource:
    """Judges a source: the places that break the rule, each with what stands there."""

    find: Callable[[Source], Iterator[tuple[ast.AST, str]]]


@dataclass(frozen=True)
class OfReleases:
    """Judges a source as OfSource does, for rules of which each place has releases of its own. A rule that says more about the same line stands for it."""

    find: Callable[[Source], Iterator[tuple[ast.AST, str, Sequence[str]]]]


@dataclass(frozen=True)
class OfKernel:
    """Judges a recorded kernel as a whole."""

    test: Callable[[Kernel], Found]


@dataclass(frozen=True)
class Refusal:
    """The simulator refuses what breaks the rule, with a text that matches."""

    pattern: re.Pattern[str]


Place: TypeAlias = "tuple[int, int]"
"""A line, from 1, and a column in bytes, from 0."""
Fix: TypeAlias = "Callable[[ast.AST, Source], Iterator[tuple[Place, Place, str]]]"
"""Gives what to put between two places of a source, for a node that breaks a rule. It keeps what the kernel computes."""
Judge: TypeAlias = "OfCalls | OfSource | OfReleases | OfKernel | Refusal"


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule.

    `forbids`: what must not stand in a kernel. `instead`: what to write. `source`: keys of `SOURCES`, the first one the best.
    `sure`: letters of `SURE`. `chips`: those that refuse it; none stands for all. `since`, `until`: the first and the last
    release of the SDK that refuses it; None where all that are known do. `says`: AWS's wording or code, where it is public. `fix`: of `check --fix`.
    """

    code: str
    forbids: str
    instead: str
    source: tuple[str, ...]
    sure: str
    judges: tuple[Judge, ...]
    chips: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    says: str = ""
    fix: Fix | None = None

    @property
    def level(self) -> Level:
        """The rule of evidence. An error has public words of AWS (a page, a declaration, the parser's source, or a message of the compiler
        that somebody published) and was refused by a tool of AWS (the compiler, the parser, Python itself where a name is absent), or is in AWS's list of its compiler's errors.
        With one of the two it is a warning. What AWS's own library does, what is deprecated and what is inferred is a note."""
        if set("COI") & set(self.sure):
            return "note"
        words, refused = self.says or set("DFAE") & set(self.sure), set("FMAE") & set(self.sure)
        return "error" if words and refused else "warning"

    @property
    def known_by(self) -> str:
        """How sure we are, in words."""
        return ", ".join(SURE[letter] for letter in self.sure)

    @property
    def releases(self) -> tuple[str, ...]:
        """The known releases that refuse it."""
        known = names()
        first = known.index(self.since) if self.since else 0
        last = known.index(self.until) if self.until else len(known) - 1
        return known[first : last + 1]

    @property
    def of_old(self) -> bool:
        """Whether it is of the old dialect alone."""
        return self.code[len(PREFIX)] == "B"

    def holds(self, target: str) -> bool:
        """Return whether it is a rule of a chip: of its cores, whatever chip with such cores is named."""
        return not self.chips or chip_for(target).generation in {chip_for(name).generation for name in self.chips}


SURE = {
    "D": "documented",
    "F": "refused by AWS's published parser",
    "M": "seen refused",
    "A": "absent from AWS's declarations",
    "E": "in AWS's list of errors",
    "I": "inferred",
    "C": "contradicted by AWS's own library",
    "O": "deprecated",
}
"""How it is known that AWS refuses what breaks a rule."""

RULES: dict[str, Rule] = {}
"""Every rule by its code."""


def rule(  # noqa: PLR0913 - a declaration
    code: str,
    forbids: str,
    instead: str,
    source: str,
    sure: str,
    *judges: Judge,
    chips: str = "",
    since: str | None = None,
    until: str | None = None,
    says: str = "",
    fix: Fix | None = None,
) -> None:
    """Declare a rule. Raises ValueError for a code that is taken, for no judge, and for a source or a release that is not known."""
    code = PREFIX + code
    if code in RULES or not judges:
        raise ValueError(f"rule {code}: {'a judge is missing' if not judges else 'the code is taken'}")
    wrong = [*(set(source.split()) - SOURCES.keys()), *(set(sure) - SURE.keys()), *({since, until} - {None, *names()})]
    if wrong:
        raise ValueError(f"rule {code}: not known: {wrong}")
    RULES[code] = Rule(
        code, forbids, instead, tuple(source.split()), sure, judges, tuple(chips.split()), since, until, says, fix
    )


def chosen(words: Sequence[str]) -> set[str]:
    """Return the codes that begin with one of `words`; `E603` stands for `NBLE603`, `E` for all that begin with it."""
    starts = tuple(word if word.startswith(PREFIX) else PREFIX + word for word in words)
    return {code for code in RULES if code.startswith(starts)}


_AWS, _HUB = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/", "https://github.com/"
SOURCES = {
    "isa": ("AWS's declarations of nki.isa", f"{_AWS}nki/api/nki.isa.html"),
    "language": ("AWS's declarations of nki.language", f"{_AWS}nki/api/nki.language.html"),
    "stubs": ("AWS's declarations, release against release (SDK 2.26 to 2.32)", f"{_HUB}aws-neuron/aws-neuron-sdk"),
    "notes": ("AWS's release notes of NKI", f"{_AWS}release-notes/components/nki.html"),
    "migration": ("AWS's migration guide of NKI", f"{_AWS}nki/migration/index.html"),
    "guide": ("AWS's NKI language guide", f"{_AWS}nki/get-started/nki-language-guide.html"),
    "dtypes": ("AWS's table of NKI data types", f"{_AWS}nki/api/nki.api.shared.html"),
    "sizes": ("AWS's page of nki.language.tile_size", f"{_AWS}nki/api/generated/nki.language.tile_size.html"),
    "patterns": ("AWS's page of access patterns", f"{_AWS}nki/deep-dives/nki-aps.html"),
    "dge": ("AWS's page of descriptor generation", f"{_AWS}nki/deep-dives/nki-dge.html"),
    "loops": ("AWS's page of dynamic loops", f"{_AWS}nki/deep-dives/nki-dynamic-loops.html"),
    "trn1": ("AWS's architecture guide of Trainium", f"{_AWS}nki/guides/architecture/trainium_inferentia2_arch.html"),
    "trn2": ("AWS's architecture guide of Trainium2", f"{_AWS}nki/guides/architecture/trainium2_arch.html"),
    "trn3": ("AWS's architecture guide of Trainium3", f"{_AWS}nki/guides/architecture/trainium3_arch.html"),
    "simulator": ("AWS's page of nki.simulate", f"{_AWS}nki/guides/nki_simulator.html"),
    "lnc": ("AWS's page of logical cores", f"{_AWS}nki/get-started/lnc.html"),
    "errors": (
        "AWS's page of NKI errors (SDK 2.26)",
        f"{_HUB}aws-neuron/aws-neuron-sdk/blob/v2.26.1/nki/api/nki.errors.rst",
    ),
    "codes": ("AWS's compiler error codes", f"{_AWS}compiler/error-codes/index.html"),
    "2.33": ("AWS's documentation of SDK 2.33", f"{_AWS}nki/index.html"),
    "parser": ("the published source of AWS's parser (KLR)", f"{_HUB}leanprover/KLR/tree/7ccd18c14c/interop/klr"),
    "nkilib": ("AWS's nki-library", f"{_HUB}aws-neuron/nki-library"),
    "hardware": (
        "AWS's nkipy, HardwareConstants.h",
        f"{_HUB}aws-neuron/nkipy/blob/b91c980/nkigen/mlir/include/nkipy/Transforms/HardwareConstants.h",
    ),
    "1282": ("issue aws-neuron-sdk#1282", f"{_HUB}aws-neuron/aws-neuron-sdk/issues/1282"),
    "1322": ("issue aws-neuron-sdk#1322", f"{_HUB}aws-neuron/aws-neuron-sdk/issues/1322"),
    "1301": ("issue aws-neuron-sdk#1301", f"{_HUB}aws-neuron/aws-neuron-sdk/issues/1301"),
    "1346": ("issue aws-neuron-sdk#1346", f"{_HUB}aws-neuron/aws-neuron-sdk/issues/1346"),
    "1373": ("issue aws-neuron-sdk#1373", f"{_HUB}aws-neuron/aws-neuron-sdk/issues/1373"),
    "autotune": ("awslabs/nki-autotune, notes", f"{_HUB}awslabs/nki-autotune/blob/d57bcc3/.claude/rules/learnings.md"),
    "megakernel": ("KevGomes1403/nki-moe-megakernel, notes", f"{_HUB}KevGomes1403/nki-moe-megakernel"),
    "deltanet": ("dstair/neuron-pytorch-native, deltanet_chunked_v2.py", f"{_HUB}dstair/neuron-pytorch-native"),
    "shiftwarp": ("yahavb/pave_univr_trn2_repro, nki_shift_warp.py", f"{_HUB}yahavb/pave_univr_trn2_repro"),
    "kiln": ("foxl-ai/kiln, kernels and notes (SDK 2.32)", f"{_HUB}foxl-ai/kiln"),
    "spectral": (
        "aws-samples/sample-spectral-dns-on-aws-neuron, rules of the platform (SDK 2.32)",
        f"{_HUB}aws-samples/sample-spectral-dns-on-aws-neuron",
    ),
    "deepseek": ("public notes on DeepSeek-V4 with vllm-neuron (SDK 2.32)", ""),  # 60649319030
    "trnsci": ("trnsci, notes of its releases", "https://trnsci.dev/blog/"),
    "trnrand": ("trnsci/trnrand, dispatch.py", f"{_HUB}trnsci/trnrand"),
    "trnfft": ("trnsci/trnfft, reproduce_nl_load_transpose2d.py and commit ebf6d60", f"{_HUB}trnsci/trnfft"),
    "torch2nki": ("aws-neuron/torch2nki, logged answers of the compiler", f"{_HUB}aws-neuron/torch2nki"),
    "kda": ("Jerry2423/kda-for-trainium, results of kernels on trn2", f"{_HUB}Jerry2423/kda-for-trainium"),
    "trnlabs": ("yahavb/trainium-agent-labs, logs of builds (SDK 2.32)", f"{_HUB}yahavb/trainium-agent-labs"),
    "trnsolver": ("trnsci/trnsolver, commit ee41b7b", f"{_HUB}trnsci/trnsolver/commit/ee41b7b"),
    "samples91": ("issue nki-samples#91", f"{_HUB}aws-neuron/nki-samples/issues/91"),
    "hfkernels": (
        "bbioren/hf-kernels-neuron, probe_nki05_api.py (SDK 2.31)",
        f"{_HUB}bbioren/hf-kernels-neuron/blob/e8f80b8/scripts/probe_nki05_api.py",
    ),
    "optimizer": ("arminagha1234/trainium-optimizer", f"{_HUB}arminagha1234/trainium-optimizer"),
    "samples44": ("issue nki-samples#44", f"{_HUB}aws-neuron/nki-samples/issues/44"),
    "autocomp": (
        "ucb-bar/autocomp, logged answers of the compiler",
        f"{_HUB}ucb-bar/autocomp/tree/d4fa048/visualizer/src/extension/__fixtures__/sample_run",
    ),
    "old": ("AWS's reference of the old dialect (SDK 2.26)", f"{_HUB}aws-neuron/aws-neuron-sdk/tree/v2.26.1/nki/api"),
    "known": (
        "AWS's page of known issues of NKI (SDK 2.26)",
        f"{_HUB}aws-neuron/aws-neuron-sdk/blob/v2.26.1/nki/nki_known_issues.rst",
    ),
    "trnsparse": ("trnsci/trnsparse, commit 85d746a", f"{_HUB}trnsci/trnsparse/commit/85d746a"),
    "trntensor": ("trnsci/trntensor#39", f"{_HUB}trnsci/trntensor/issues/39"),
    "torchneuronx": ("alpharomercoma/torchneuronx, nki_softmax.py", f"{_HUB}alpharomercoma/torchneuronx"),
    "helion": ("notes of Helion's Neuron back end", f"{_HUB}pytorch/helion"),
    "harness": ("a public harness that compiles kernels on trn2", ""),  # 71208497368, 71023280564
    "attention": ("a public attention kernel with its compiler's messages", ""),  # 71505674136
    "prefill": ("a public Qwen3 megakernel with notes", ""),  # 70953919765
    "standalone": ("a public guide of NKI compilation on a CPU", ""),  # 71463761378
    "kernels": ("a public collection of kernels with notes", ""),  # 70888826738
    "collectives": ("public notes on nki.collectives", ""),  # 70774282753
    "transpose": ("public findings on a matmul with B transposed, trn2", ""),  # 55812284476
    "histogram": ("a public histogram kernel with notes", ""),  # 68977351840, 69049388797
    "blocked": ("public notes on a blocked matmul, trn2", ""),  # 67510130695
    "deltanet1": ("notes on DeltaNet kernels on trn1", ""),  # 59873268593
    "vision": ("notes on a vision model, SDK 2.29", ""),  # 58648632791
    "views": ("public docstrings of experimental views", ""),  # 70153174010
    "profile": ("a public probe of NKI", ""),  # 62051429705
    "loopcoll": ("a public attention kernel over ranks (SDK 2.32)", ""),  # 65773449421
    "nkibench": ("a public set of kernels for trn2 with notes (SDK 2.32)", ""),  # 71054011768
    "xpuperf": ("whn09/xpu-perf, rms_norm.py and its probe (SDK 2.32)", f"{_HUB}whn09/xpu-perf"),
    "debugging": ("public notes on debugging decode kernels on trn2", ""),  # 54680412183
    "triton-viz": ("triton-viz, tests of NKI beta 2", ""),  # 52549002851
}
"""Where a rule is known from: what it is, and its address where that is known. A number behind a line is that of the file in an index of public code
that tells no addresses."""
