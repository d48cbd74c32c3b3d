"""Fetched sources, built environments and caches of this machine, all under one folder."""

from dlbench.workspace.archive import tree_hash
from dlbench.workspace.doctor import Finding, clean, examine
from dlbench.workspace.environment import Prepared, build_environment, prepare, prepared_if_ready, python_of
from dlbench.workspace.home import Log, building, home, locked
from dlbench.workspace.pip_config import PipConfig, read_pip_config
from dlbench.workspace.source import fetch
from dlbench.workspace.uv import compile_lock

__all__ = [
    "Finding", "Log", "PipConfig", "Prepared", "build_environment", "building", "clean", "compile_lock", "examine",
    "fetch", "home", "locked", "prepare", "prepared_if_ready", "python_of", "read_pip_config", "tree_hash",
]  # fmt: skip
