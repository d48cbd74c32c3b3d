"""Packages on a local package index: an archive, a link page and JSON metadata."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dlbench.workspace import package_index

from ..workspace.parts import Index, make_sdist

MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy of this thing.\n"
MODULE = '''import torch


def double(x):
    """Twice as much."""
    return 2 * x


def halve(x):
    return x / 2


class Net(torch.nn.Module):
    def forward(self, x):
        return double(x)
'''
TESTS = """import pytest

from tiny_net.core import double, halve


@pytest.mark.parametrize("x", [1, 2, 3])
def test_double(x):
    assert double(x) == x + x


@pytest.mark.parametrize("x", range(4))
def test_halve(x):
    assert halve(x) == x / 2
"""
GOOD = {
    "PKG-INFO": "Metadata-Version: 2.1\nName: tiny-net\nHome-page: https://github.com/us/tiny-net\n",
    "README.md": "word " * 250,
    "LICENSE": MIT,
    "setup.py": "raise SystemExit('this must never run')\n",
    "tiny_net/__init__.py": "raise SystemExit('nor this')\n",
    "tiny_net/core.py": MODULE,
    "tests/test_core.py": TESTS,
}
INFO: dict[str, Any] = {
    "summary": "A tiny net",
    "license_expression": "MIT",
    "classifiers": [],
    "requires_dist": ["torch>=2", 'sphinx; extra == "docs"'],
    "keywords": "",
    "description": "",
}


def isolate(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Use a temporary workspace and none of the machine's configuration."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        patch.delenv(name)
    patch.setenv("PIP_CONFIG_FILE", os.devnull)
    patch.setenv("DLBENCH_HOME", str(folder / "home"))
    patch.setenv("NO_PROXY", "127.0.0.1,localhost")
    patch.delenv("GITHUB_TOKEN", raising=False)
    patch.setattr(package_index, "BACK_OFF", 0.01)


def publish(
    index: Index,
    name: str = "tiny-net",
    files: dict[str, str] = GOOD,
    versions: dict[str, str] | None = None,
    kind: str = "sdist",
    changes: dict[str, dict[str, str]] | None = None,
    **info: object,
) -> None:
    """`versions`: each with its Requires-Python, uploaded a day apart. `changes`: the files in which a version differs
    from `files`. `info` overrides entries of the metadata `INFO`."""
    releases = {}
    for day, (version, python) in enumerate((versions or {"1.0": ""}).items(), 1):
        filename = f"{name.replace('-', '_')}-{version}.tar.gz"
        own = files | (changes or {}).get(version, {})
        sha256 = make_sdist(index.files / filename, own, f"{name}-{version}/")
        facts = {"upload_time": f"2026-01-0{day}T10:00:00", "filename": filename, "digests": {"sha256": sha256}}
        more = {"packagetype": kind, "requires_python": python, "size": 1000, "url": f"../../files/{filename}"}
        releases[version] = [facts | more]
    describe(index, name, {"info": {"name": name, **INFO, **info}, "releases": releases})
    index.list(name)


def describe(index: Index, name: str, content: object) -> None:
    page = index.folder / "pypi" / name / "json"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(content if isinstance(content, str) else json.dumps(content))
