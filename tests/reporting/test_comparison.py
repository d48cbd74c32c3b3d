"""The description of a pair claims no more than its tests support."""

import pytest

from dlbench.reporting.comparison import describe_instances, describe_pairs
from dlbench.scoring import compare, tally
from tests.scoring.made import make_benchmark, verdicts

UNSURE = "but not surely on other projects"


def put_beside(benchmark, **marks):
    return compare({name: tally(verdicts(benchmark, *one), benchmark) for name, one in marks.items()}, benchmark)


@pytest.mark.parametrize(
    ("projects", "others", "unsure"),
    [(6, 0, False), (6, 1, True), (2, 0, True)],
    ids=["enough projects", "the same with more pairs to correct for", "too few projects to tell"],
)
def test_difference_without_caveat_requires_significance_over_projects(projects, others, unsure):
    marks = {"a": ["1" * 12], "b": ["0" * 12]} | {f"c{number}": ["0" * 11 + "1"] for number in range(others)}
    line = describe_pairs(put_beside(make_benchmark(12, projects), **marks))[0]
    assert "they differ" in line
    assert (UNSURE in line) == unsure


def test_unequal_numbers_of_samples_are_reported():
    benchmark = make_benchmark(6)
    uneven = put_beside(benchmark, a=["111100"], b=["111100", "111100"])
    assert any(line.startswith("NOT AS MANY SAMPLES in 1 of 1 pairs (a, b)") for line in describe_instances(uneven))
    assert "McNemar p = n/a" in "\n".join(describe_pairs(uneven))
    assert len(describe_instances(put_beside(benchmark, a=["111100"], b=["110000"]))) == 1
