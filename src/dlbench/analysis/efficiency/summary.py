"""What do the right answers of a run cost, taken together?

The mean of logarithms over instances: twice as slow on one and twice as fast on another cancel, and a slow suite counts
no more than a quick one. Several samples of an instance count together as one. Measures are all that is needed:
nothing is run.

By how much does one series of measures lie above another, and could it be noise?

The ratio of the two medians, with the percentiles of that ratio when rounds are drawn anew: a round is one measure of
each, taken side by side, and stays together. What the reference shows against itself is noise by construction: a ratio
no further from 1 than that says nothing, whatever its interval.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from types import MappingProxyType

import numpy as np

from dlbench.analysis.complexity import find_figures
from dlbench.analysis.efficiency.measure import (
    AGAIN,
    MEASURES,
    REFERENCE,
    Kept,
    Maintainability,
    PassingCandidate,
    Round,
    Taken,
)
from dlbench.scoring.intervals import LEVEL, NOTHING, SEED, Floats, Interval, bound, draw_places, resample_columns

FEWEST_ROUNDS = 3
"""With fewer there is no interval."""
FEWEST_INSTANCES = 5
"""With fewer, a mean over instances has no interval."""


Measures = tuple[Sequence[float], Sequence[float]]
"""A candidate's and the reference's, round by round."""
_ROUNDS_SEED = SEED + 1
"""Not that of the instances: nine rounds and nine instances would be drawn alike."""


@dataclass(frozen=True)
class Ratio:
    value: float
    """NaN where there is nothing to divide by."""
    interval: Interval
    candidate: float
    """The median of its rounds."""
    reference: float
    rounds: int


@dataclass(frozen=True)
class Noise:
    """What the reference shows against itself, an instance a value."""

    instances: int
    reach: float
    """95 % of instances lie between 1/reach and reach."""
    holding: float
    """The share of instances whose interval holds 1; were it exact, 95 %."""
    mean: float
    """Geometric, over instances: what the mean of a run has to be told from."""
    interval: Interval


def find_ratio(candidate: Sequence[float], reference: Sequence[float]) -> Ratio:
    """Of measures by round, as many of one as of the other."""
    above, below = (np.array(values, dtype=np.float64) for values in (candidate, reference))
    if not len(above) or not np.all(below > 0):
        return Ratio(math.nan, NOTHING, math.nan, math.nan, len(above))
    medians = float(np.median(above)), float(np.median(below))
    interval = bound(_resample(candidate, reference), "bootstrap") if len(above) >= FEWEST_ROUNDS else NOTHING
    return Ratio(medians[0] / medians[1], interval, *medians, len(above))


def _resample(candidate: Sequence[float], reference: Sequence[float]) -> Floats:
    places = draw_places(len(candidate), _ROUNDS_SEED)
    above, below = (np.median(np.array(values)[places], axis=1) for values in (candidate, reference))
    ratios: Floats = above / below
    return ratios


def find_noise(itself: Sequence[Measures]) -> Noise:
    """From the measures of references beside themselves."""
    measured = [(find_ratio(*one), one) for one in itself]
    known = [ratio for ratio, _ in measured if ratio.value > 0]
    if not known:
        return Noise(0, math.nan, math.nan, math.nan, NOTHING)
    sides = [max(one.value, 1 / one.value) for one in known]
    told = [one.interval for one in known if one.interval is not NOTHING]
    held = [one.low <= 1 <= one.high for one in told]
    mean, interval = average([[one] for ratio, one in measured if ratio.value > 0])
    return Noise(
        instances=len(known),
        reach=float(np.quantile(sides, LEVEL)),
        holding=sum(held) / len(held) if held else math.nan,
        mean=mean,
        interval=interval,
    )


def average(instances: Sequence[Sequence[Measures]]) -> tuple[float, Interval]:
    """The geometric mean of ratios: over an instance's samples, and then over instances.

    Its percentiles when instances are drawn anew, and in each of them the rounds: instances whose errors happen to
    agree would otherwise look sure.
    """
    if not instances:
        return math.nan, NOTHING
    mean = math.exp(fmean(fmean(math.log(find_ratio(*one).value) for one in samples) for samples in instances))
    if len(instances) < FEWEST_INSTANCES:
        return mean, NOTHING
    drawn = np.array([np.mean([np.log(_resample(*one)) for one in samples], axis=0) for samples in instances])
    places = draw_places(len(instances))
    return mean, bound(np.exp(drawn[places, np.arange(len(places))[:, None]].mean(axis=1)), "bootstrap")


def find_side(ratio: Ratio, noise: Noise) -> int:
    """1 where it is larger, -1 where it is smaller, and 0 where nothing can be told.

    Larger: the whole interval lies above 1, and the ratio further from 1 than noise.
    """
    if ratio.interval.low > 1 and ratio.value > noise.reach:
        return 1
    return -1 if ratio.interval.high < 1 and ratio.value < 1 / noise.reach else 0


SIDES: dict[str, Callable[[Taken], float]] = {
    "time": lambda taken: taken.seconds,
    "processor": lambda taken: taken.processor,
    "memory": lambda taken: taken.memory_mb,
}


Sides = dict[str, Measures]


@dataclass(frozen=True)
class Beside:
    """A candidate beside its reference."""

    instance: str
    samples: tuple[int, ...]
    """Those that have this code."""
    ratios: dict[str, Ratio]
    """By side: time and processor (s), memory (MiB)."""


@dataclass(frozen=True)
class Cost:
    """All candidates in one respect."""

    side: str
    instances: int
    samples: int
    mean: float
    """Geometric, over instances."""
    interval: Interval
    low: float
    """A tenth of instances lies below."""
    high: float
    more: int
    """Samples that lie above their reference, beyond the noise."""
    less: int
    reference: float
    """What a reference takes: the median over instances."""
    noise: Noise


@dataclass(frozen=True)
class Keeping:
    """The code of all candidates in one respect."""

    measure: str
    instances: int
    candidate: float
    """The mean over instances."""
    reference: float
    ratio: float
    """Of the two."""
    interval: Interval
    more: float
    """The share of instances where candidates have more of it than the reference, on average."""
    less: float


@dataclass(frozen=True)
class Efficiency:
    name: str
    instances: int
    samples: int
    """Those that pass."""
    beside: tuple[Beside, ...]
    costs: tuple[Cost, ...]
    upkeep: tuple[Keeping, ...]
    unsteady: tuple[str, ...]
    """Samples that did not pass when they were run again; they are counted nowhere."""
    unmeasured: int
    """Samples that no round was run of."""
    given_up: Mapping[str, str]
    """By instance, why its rounds came to nothing."""


def summarise(
    name: str, passing: Sequence[PassingCandidate], kept: Kept, given_up: Mapping[str, str] = MappingProxyType({})
) -> Efficiency:
    beside: list[tuple[Beside, Sides]] = []
    itself: list[Sides] = []
    unsteady: list[str] = []
    unmeasured = 0
    for one in passing:
        rounds = kept.rounds.get(one.about, [])
        if rounds:
            itself.append(_read_rounds(rounds, AGAIN))
        for code in one.candidates:
            own = [each for each in rounds if code in each]
            samples = tuple(sample for sample, named in one.names.items() if named == code)
            if not own:
                unmeasured += len(samples)
            elif not all(each[code].passed for each in own):
                unsteady += [f"{one.instance.id} (sample {sample})" for sample in samples]
            else:
                sides = _read_rounds(own, code)
                ratios = {side: find_ratio(*measures) for side, measures in sides.items()}
                beside.append((Beside(one.instance.id, samples, ratios), sides))
    return Efficiency(
        name=name,
        instances=len(passing),
        samples=sum(len(one.codes) for one in passing),
        beside=tuple(each for each, _ in beside),
        costs=tuple(_add_up(side, beside, [one[side] for one in itself]) for side in SIDES),
        upkeep=tuple(_weigh(measure, passing, kept) for measure in MEASURES),
        unsteady=tuple(unsteady),
        unmeasured=unmeasured,
        given_up=given_up,
    )


def _read_rounds(rounds: Sequence[Round], name: str) -> Sides:
    return {
        side: ([read(one[name]) for one in rounds], [read(one[REFERENCE]) for one in rounds])
        for side, read in SIDES.items()
    }


def _add_up(side: str, beside: Sequence[tuple[Beside, Sides]], itself: Sequence[Measures]) -> Cost:
    noise = find_noise(itself)
    instances: dict[str, list[Measures]] = {}
    sides: list[tuple[int, int]] = []
    for one, measures in beside:
        if one.ratios[side].value > 0:
            instances.setdefault(one.instance, []).extend([measures[side]] * len(one.samples))
            sides.append((find_side(one.ratios[side], noise), len(one.samples)))
    spread = find_figures([average([samples])[0] for samples in instances.values()])
    mean, interval = average(list(instances.values()))
    return Cost(
        side=side,
        instances=len(instances),
        samples=sum(count for _, count in sides),
        mean=mean,
        interval=interval,
        low=spread.low,
        high=spread.high,
        more=sum(count for which, count in sides if which > 0),
        less=sum(count for which, count in sides if which < 0),
        reference=median(median(reference) for _, reference in itself) if itself else math.nan,
        noise=noise,
    )


def _weigh(measure: str, passing: Sequence[PassingCandidate], kept: Kept) -> Keeping:
    pairs = []
    for one in passing:
        known = kept.upkeep.get(one.about, {})
        own = [_read(known[name], measure) for name in one.names.values() if name in known]
        if own and REFERENCE in known:
            pairs.append((fmean(own), _read(known[REFERENCE], measure)))
    candidates, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    total, interval = sum(references), NOTHING
    if len(pairs) >= FEWEST_INSTANCES:
        above, below = resample_columns([candidates, references])
        # of few instances a resample can draw those alone whose reference has nothing of it
        interval = bound(above / below, "bootstrap") if below.min() > 0 else NOTHING
    return Keeping(
        measure=measure,
        instances=len(pairs),
        candidate=fmean(candidates) if pairs else math.nan,
        reference=fmean(references) if pairs else math.nan,
        ratio=sum(candidates) / total if total else math.nan,
        interval=interval,
        more=sum(own > reference for own, reference in pairs) / len(pairs) if pairs else math.nan,
        less=sum(own < reference for own, reference in pairs) / len(pairs) if pairs else math.nan,
    )


def _read(upkeep: Maintainability, measure: str) -> float:
    return float(getattr(upkeep, measure))
