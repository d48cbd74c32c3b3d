"""The pictures of docs/index.md: `make gallery` takes them here, of the pages as a browser shows them."""

import os
from pathlib import Path

import pytest

from dlbench.dataset import load
from dlbench.reporting.pages import write_browser
from tests.cli.conftest import dlbench  # noqa: F401 - a fixture
from tests.construction.test_review import api, open_page, server, trees, work  # noqa: F401 - fixtures
from tests.documentation.pages import ROOT

NAMES = ("report", "browser", "leaderboard", "review")
LARGEST = 100_000
SIZE = {"width": 1000, "height": 440}
MODELS = ("reference", "mutant", "stub")


@pytest.fixture
def take(tmp_path):
    def take(page, name: str) -> None:
        path = Path(os.environ.get("DLBENCH_GALLERY", tmp_path), f"{name}.png")
        page.set_viewport_size(SIZE)
        page.screenshot(path=path)
        assert path.stat().st_size > 10_000  # an empty page has less

    return take


@pytest.fixture
def take_file(browser, take):
    def take_file(path: Path, name: str) -> None:
        page = browser.new_page(color_scheme="light")
        page.goto(path.as_uri())
        take(page, name)
        page.close()

    return take_file


@pytest.mark.slow
def test_report_of_real_runs_has_a_picture(dlbench, take_file, tmp_path):  # noqa: F811
    """Every figure in the documentation was measured: these are the models of `make demo` that need no download."""
    chosen = ("--split", "demo", "--project", "albucore", "--project", "seqeval", "--out", tmp_path / "runs")
    ran = dlbench("run", *(word for model in MODELS for word in ("--model", model)), *chosen, timeout=900)
    assert ran.status == 0, ran.err
    folders = [tmp_path / "runs" / model for model in MODELS]
    assert dlbench("report", *folders, "--out", tmp_path / "page", "--public").status == 0
    take_file(tmp_path / "page/report.html", "report")


@pytest.mark.slow
def test_dataset_browser_has_a_picture(take_file, tmp_path):
    benchmark = load()
    page = write_browser(benchmark, list(benchmark.instances.values()), lambda instance: None)
    (tmp_path / "browser.html").write_text(page)
    take_file(tmp_path / "browser.html", "browser")


@pytest.mark.slow
def test_leaderboard_has_a_picture(take_file):
    take_file(load().root / "leaderboard/leaderboard.html", "leaderboard")


@pytest.mark.slow
def test_review_page_has_a_picture(open_page, take):  # noqa: F811
    page = open_page()
    page.wait_for_selector("#function")
    take(page, "review")


def test_pictures_are_shown_and_small():
    text = (ROOT / "docs/index.md").read_text()
    assert [name for name in NAMES if f"](images/{name}.png)" not in text] == []
    assert {path.stem for path in (ROOT / "docs/images").iterdir()} == set(NAMES)
    assert all(path.stat().st_size <= LARGEST for path in (ROOT / "docs/images").iterdir())
