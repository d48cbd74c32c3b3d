"""Project records and function dates are derived from releases without running them."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from dlbench.construction.history import date_functions, find_recent_projects
from dlbench.construction.project_spec import ProjectSpec, propose_project
from dlbench.errors import DLBenchError
from dlbench.workspace.home import quiet

from ..workspace.parts import Index, sha256
from .fake_index import isolate, publish
from .tiny import FILES, NAME, SECOND, SECOND_RELEASE, publish_tiny

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(tmp_path, monkeypatch)


@pytest.fixture
def tiny(index: Index) -> Index:
    publish_tiny(index)
    return index


def test_record_describes_the_newest_release(tiny: Index, tmp_path: Path) -> None:
    project = propose_project(ProjectSpec(NAME), tmp_path, quiet)
    assert (project.version, project.released) == ("1.1", SECOND_RELEASE)
    assert project.sha256 == sha256(tiny.files / "dlbench_tiny-1.1.tar.gz")
    assert (project.license, project.framework, project.import_root, project.tests.root) == (
        "MIT",
        "numpy",
        ".",
        "tests",
    )
    assert propose_project(ProjectSpec(NAME, version="1.0"), tmp_path, quiet).version == "1.0"


def test_release_without_selected_tests_is_rejected(tiny: Index, tmp_path: Path) -> None:
    with pytest.raises(DLBenchError, match="contains no tests"):
        propose_project(ProjectSpec(NAME, skip=("test_layers",)), tmp_path, quiet)


def test_function_date_is_that_of_its_first_release(tiny: Index, tmp_path: Path) -> None:
    rows = [{"id": f"{NAME}/dlbench_tiny.layers.{name}", "qualname": name} for name in ("softmax", "leaky_relu")]
    found = date_functions(propose_project(ProjectSpec(NAME), tmp_path, quiet), rows)
    assert list(found.values()) == [SECOND_RELEASE - DAY, SECOND_RELEASE]
    before = len(tiny.requests)
    assert date_functions(propose_project(ProjectSpec(NAME), tmp_path, quiet), rows) == found
    assert [request for request in tiny.requests[before:] if request.endswith(".tar.gz")] == []


def test_older_release_ignores_later_ones(tiny: Index, tmp_path: Path) -> None:
    project = propose_project(ProjectSpec(NAME, version="1.0"), tmp_path, quiet)
    rows = [{"id": "softmax", "qualname": "softmax"}]
    assert date_functions(project, rows) == {"softmax": SECOND_RELEASE - DAY}


def test_project_is_recent_if_its_newest_release_has_new_functions(tiny: Index) -> None:
    messages: list[str] = []
    fresh, left_out = find_recent_projects([ProjectSpec(NAME)], SECOND_RELEASE, messages.append)
    assert (fresh, left_out) == ([ProjectSpec(NAME, version="1.1")], [])
    assert "dlbench-tiny 1.1 from 2026-01-02: 1 new functions" in messages
    fresh, left_out = find_recent_projects([ProjectSpec(NAME)], SECOND_RELEASE + DAY, quiet)
    assert (fresh, left_out) == ([], [{"project": NAME, "why": "its newest release is from 2026-01-02"}])


def test_release_without_new_functions_is_left_out(index: Index) -> None:
    publish(index, NAME, FILES | SECOND, {"1.0": "", "1.1": ""})
    fresh, left_out = find_recent_projects([ProjectSpec(NAME)], SECOND_RELEASE, quiet)
    assert (fresh, left_out) == ([], [{"project": NAME, "why": "its newest release has no new function"}])


def test_first_release_is_all_new(tiny: Index) -> None:
    messages: list[str] = []
    fresh, _ = find_recent_projects([ProjectSpec(NAME)], date(2025, 1, 1), messages.append)
    assert fresh == [ProjectSpec(NAME, version="1.1")]
    assert any("2 new functions" in text for text in messages)
