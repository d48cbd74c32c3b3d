"""Is everything here that one project's tests need?

The source, the environment and the bytecode, made once and found again at once. A worker that started on half of them
would blame the model for what this machine lacks.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dlbench.dataset.records import Project
from dlbench.errors import DLBenchError
from dlbench.workspace.environment import build_environment, environment_folder, is_complete, python_of
from dlbench.workspace.home import Log, disk_errors, locked, quiet
from dlbench.workspace.source import fetch, source_tree


@dataclass(frozen=True)
class Prepared:
    project: Project
    tree: Path
    environment: Path
    python: Path
    import_path: Path


def prepare(project: Project, benchmark_root: Path, log: Log = quiet) -> Prepared:
    tree = fetch(project, benchmark_root, log)
    return complete(project, tree, build_environment(lock_of(project, benchmark_root), project.python, log), log)


def complete(project: Project, tree: Path, environment: Path, log: Log = quiet) -> Prepared:
    """What is left to do where source and environment are there."""
    prepared = _prepared(project, tree, environment)
    mark = _compiled_mark(prepared)
    if not mark.exists():
        with locked(f"bytecode-{prepared.tree.parent.name}", log):
            if not mark.exists():
                _compile(prepared, mark)
    return prepared


def prepared_if_ready(project: Project, benchmark_root: Path) -> Prepared | None:
    """What `prepare` would give at once, or None where it would have to work, or could not."""
    try:
        tree = source_tree(project, benchmark_root)
        environment = environment_folder(lock_of(project, benchmark_root), project.python)
    except DLBenchError:
        return None
    prepared = _prepared(project, tree, environment)
    return prepared if tree.is_dir() and is_complete(environment) and _compiled_mark(prepared).exists() else None


def lock_of(project: Project, benchmark_root: Path) -> Path:
    return benchmark_root / "locks" / f"{project.environment}.txt"


def _prepared(project: Project, tree: Path, environment: Path) -> Prepared:
    return Prepared(project, tree, environment, python_of(environment), tree / project.import_root)


def _compiled_mark(prepared: Prepared) -> Path:
    return prepared.tree.parent / f"compiled-{prepared.project.python}"


def _compile(prepared: Prepared, mark: Path) -> None:
    """Bytecode for the whole tree, since confined tests cannot write their own.

    By timestamp: a candidate spliced into a module must be noticed, and unchecked bytecode would hide it. Files of the
    tree that are not valid Python (test data often is not) are no concern of ours, so the exit status is not either.
    """
    with disk_errors(mark):
        subprocess.run(
            [prepared.python, "-I", "-m", "compileall", "-qq", "-j", "0", "--invalidation-mode", "timestamp", "."],
            cwd=prepared.tree,
            env={"PATH": os.environ.get("PATH", "")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            umask=0o022,
        )
        mark.touch()
