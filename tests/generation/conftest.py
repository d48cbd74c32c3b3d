"""Fixtures of the generation tests."""

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of a file of samples that does not exist yet."""
    return tmp_path / "samples.jsonl"
