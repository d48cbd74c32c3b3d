"""Do two models differ, or did one of them get lucky?

Both were asked the same instances, so the tests are paired: only instances that went differently say anything, and the
differences between instances, by far the largest part of the noise, drop out. Both tests are exact, without a normal
approximation and without random numbers. Many pairs tested at 5 % each give false alarms: Holm's correction bounds it.
"""

import math
from collections.abc import Sequence

_SLOT = 80
"""Bits: 64 for a chance, and room for sixteen doublings."""
_STEPS = 16
_ONE = 1 << 63


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


def sign_flip(differences: Sequence[int]) -> float:
    """Paired permutation test, two-sided: were A and B swapped on each instance at random, how often would |Σ d| be as
    large as it is?

    All 2ⁿ swaps are counted, none is drawn: the coefficients of Π (1 + x^|dᵢ|) / 2 are the chances of each sum of those
    taken. They stand in the slots of one long integer, in units of 2⁻⁶³, so that a factor is a shift and an addition;
    every sixteen factors the slots are halved sixteen times. That loses less than 10⁻¹³, and nothing up to 63 factors.
    """
    observed = abs(sum(differences))
    if observed == 0:
        return 1.0
    shared = math.gcd(*differences)
    sizes = sorted(
        abs(each) // shared for each in differences if each
    )  # ascending: the integer stays short for longest
    chances, reached = _ONE, 0
    for start in range(0, len(sizes), _STEPS):
        steps = sizes[start : start + _STEPS]
        for size in steps:
            chances += chances << (size * _SLOT)
        reached += sum(steps)
        chances = (chances >> len(steps)) & _mask(reached + 1)
    # Σ ±d = 2 (sum of those taken) - Σ|d|, which is as large as observed from here on
    first = (reached + observed // shared) // 2
    tail = (chances >> (first * _SLOT)) % ((1 << _SLOT) - 1)  # the sum of the slots, as nines are cast out
    return min(1.0, 2 * tail / _ONE)


def _mask(slots: int) -> int:
    """Keeps the 64 bits of every slot; what halving pushed into the upper 16 came from the slot above."""
    return int.from_bytes((b"\xff" * 8 + b"\0" * 2) * slots, "little")


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
