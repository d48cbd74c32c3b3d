"""Do two models differ, or did one of them get lucky?

Both were asked the same instances, so the tests are paired: only instances that went differently say anything, and the
differences between instances, by far the largest part of the noise, drop out. Both tests are exact, without a normal
approximation and without random numbers. Many pairs tested at 5 % each give false alarms: Holm's correction bounds it.
"""

import math
from collections.abc import Sequence

_FINEST = 100
"""Differences are counted in hundredths at the finest: more would not fit into memory, and nobody would see it."""


def mcnemar(only_a: int, only_b: int) -> float:
    """Exact McNemar, two-sided: of n = b + c instances that one of two solves, each is A's with chance 1/2.

    min(1, 2 Σ_{i ≤ min(b, c)} C(n, i) / 2ⁿ). Without a discordant instance there is nothing to tell apart: 1.
    """
    discordant = only_a + only_b
    tail = term = 1
    for i in range(min(only_a, only_b)):
        term = term * (discordant - i) // (i + 1)
        tail += term
    return min(1.0, _divide(2 * tail, discordant))


def sign_flip(differences: Sequence[float], step: int = _FINEST) -> float:
    """Paired permutation test, two-sided and exact: were A and B swapped on each instance at random, how often would
    |Σ d| be as large as it is?

    `step`: the differences are multiples of 1/step; finer ones are rounded to hundredths, which keeps the test valid,
    since a rounded difference changes its sign as the difference does. All 2ⁿ swaps are counted: the coefficients of
    Π (1 + x^|dᵢ|), kept in the slots of one long integer, say in how many ways each sum of the swapped ones comes up.
    """
    unit = min(step, _FINEST)
    units = [round(difference * unit) for difference in differences]
    sizes = sorted(abs(each) for each in units if each)  # ascending: the integer stays short for longest
    observed = abs(sum(units))
    if observed == 0:
        return 1.0
    shared = math.gcd(*sizes)
    slot = len(sizes) + 1
    ways = 1
    for size in sizes:
        ways += ways << (size // shared * slot)
    # Σ ±d = 2 (sum of those taken) - Σ|d|, which is as large as observed from here on
    first = (sum(sizes) + observed) // 2 // shared
    tail = _sum_slots(ways >> (first * slot), slot)
    return min(1.0, _divide(2 * tail, len(sizes)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the i-th smallest of m is multiplied by m - i + 1, and never falls below the one
    before it. The chance of one false alarm or more among all of them then stays below the level."""
    adjusted = [math.nan] * len(p_values)
    highest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def cohen_h(share_a: float, share_b: float) -> float:
    """2 asin √a - 2 asin √b: a difference of shares, alike near 0, ½ and 1. Cohen: 0.2 small, 0.5 medium, 0.8 large."""
    return 2 * math.asin(math.sqrt(share_a)) - 2 * math.asin(math.sqrt(share_b))


def odds_ratio(only_a: int, only_b: int) -> float:
    """b / c, the odds that a discordant instance is A's; infinite when B solves none alone, NaN without any."""
    if only_b:
        return only_a / only_b
    return math.inf if only_a else math.nan


def _divide(count: int, exponent: int) -> float:
    """count / 2^exponent, also where neither fits into a float."""
    extra = max(0, count.bit_length() - 64)
    return math.ldexp(count >> extra, extra - exponent)


def _sum_slots(packed: int, slot: int) -> int:
    """The sum of an integer's digits to the base 2^slot: what it leaves when divided by 2^slot - 1."""
    return packed % ((1 << slot) - 1)
