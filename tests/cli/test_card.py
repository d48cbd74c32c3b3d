"""The card that readers see is what the records say today."""

from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs/dataset"


def test_the_card_and_the_pictures_in_the_docs_are_what_the_records_say(dlbench, tmp_path: Path):
    said = dlbench("stats", "--card", "--pictures", tmp_path).out
    assert (DOCS / "card.md").read_text() == said, "the records changed: run `make card`"
    drawn = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert {path.name: path.read_text() for path in DOCS.glob("*.svg")} == drawn, "the records changed: run `make card`"
