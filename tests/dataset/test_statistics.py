"""The statistics equal values computed by hand."""

from datetime import date

import pytest

from dlbench.construction.labelling import measure_alpha
from dlbench.construction.labelling.votes import list_votes
from dlbench.dataset import Instance, load
from dlbench.dataset.records import Measures, Votes
from dlbench.dataset.statistics import describe, mutation_score


@pytest.fixture
def instances(toy_root) -> list[Instance]:
    first, second = load(toy_root).instances.values()
    changes = [
        {"measures": Measures(loc=10, cognitive=2, mutants=4, mutants_killed=3), "introduced": date(2025, 6, 1)},
        {"measures": Measures(loc=31, cognitive=5, mutants=8, mutants_killed=8), "introduced": date(2025, 6, 2)},
    ]
    return [one.model_copy(update=change) for one, change in zip([first, second], changes, strict=True)]


def test_medians_shares_and_dates(toy_root, instances):
    found = describe(load(toy_root), instances)
    assert (found["loc_median"], found["loc_over_20"]) == (20.5, 1)
    assert (found["mutation_score_median"], found["mutation_score_least"]) == (0.875, 0.75)
    assert (found["cognitive_median"], found["mutants_most"]) == (3.5, 8)
    assert found["after_2025_06"] == 1
    assert found["year"] == {"2025": 2}
    assert found["tests"] == sum(len(one.tests) for one in instances)


def test_unmeasured_instance_has_no_score(instances):
    assert mutation_score(instances[0].model_copy(update={"measures": Measures()})) is None


def test_agreement_is_computed_from_the_records(instances):
    def vote(*stages):
        return Votes(stage=stages, task=("general",) * 3, data=("image", "image", "text"))

    voted = [
        instances[0].model_copy(update={"votes": vote("training", "training", "inference")}),
        instances[1].model_copy(update={"votes": vote("inference", "inference", "inference")}),
    ]
    votes = list_votes([*voted, instances[0]])
    assert len(votes) == 6
    # observed: 2 of 6 ordered pairs in one unit differ, so 2/3 * 3/6; expected: 2*4*2/(6*5)
    assert measure_alpha(votes)["stage"] == pytest.approx(1 - (2 / 6) / (16 / 30))
