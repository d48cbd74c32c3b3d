"""Summarise the efficiency of a run: ratios to the reference, with intervals and the noise they are judged by.

Intervals resample whole rounds, since a round measures candidate and reference side by side. The reference against
itself shows the noise: a ratio no further from 1 than that means nothing, whatever its interval.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from dlbench.analysis.complexity import find_figures
from dlbench.analysis.measurements import AGAIN, REFERENCE, Measurement, MeasureStore, PassingCandidates, Round
from dlbench.scoring.intervals import LEVEL, NOTHING, SEED, Floats, Interval, bound, draw_places, resample_columns

MIN_ROUNDS = 3
"""With fewer there is no interval."""
MIN_INSTANCES = 5
"""With fewer, a mean over instances has no interval."""
MEASURES = ("lines", "cyclomatic", "cognitive", "index")
_ROUNDS_SEED = SEED + 1
"""Differs from the instances' seed: otherwise nine rounds and nine instances would be drawn alike."""

Series = tuple[Sequence[float], Sequence[float]]
"""Values of the candidate and of the reference, round by round."""

SIDES: dict[str, Callable[[Measurement], float]] = {
    "time": lambda one: one.seconds,
    "processor": lambda one: one.processor,
    "memory": lambda one: one.memory_mb,
}


@dataclass(frozen=True)
class Ratio:
    value: float
    """NaN if the reference has a zero."""
    interval: Interval
    candidate: float
    """Median over rounds."""
    reference: float
    rounds: int


@dataclass(frozen=True)
class Noise:
    """The reference against itself, one value per instance."""

    instances: int
    reach: float
    """95 % of instances are between 1/reach and reach."""
    coverage: float
    """The share of instances whose interval contains 1; 95 % if intervals were exact."""
    mean: float
    """Geometric, over instances."""
    interval: Interval


@dataclass(frozen=True)
class CandidateRatios:
    instance: str
    samples: tuple[int, ...]
    """Samples with this code."""
    ratios: dict[str, Ratio]
    """By side: time and processor (s), memory (MiB)."""


@dataclass(frozen=True)
class Cost:
    """All candidates on one side."""

    side: str
    instances: int
    samples: int
    mean: float
    """Geometric, over instances: twice as slow on one and twice as fast on another cancel."""
    interval: Interval
    low: float
    """10 % of instances are below."""
    high: float
    more: int
    """Samples above their reference by more than the noise."""
    less: int
    reference: float
    """Value of a reference: the median over instances."""
    noise: Noise


@dataclass(frozen=True)
class CodeComparison:
    """The code of all candidates by one measure."""

    measure: str
    instances: int
    candidate: float
    """Mean over instances."""
    reference: float
    ratio: float
    """Of the two means."""
    interval: Interval
    more: float
    """The share of instances whose candidates have more of it than the reference, on average."""
    less: float


@dataclass(frozen=True)
class Efficiency:
    name: str
    instances: int
    samples: int
    """Passing samples."""
    candidates: tuple[CandidateRatios, ...]
    costs: tuple[Cost, ...]
    maintainability: tuple[CodeComparison, ...]
    unstable: tuple[str, ...]
    """Samples that did not pass when run again; they are counted nowhere."""
    unmeasured: int
    """Samples without a round."""
    given_up: Mapping[str, str]
    """By instance, why there are no usable rounds."""


def find_ratio(candidate: Sequence[float], reference: Sequence[float]) -> Ratio:
    above, below = (np.array(values, dtype=np.float64) for values in (candidate, reference))
    if not len(above) or not np.all(below > 0):
        return Ratio(math.nan, NOTHING, math.nan, math.nan, len(above))
    medians = float(np.median(above)), float(np.median(below))
    interval = bound(_resample(candidate, reference), "bootstrap") if len(above) >= MIN_ROUNDS else NOTHING
    return Ratio(medians[0] / medians[1], interval, *medians, len(above))


def _resample(candidate: Sequence[float], reference: Sequence[float]) -> Floats:
    places = draw_places(len(candidate), _ROUNDS_SEED)
    above, below = (np.median(np.array(values)[places], axis=1) for values in (candidate, reference))
    ratios: Floats = above / below
    return ratios


def find_noise(references: Sequence[Series]) -> Noise:
    """From references measured twice."""
    measured = [(find_ratio(*one), one) for one in references]
    measured = [(ratio, one) for ratio, one in measured if ratio.value > 0]
    if not measured:
        return Noise(0, math.nan, math.nan, math.nan, NOTHING)
    factors = [max(ratio.value, 1 / ratio.value) for ratio, _ in measured]
    contained = [one.interval.low <= 1 <= one.interval.high for one, _ in measured if one.interval is not NOTHING]
    mean, interval = average([[one] for _, one in measured])
    return Noise(
        instances=len(measured),
        reach=float(np.quantile(factors, LEVEL)),
        coverage=fmean(contained) if contained else math.nan,
        mean=mean,
        interval=interval,
    )


