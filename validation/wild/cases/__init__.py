"""Public kernels and how they are driven: our shapes and references, none of their code. One module for each repository."""

from __future__ import annotations

from validation.wild.cases import (
    accelopt,
    autocomp,
    autocomp_more,
    autotune,
    contest,
    cs149,
    fusion,
    helpers,
    layers,
    llama,
    models,
    nkipy,
    releases,
    samples,
    sdk,
    states,
    teams,
    triton_viz,
    trnsci,
)
from validation.wild.cases.case import Case

CASES: tuple[Case, ...] = (
    *samples.CASES,
    *sdk.CASES,
    *accelopt.CASES,
    *autocomp.CASES,
    *autocomp_more.CASES,
    *autotune.CASES,
    *fusion.CASES,
    *triton_viz.CASES,
    *helpers.CASES,
    *nkipy.CASES,
    *models.CASES,
    *cs149.CASES,
    *cs149.MORE_CASES,
    *trnsci.CASES,
    *layers.CASES,
    *contest.CASES,
    *llama.CASES,
    *states.CASES,
    *cs149.THIRD_CASES,
    *releases.CASES,
    *teams.CASES,
)
