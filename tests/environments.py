"""Virtual environments of other people's packages, for tests that run these."""

from collections.abc import Sequence
from pathlib import Path

from dlbench.workspace.pip_config import read_pip_config
from dlbench.workspace.uv import run_uv


def make_environment(folder: Path, python: str, package: str, others: Sequence[str]) -> Path:
    """With the package, but only these of what it requires: some require much that they do not need here."""
    config = read_pip_config()
    run_uv(["venv", "--python", python, str(folder)], config, package)
    install = ["pip", "install", "--python", str(folder), *config.uv_arguments()]
    run_uv([*install, *others], config, package)
    run_uv([*install, "--no-deps", package], config, package)
    return folder / "bin"
