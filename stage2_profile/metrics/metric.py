"""Says what a metric of a row is: unit, source, direction and column head. The metrics themselves are the fields of `Row`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from neff_bench.parsers.summary import Summary

if TYPE_CHECKING:
    from neff_bench.parsers.trace import Ntff

Unit = Literal["us", "s", "percent", "TFLOPS", "FLOPs", "FLOPs/byte", "bytes", "count", "cycles"]
Better = Literal["lower", "higher", "either"]
"""Which change is good; `either`: none is, the value belongs to the case and not to the program."""

COUNTED: tuple[Unit, ...] = ("FLOPs", "bytes", "count", "cycles")
SCALES: Mapping[tuple[str, Unit], float] = {("_s", "us"): 1e6, ("_fraction", "percent"): 100.0}
"""The factor from the unit that the name of a summary's attribute ends in to that of the metric."""


@dataclass(frozen=True)
class Evidence:
    """Holds what the numbers of a row are made from: `summaries` of the profiled executions, or `traces` that no tool has viewed;
    `model_flops` of the case, and the peak rate of its logical core. `captures`: the summaries by capture, where a case was
    captured several times."""

    summaries: Sequence[Summary] = ()
    traces: Sequence[Ntff] = ()
    model_flops: int | None = None
    peak_tflops: float | None = None
    captures: Sequence[Sequence[Summary]] = ()


Numbers = Mapping[str, Any]
Source = Callable[[Evidence, Numbers], float | None]
"""Value of a metric from the evidence and from the metrics above it in the table; None where neither tells it."""


@dataclass(frozen=True)
class Metric:
    """`unit`: also the end of the name. `meaning`: what it is, in words. `source`: None for what the bundle tells. `better`: None for what is not compared.
    `head`: of its column in the table for people, empty where it has none; `share`: shown there in percent of the total time.
    """

    name: str
    unit: Unit
    meaning: str
    source: Source | None
    better: Better | None
    head: str
    share: bool

    @property
    def exact(self) -> bool:
        """Whether a simulated value is that of the program, and not an estimate: all that no time is in."""
        return self.unit not in ("us", "s", "percent", "cycles")


def metric(  # noqa: PLR0913 - a declaration
    unit: Unit,
    meaning: str,
    source: str | tuple[str, ...] | Source | None = None,
    *,
    among: tuple[str, ...] = (),
    trace: Callable[[Ntff], float | None] | None = None,
    better: Better | None = None,
    head: str = "",
    share: bool = False,
) -> Any:
    """Return the field of a metric in a row.

    `meaning`: what it is, in words that follow its name.
    `source`: an attribute of `Summary`, several that are summed, or a function; the number is the median over the
    executions that have it. `among`: attributes of which the profiler leaves out those that are 0: where one of them is there, `source` is
    0 if it is not. `trace`: where it stands in a trace that no tool has viewed, in the unit that the attribute has.
    Raises `TypeError` for an attribute that `Summary` lacks or that has another unit.
    """
    names = (source,) if isinstance(source, str) else source
    told = {
        "unit": unit,
        "meaning": meaning,
        "source": _from_summary(names, unit, among, trace) if isinstance(names, tuple) else names,
        "better": better,
        "head": head,
        "share": share,
    }
    return field(default=None, metadata={"metric": told})


def metrics_of(row: type) -> dict[str, Metric]:
    """Return the metrics of a row class by name, in the order of its fields. Raises `LookupError` for one that is made from a metric below it."""
    found = {
        each.name: Metric(each.name, **each.metadata["metric"]) for each in fields(row) if "metric" in each.metadata
    }
    values(found, Evidence())
    return found


def values(metrics: Mapping[str, Metric], evidence: Evidence) -> dict[str, Any]:
    """Return the value of each metric that has a source."""
    numbers: dict[str, Any] = {}
    for name, each in metrics.items():
        if each.source is not None:
            numbers[name] = each.source(evidence, numbers)
    return numbers


def interquartile_range(samples: Sequence[float]) -> float:
    """Return the third minus the first quartile (inclusive method) of at least two values."""
    first, _, third = statistics.quantiles(samples, n=4, method="inclusive")
    return third - first


def _from_summary(
    names: tuple[str, ...], unit: Unit, among: tuple[str, ...], trace: Callable[[Ntff], float | None] | None
) -> Source:
    scale = _scale(names, unit)

    def told(execution: Summary) -> float | None:
        known = [value for name in names if (value := getattr(execution, name)) is not None]
        told_of = known or any(getattr(execution, name) is not None for name in among)
        return sum(known) if told_of else None

    def read(evidence: Evidence, numbers: Numbers) -> float | None:
        found = [told(execution) for execution in evidence.summaries]
        if trace is not None:
            found += [trace(each) for each in evidence.traces]
        known = [value for value in found if value is not None]
        if not known:
            return None
        middle = statistics.median(known) * scale
        return round(middle) if unit in COUNTED else middle

    return read


def _scale(names: tuple[str, ...], unit: Unit) -> float:
    known = {each.name for each in fields(Summary)}
    for name in names:
        if name not in known:
            raise TypeError(f"{name}: a summary has no such attribute")
    for (end, to), scale in SCALES.items():
        if to == unit and all(name.endswith(end) for name in names):
            return scale
    if unit not in COUNTED or any(name.endswith(end) for name in names for end, _ in SCALES):
        raise TypeError(f"{', '.join(names)}: not in {unit}, nor in a unit that is converted to it")
    return 1.0
