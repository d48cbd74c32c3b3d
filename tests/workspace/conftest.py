import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlbench.workspace import package_index

from .parts import Index


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a temporary workspace and none of the machine's pip configuration."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("DLBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setattr(package_index, "BACK_OFF", 0.01)
    return tmp_path / "home"


@pytest.fixture
def messages() -> list[str]:
    return []


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    with Index(tmp_path / "served") as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        yield index