def average(instances: Sequence[Sequence[Series]]) -> tuple[float, Interval]:
    """The geometric mean of ratios, over the samples of an instance and then over instances. The interval resamples
    instances, and rounds within each: otherwise instances whose errors agree by chance would look certain."""
    if not instances:
        return math.nan, NOTHING
    mean = math.exp(fmean(fmean(math.log(find_ratio(*one).value) for one in samples) for samples in instances))
    if len(instances) < MIN_INSTANCES:
        return mean, NOTHING
    drawn = np.array([np.mean([np.log(_resample(*one)) for one in samples], axis=0) for samples in instances])
    places = draw_places(len(instances))
    return mean, bound(np.exp(drawn[places, np.arange(len(places))[:, None]].mean(axis=1)), "bootstrap")


def find_direction(ratio: Ratio, noise: Noise) -> int:
    """1 if larger than the reference, by the whole interval and beyond the noise; -1 if smaller, 0 if undecided."""
    if ratio.interval.low > 1 and ratio.value > noise.reach:
        return 1
    return -1 if ratio.interval.high < 1 and ratio.value < 1 / noise.reach else 0


def summarise(
    name: str, passing: Sequence[PassingCandidates], store: MeasureStore, given_up: Mapping[str, str] | None = None
) -> Efficiency:
    measured: list[tuple[CandidateRatios, dict[str, Series]]] = []
    references, unstable, unmeasured = list[dict[str, Series]](), list[str](), 0
    for one in passing:
        rounds = store.rounds.get(one.key, [])
        if rounds:
            references.append(_read_series(rounds, AGAIN))
        for code in one.candidates:
            own = [each for each in rounds if code in each]
            samples = tuple(sample for sample, key in one.names.items() if key == code)
            if not own:
                unmeasured += len(samples)
            elif not all(each[code].passed for each in own):
                unstable += [f"{one.instance.id} (sample {sample})" for sample in samples]
            else:
                series = _read_series(own, code)
                ratios = {side: find_ratio(*values) for side, values in series.items()}
                measured.append((CandidateRatios(one.instance.id, samples, ratios), series))
    return Efficiency(
        name=name,
        instances=len(passing),
        samples=sum(len(one.codes) for one in passing),
        candidates=tuple(each for each, _ in measured),
        costs=tuple(_summarise_side(side, measured, [one[side] for one in references]) for side in SIDES),
        maintainability=tuple(_compare_code(measure, passing, store) for measure in MEASURES),
        unstable=tuple(unstable),
        unmeasured=unmeasured,
        given_up=given_up or {},
    )


def _read_series(rounds: Sequence[Round], name: str) -> dict[str, Series]:
    return {
        side: ([read(one[name]) for one in rounds], [read(one[REFERENCE]) for one in rounds])
        for side, read in SIDES.items()
    }


def _summarise_side(
    side: str, measured: Sequence[tuple[CandidateRatios, dict[str, Series]]], references: Sequence[Series]
) -> Cost:
    noise = find_noise(references)
    instances: dict[str, list[Series]] = {}
    directions: list[tuple[int, int]] = []
    for one, series in measured:
        if one.ratios[side].value > 0:
            instances.setdefault(one.instance, []).extend([series[side]] * len(one.samples))
            directions.append((find_direction(one.ratios[side], noise), len(one.samples)))
    figures = find_figures([average([samples])[0] for samples in instances.values()])
    mean, interval = average(list(instances.values()))
    return Cost(
        side=side,
        instances=len(instances),
        samples=sum(count for _, count in directions),
        mean=mean,
        interval=interval,
        low=figures.low,
        high=figures.high,
        more=sum(count for direction, count in directions if direction > 0),
        less=sum(count for direction, count in directions if direction < 0),
        reference=median(median(reference) for _, reference in references) if references else math.nan,
        noise=noise,
    )


def _compare_code(measure: str, passing: Sequence[PassingCandidates], store: MeasureStore) -> CodeComparison:
    pairs = []
    for one in passing:
        known = {name: float(getattr(found, measure)) for name, found in store.maintainability.get(one.key, {}).items()}
        own = [known[name] for name in one.names.values() if name in known]
        if own and REFERENCE in known:
            pairs.append((fmean(own), known[REFERENCE]))
    if not pairs:
        return CodeComparison(measure, 0, math.nan, math.nan, math.nan, NOTHING, math.nan, math.nan)
    candidates, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    interval = NOTHING
    if len(pairs) >= MIN_INSTANCES:
        above, below = resample_columns([candidates, references])
        # A resample of few instances can consist of references that have none of it.
        interval = bound(above / below, "bootstrap") if below.min() > 0 else NOTHING
    return CodeComparison(
        measure=measure,
        instances=len(pairs),
        candidate=fmean(candidates),
        reference=fmean(references),
        ratio=sum(candidates) / sum(references) if sum(references) else math.nan,
        interval=interval,
        more=fmean(own > reference for own, reference in pairs),
        less=fmean(own < reference for own, reference in pairs),
    )
