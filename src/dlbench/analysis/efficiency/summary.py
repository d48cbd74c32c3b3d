"""What do the right answers of a run cost, taken together?

The mean of logarithms over instances: twice as slow on one and twice as fast on another cancel, and a slow suite counts
no more than a quick one. Several samples of an instance count together as one. Measures are all that is needed:
nothing is run.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from types import MappingProxyType

from dlbench.analysis.efficiency.keeping import Kept
from dlbench.analysis.efficiency.measuring import AGAIN, REFERENCE, Round, Taken
from dlbench.analysis.efficiency.passing import Passing
from dlbench.analysis.efficiency.ratios import (
    FEWEST_INSTANCES,
    Measures,
    Noise,
    Ratio,
    average,
    find_noise,
    find_ratio,
    find_side,
)
from dlbench.analysis.efficiency.upkeep import MEASURES, Upkeep
from dlbench.analysis.spread import find_figures
from dlbench.scoring.intervals import NOTHING, Interval, bound, resample_columns

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
    name: str, passing: Sequence[Passing], kept: Kept, given_up: Mapping[str, str] = MappingProxyType({})
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


def _weigh(measure: str, passing: Sequence[Passing], kept: Kept) -> Keeping:
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


def _read(upkeep: Upkeep, measure: str) -> float:
    return float(getattr(upkeep, measure))
