from collections.abc import Iterator
from pathlib import Path

import pytest

from dlbench.construction import WorkFolder

from ..workspace.parts import Index


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    with Index(tmp_path / "served") as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        yield index


@pytest.fixture
def work(tmp_path: Path) -> WorkFolder:
    return WorkFolder(tmp_path / "work")
