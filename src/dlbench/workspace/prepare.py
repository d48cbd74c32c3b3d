"""Prepare everything that one project's tests need: source, environment and bytecode.

Each is made once and reused. A worker that started with half of them would blame the model for what is missing here.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from dlbench.dataset.records import Project
from dlbench.errors import DLBenchError
from dlbench.workspace.environment import build_environment, environment_folder, is_complete, python_of
from dlbench.workspace.home import Log, disk_errors, locked, quiet, run_program
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
                _compile(prepared, mark)
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


def _compile(prepared: Prepared, mark: Path) -> None:
    """Compile the whole tree to bytecode, since confined tests cannot write their own.

    Bytecode is checked by timestamp: unchecked bytecode would hide a candidate spliced into a module. The exit status
    is ignored because trees contain files that are not valid Python, such as test data.
    """
    with disk_errors(mark):
        command = [str(prepared.python), "-I", "-m", "compileall", "-qq", "-j", "0"]
        command += ["--invalidation-mode", "timestamp", "."]
        run_program(command, prepared.tree, {"PATH": os.environ.get("PATH", "")})
        mark.touch()
