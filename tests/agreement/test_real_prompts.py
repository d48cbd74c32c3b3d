"""On every third instance of the benchmark: paraphrases by rules pass the guard and map back to the real signature."""

from collections import Counter
from random import Random

import pytest

from dlbench.agreement.mutation.base import OPERATORS, NotApplicable, Original
from dlbench.agreement.mutation.meaning_guard import CHARACTERS, find_violation
from dlbench.dataset import load
from dlbench.workspace import fetch
from dlbench.workspace.home import quiet

RULES = {name: operator.rule for name, operator in OPERATORS.items() if operator.rule is not None}


@pytest.mark.slow
def test_guard_accepts_95_percent_of_each_rule(capsys):
    benchmark, measure = load(), CHARACTERS
    counts: dict[str, Counter[str]] = {name: Counter() for name in RULES}
    for instance in list(benchmark.instances.values())[::3]:
        tree = fetch(benchmark.project_of(instance), benchmark.root, quiet)
        original = Original(instance, (tree / instance.path).read_text(encoding="utf-8"))
        for name, rule in RULES.items():
            try:
                violation = find_violation(original, rule(original, Random(f"{instance.id}/{name}")), measure)
            except NotApplicable:
                counts[name]["not applicable"] += 1
            else:
                counts[name]["rejected" if violation else "passed"] += 1
    with capsys.disabled():
        for name, found in counts.items():
            print(f"\n{name:17}", dict(found), end="")
    for name, found in counts.items():
        assert found["passed"] >= 19 * found["rejected"], name
        assert found["passed"] >= 10, name
