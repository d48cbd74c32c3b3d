"""Split the tests of a rebuild task into visible and hidden ones.

A hidden test needs visible relatives that show the conventions: another test of its class or file, and another test of
the same module. The tests that one function makes stay together, since a file cannot show some of them.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from random import Random


def hide_tests(functions: Mapping[str, str], targets: Mapping[str, Collection[str]], seed: int) -> set[str]:
    """About half of the tests. `functions`: the function of each test (`name_functions`). `targets`: the modules that
    each test calls directly."""
    rng = Random(seed)
    weights: dict[str, int] = defaultdict(int)
    modules: dict[str, set[str]] = defaultdict(set)
    for test, function in functions.items():
        weights[function] += 1
        modules[function] |= set(targets.get(test, ()))
    owners: dict[str, list[str]] = defaultdict(list)
    for function in weights:
        owners[function.rpartition("::")[0]].append(function)
    hidden: set[str] = set()
    balance = 0
    """Hidden tests minus visible ones."""
    for members in sorted(owners.values(), key=lambda one: (-len(one), one)):
        rng.shuffle(members)
        for number, function in enumerate(members):
            pair = len(members) > 1 and number < 2
            is_hidden = number == 0 if pair else balance < 0 or (balance == 0 and rng.random() < 0.5)
            hidden |= {function} if is_hidden else set()
            balance += weights[function] if is_hidden else -weights[function]
    for module in sorted({module for found in modules.values() for module in found}):
        _put_on_both_sides([one for one in weights if module in modules[one]], hidden, owners, rng)
    return {test for test, function in functions.items() if function in hidden}


def _put_on_both_sides(functions: list[str], hidden: set[str], owners: Mapping[str, list[str]], rng: Random) -> None:
    """Move one test of a module whose tests are all on one side, if its class keeps tests on both sides."""
    if len(functions) < 2 or 0 < sum(one in hidden for one in functions) < len(functions):
        return
    rng.shuffle(functions)
    for function in functions:
        siblings = owners[function.rpartition("::")[0]]
        is_hidden = function in hidden
        if len(siblings) == 1 or sum((one in hidden) is is_hidden for one in siblings) > 1:
            hidden ^= {function}
            return
