"""In which orders are an instance's tests tried, before they may be called steady?

In as many different ones as are wanted, or as there are. Drawn one by one from a seed, three tests came in three orders
of five, and one of them was never the first to run: a test that needs another before it would have stood. Backwards
first: with the record's own order, every test has then run once before and once after every other.
"""

import random
from collections.abc import Sequence

_TRIES = 100
"""For an order that is not there yet; of two tests there are but two."""


def draw_orders(tests: Sequence[str], times: int, key: str) -> list[tuple[str, ...]]:
    """`times` orders: the given one backwards, then by chance of `key`, the same each time and others for another
    instance. No two are alike, and no test is the first twice, as long as there are others left."""
    chance = random.Random(key)
    leaders = [tests[-1], *chance.sample(tests[:-1], len(tests) - 1)]
    drawn = [tuple(reversed(tests))][:times]
    for count in range(1, times):
        order = _draw(leaders[count % len(leaders)], tests, chance)
        for _ in range(_TRIES):
            if order not in drawn:
                break
            order = _draw(chance.choice(leaders), tests, chance)
        drawn.append(order)
    return drawn


def _draw(leader: str, tests: Sequence[str], chance: random.Random) -> tuple[str, ...]:
    others = [test for test in tests if test != leader]
    return (leader, *chance.sample(others, len(others)))
