"""Imports go one way, and the repository names no folder of a machine and no registry's host."""

import ast
import subprocess
from pathlib import Path

import pytest

import dlbench
from dlbench.workspace.pip_config import local_path, read_pip_config

ROOT = Path(__file__).parent.parent
BELOW = {
    "dataset": set(),
    "workspace": {"dataset"},
    "generation": {"dataset", "workspace"},
    "execution": {"dataset", "workspace", "generation"},
    "construction": {"dataset", "workspace", "generation", "execution"},
    "scoring": {"dataset"},
    "agreement": {"dataset", "workspace", "generation", "execution", "scoring"},
    "analysis": {"dataset", "workspace", "generation", "execution", "construction", "scoring"},
    "reporting": {"dataset", "scoring", "execution", "construction", "analysis", "agreement"},
    "bridges": {"dataset", "workspace", "generation", "execution", "construction", "scoring", "reporting"},
    "cli": {
        *("dataset", "workspace", "generation", "execution", "construction", "scoring", "analysis", "agreement"),
        *("reporting", "bridges"),
    },
}


@pytest.mark.parametrize("layer", BELOW)
def test_a_layer_imports_only_what_lies_below_it(layer):
    for path in (ROOT / "src/dlbench" / layer).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                parts = module.split(".")
                if parts[0] == "dlbench" and len(parts) > 1 and parts[1] in BELOW:
                    assert parts[1] in BELOW[layer] | {layer}, f"{path.name} imports {module}"


@pytest.mark.parametrize("name", dlbench.__all__)
def test_every_public_name_is_there(name):
    assert getattr(dlbench, name)


def test_every_layer_is_known():
    folders = {path.parent.name for path in (ROOT / "src/dlbench").glob("*/__init__.py")}
    assert folders == set(BELOW)


def test_no_tracked_file_names_a_machines_folder_or_a_registry():
    """Registries are put together from pieces, folders asked of the machine, so that this file names neither."""
    folders = [str(ROOT)]
    folders += [str(local_path(place)) for place in read_pip_config().find_links if local_path(place).is_absolute()]
    forbidden = ["pypi" + ".org", "python" + "hosted", "download." + "pytorch", *folders]
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        path = ROOT / name
        text = path.read_text(errors="replace") if path.is_file() else ""
        assert not [word for word in forbidden if word in text], name
