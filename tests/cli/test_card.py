"""The dataset card in the documentation matches the records."""

from pathlib import Path

from dlbench.dataset import load
from dlbench.dataset.statistics import describe
from dlbench.reporting.dataset_card import find_distributions

DOCS = Path(__file__).parents[2] / "docs/dataset"


def test_card_and_plots_in_the_docs_are_current(dlbench, tmp_path: Path):
    card = dlbench("stats", "--card", "--plots", tmp_path).out
    assert (DOCS / "card.md").read_text() == card, "the records changed: run `make card`"
    drawn = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert {path.name: path.read_text() for path in DOCS.glob("*.svg")} == drawn, "the records changed: run `make card`"


def test_every_plot_counts_all_instances():
    benchmark = load()
    instances = list(benchmark.instances.values())
    figures = describe(benchmark, instances)
    for name, counts in find_distributions(instances, figures).items():
        measured = name.startswith("mutation score ")  # with and without further inputs
        assert sum(counts.values()) == (figures["plus_measured"] if measured else len(instances)), name


def test_docs_show_every_plot_of_the_dataset():
    page = (DOCS.parent / "dataset.md").read_text()
    assert [path.name for path in DOCS.glob("*.svg") if f"(dataset/{path.name})" not in page] == []
