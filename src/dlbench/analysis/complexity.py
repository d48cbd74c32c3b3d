"""Measure length and complexity of the references of a dataset.

One tool measures all datasets, since tools count differently. References that do not parse are named, not counted as 0.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import fmean, stdev

import numpy as np

from dlbench.analysis.corpora import Corpus
from dlbench.construction.screening.complexity import FunctionMeasures, measure_function, measure_snippet
from dlbench.errors import DLBenchError


@dataclass(frozen=True)
class Figures:
    """Summary statistics; NaN if there are no values."""

    count: int
    mean: float
    deviation: float
    """Sample standard deviation."""
    low: float
    """10 % quantile."""
    median: float
    high: float
    """90 % quantile."""
    most: float


def find_figures(values: Sequence[float]) -> Figures:
    if not values:
        return Figures(0, *[math.nan] * 6)
    low, median, high = (float(share) for share in np.quantile(np.array(values, dtype=np.float64), (0.1, 0.5, 0.9)))
    deviation = stdev(values) if len(values) > 1 else math.nan
    return Figures(len(values), fmean(values), deviation, low, median, high, float(max(values)))


def count_bins(values: Sequence[float], starts: Sequence[float]) -> tuple[float, ...]:
    """The share of values in each bin; `starts` are the lower bounds, the last bin is open."""
    if not values:
        return (math.nan,) * len(starts)
    counts, _ = np.histogram(values, [*starts, math.inf])
    return tuple((counts / len(values)).tolist())


_FIELDS = {"lines": "loc"}
BINS: dict[str, tuple[int, ...]] = {
    "lines": (0, 2, 4, 6, 11, 21, 41, 81),
    "cyclomatic": (0, 2, 3, 4, 6, 11, 21),
    "cognitive": (0, 1, 2, 4, 6, 11, 21, 41),
    "nesting": (0, 1, 2, 3, 4, 5),
    "calls": (0, 1, 2, 4, 6, 11, 21, 41),
}
"""By measure, the lower bounds of the bins; the last bin is open."""
MEASURES = tuple(BINS)


@dataclass(frozen=True)
class Complexity:
    name: str
    items: int
    without_code: int
    """Items without a known reference."""
    unparsed: tuple[str, ...]
    """Items whose reference does not parse."""
    figures: Mapping[str, Figures]
    """By measure."""
    bins: Mapping[str, tuple[float, ...]]
    """By measure, the share of references in each of `BINS`."""


def measure_complexity(corpus: Corpus, on_item: Callable[[str], None] = lambda name: None) -> Complexity:
    check_tools()
    measured, unparsed = list[FunctionMeasures](), list[str]()
    for item, code in corpus.with_code:
        try:
            measured.append(measure_code(code))
        except DLBenchError:
            unparsed.append(item.id)
        on_item(item.id)
    values = {name: [float(getattr(one, _FIELDS.get(name, name))) for one in measured] for name in MEASURES}
    return Complexity(
        name=corpus.name,
        items=len(corpus.items),
        without_code=sum(item.code is None for item in corpus.items),
        unparsed=tuple(unparsed),
        figures={name: find_figures(found) for name, found in values.items()},
        bins={name: count_bins(found, BINS[name]) for name, found in values.items()},
    )


def measure_code(code: str) -> FunctionMeasures:
    """As a function if it is one, otherwise as statements."""
    try:
        return measure_function(code)
    except DLBenchError:
        return measure_snippet(code)


def check_tools() -> None:
    for package in ("radon", "complexipy"):
        if find_spec(package) is None:
            raise DLBenchError(f"the package {package} is not installed", fix="pip install 'dlbench[analysis]'")
