"""The card that readers see is what the records say today."""

from pathlib import Path

from dlbench.dataset import load
from dlbench.dataset.statistics import describe
from dlbench.reporting.dataset_card import find_distributions

DOCS = Path(__file__).parents[2] / "docs/dataset"


def test_the_card_and_the_pictures_in_the_docs_are_what_the_records_say(dlbench, tmp_path: Path):
    said = dlbench("stats", "--card", "--pictures", tmp_path).out
    assert (DOCS / "card.md").read_text() == said, "the records changed: run `make card`"
    drawn = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert {path.name: path.read_text() for path in DOCS.glob("*.svg")} == drawn, "the records changed: run `make card`"


def test_no_instance_is_missing_in_a_picture():
    benchmark = load()
    instances = list(benchmark.instances.values())
    for name, counts in find_distributions(instances, describe(benchmark, instances)).items():
        assert sum(counts.values()) == len(instances), name


def test_every_picture_of_the_dataset_is_shown_to_its_readers():
    page = (DOCS.parent / "dataset.md").read_text()
    assert [path.name for path in DOCS.glob("*.svg") if f"(dataset/{path.name})" not in page] == []
