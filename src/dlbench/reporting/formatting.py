"""Format numbers, intervals and token counts for people; n/a where a value cannot be computed, never 0."""

import math
from collections.abc import Sequence

from dlbench.dataset.labels import Stage, Task
from dlbench.scoring import Interval, Score, Usage

SHORT_LABELS = {
    str(Stage.PRE_POST_PROCESSING): "pre/post-processing",
    str(Stage.EVALUATION_METRICS): "evaluation",
    str(Task.TIME_SERIES_PREDICTION): "time series",
}


def render_label(slug: str) -> str:
    """A label, status or outcome as words, short enough for a plot."""
    return SHORT_LABELS.get(slug, slug.replace("_", " "))


def percent(value: float) -> str:
    return "n/a" if math.isnan(value) else f"{100 * value:.1f} %"


def span(interval: Interval, form: str = ".1f", scale: int = 100) -> str:
    """In percent; `scale` 1 for an interval of another figure."""
    if math.isnan(interval.low):
        return "n/a"
    return f"{scale * interval.low:{form}} to {scale * interval.high:{form}}"


def score_cell(score: Score | None) -> str:
    """pass@1 with its interval; `!` where harness errors count as failures."""
    if score is None or not score.instances:
        return "n/a"
    mark = " !" if score.harness_errors else ""
    return f"{percent(score.pass_at_1)} ({100 * score.interval.low:.0f} to {100 * score.interval.high:.0f}){mark}"


def share_cell(score: Score | None) -> str:
    """The mean share of tests passed, with its interval by project."""
    if score is None or not score.instances:
        return "n/a"
    return f"{percent(score.passing_rate)} ({span(score.rate_clustered, '.0f')})"


def points(difference: float) -> str:
    return "n/a" if math.isnan(difference) else f"{100 * difference:+.1f} points"


def p_value(p: float) -> str:
    if math.isnan(p):
        return "n/a"
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.01 else f"{p:.3f}"


def number(value: float, form: str = ".2f") -> str:
    return "n/a" if math.isnan(value) else "infinite" if math.isinf(value) else format(value, form)


def short(value: float, sign: str = "") -> str:
    """Three significant digits or the whole integer, never an exponent. `sign` "+": also for positive values."""
    if not math.isfinite(value):
        return number(value)
    decimals = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    text = f"{value:{sign},.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def some(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def list_some(names: Sequence[object], most: int) -> str:
    """The first names, and an ellipsis for the others."""
    return ", ".join(map(str, names[:most])) + (", …" if len(names) > most else "")


def format_usage(usage: Usage | None, *, per_sample: bool = False) -> list[str]:
    """Prompt tokens, completion tokens and cost; `*` where only some samples report them. Cost is always a sum."""
    if usage is None:
        return ["n/a"] * 3
    partly = " *" if 0 < usage.with_tokens < usage.samples else ""
    paid = " *" if 0 < usage.with_cost < usage.samples else ""
    sums = (usage.prompt_tokens, usage.completion_tokens)
    tokens = [number(value, ",.0f") for value in (usage.tokens_per_sample if per_sample else sums)]
    return [f"{each}{partly}" for each in tokens] + [f"{number(usage.cost, ',.4f')}{paid}"]
