"""To come."""

from __future__ import annotations

from tools.wild_cases.case import Case

CASES: tuple[Case, ...] = ()
