"""How is a number written, so that it says no more than is known? n/a where nothing can be said, never 0."""

import math

from dlbench.scoring import Interval, Score, Summary, Usage


def percent(value: float) -> str:
    return "n/a" if math.isnan(value) else f"{100 * value:.1f} %"


def span(interval: Interval) -> str:
    return "n/a" if math.isnan(interval.low) else f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"


def score_cell(score: Score | None) -> str:
    """pass@1 with its interval; `!` where harness errors are counted in."""
    if score is None or not score.instances:
        return "n/a"
    mark = " !" if score.harness_errors else ""
    return f"{percent(score.pass_at_1)} ({100 * score.interval.low:.0f} to {100 * score.interval.high:.0f}){mark}"


def points(difference: float) -> str:
    return "n/a" if math.isnan(difference) else f"{100 * difference:+.1f} points"


def signed_span(interval: Interval) -> str:
    return "n/a" if math.isnan(interval.low) else f"{100 * interval.low:+.1f} to {100 * interval.high:+.1f}"


def p_value(p: float) -> str:
    if math.isnan(p):
        return "n/a"
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.01 else f"{p:.3f}"


def number(value: float, form: str = ".2f") -> str:
    return "n/a" if math.isnan(value) else "infinite" if math.isinf(value) else format(value, form)


def format_usage(usage: Usage | None) -> list[str]:
    """Tokens asked, tokens answered, cost; `*` where only some samples tell it."""
    if usage is None:
        return ["n/a"] * 3
    partly = " *" if 0 < usage.with_tokens < usage.samples else ""
    paid = " *" if 0 < usage.with_cost < usage.samples else ""
    tokens = [number(value, ",.0f") for value in (usage.prompt_tokens, usage.completion_tokens)]
    return [f"{told}{partly}" for told in tokens] + [f"{number(usage.cost, ',.4f')}{paid}"]


def harness_error_caveat(name: str, summary: Summary) -> str:
    """What harness errors do to a score, or nothing when there are none."""
    faults, overall = summary.overall.harness_errors, summary.overall
    if not faults:
        return ""
    return (
        f"HARNESS ERRORS: {faults} of {overall.samples} verdicts of {name} are our own fault and not the model's. They"
        f" count as not passed: pass@1 is {percent(overall.pass_at_1)}, and would be"
        f" {percent(summary.if_faults_passed)} had they all passed."
    )
