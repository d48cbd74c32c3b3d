"""Prepare everything that one project's tests need: source, environment and bytecode.

Each is made once and reused. A worker that started with half of them would blame the model for what is missing here.
"""

from dataclasses import dataclass
from pathlib import Path

from dlbench.dataset.records import Project
from dlbench.errors import DLBenchError
from dlbench.workspace.environment import build_environment, compile_python, environment_folder, is_complete, python_of
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
    """Do the remaining work once the source and the environment exist."""
    prepared = _prepared(project, tree, environment)
    mark = _compiled_mark(prepared)
    if not mark.exists():
        with locked(f"bytecode-{prepared.tree.parent.name}", log):
            if not mark.exists():
                with disk_errors(mark):
                    compile_python(prepared.python, tree)
                    mark.touch()
    return prepared


def prepared_if_ready(project: Project, benchmark_root: Path) -> Prepared | None:
    """The result of `prepare` if it needs no work; otherwise None."""
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
