"""Checkouts of other projects that some tests read, each at the commit that the tests were written for.

CHECKOUTS names a folder that holds them as OWNER/NAME or OWNER+NAME. A variable of a checkout's own names that checkout alone.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Checkout(NamedTuple):
    """`variable`: of the environment."""

    variable: str
    repository: str
    commit: str


NKI_LIBRARY = Checkout("NKILIB_PATH", "aws-neuron/nki-library", "0759719da4e84ad29ddba3621a59e614779929ee")
NKI_SAMPLES = Checkout("NKI_SAMPLES_PATH", "aws-neuron/nki-samples", "6905a68a122f937e68403727759f035ddd144f95")
NEURON_SDK = Checkout("NEURON_SDK_PATH", "aws-neuron/aws-neuron-sdk", "81ce03ae261e12925e53437a0f690478e6366155")
ALL = (NKI_LIBRARY, NKI_SAMPLES, NEURON_SDK)


def find(checkout: Checkout, environment: Mapping[str, str] = os.environ) -> Path:
    """Raises FileNotFoundError when there is none, or one of another commit."""
    own, folder = environment.get(checkout.variable), environment.get("CHECKOUTS")
    if not own and not folder:
        raise FileNotFoundError(
            f"needs {checkout.repository} at {checkout.commit[:7]}: {checkout.variable} is not set, nor is CHECKOUTS"
        )
    names = (checkout.repository, checkout.repository.replace("/", "+"))
    places = [Path(own)] if own else [Path(folder or "", name) for name in names]
    place = next((place.resolve() for place in places if place.is_dir()), None)
    if place is None:
        raise FileNotFoundError(f"needs {checkout.repository}: there is no {' and no '.join(map(str, places))}")
    if (found := commit_of(place)) != checkout.commit:
        raise FileNotFoundError(f"{place} is at {found[:7]}: run git -C {place} checkout {checkout.commit[:7]}")
    return place


def commit_of(place: Path) -> str:
    """Of a folder that is no checkout: "no commit"."""
    done = subprocess.run(
        ["git", "-C", place, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=60,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(place.parent)},
    )  # fmt: skip
    return done.stdout.strip() or "no commit"
