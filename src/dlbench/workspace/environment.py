"""Prepare what one project's tests need: the source, its virtual environment and bytecode, each made once and reused.

An environment is built from one lock, with nothing resolved on the way: the same lock gives the same packages, and so
the same verdicts, on every machine. The completeness mark is written last, so a killed build is repeated, not used.
"""

import hashlib
import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from dlbench.dataset.records import Project
from dlbench.errors import DLBenchError
from dlbench.workspace.home import Log, disk_errors, home, locked, make_folder, quiet, run_program
from dlbench.workspace.pip_config import read_pip_config
from dlbench.workspace.source import fetch, source_tree
from dlbench.workspace.uv import CPU_BUILDS, first_install, read_requirements, run_uv, run_with_cpu_builds

_MARK = ".dlbench-complete"


def build_environment(lock: Path, python: str, log: Log) -> Path:
    environment = environment_folder(lock, python)
    if is_complete(environment):
        return environment
    with locked(f"environment-{environment.name}", log):
        if not is_complete(environment):
            log(f"building the environment {lock.stem} (Python {python})")
            _build(lock, python, environment, log)
    return environment


def environment_folder(lock: Path, python: str) -> Path:
    """Path of this lock's environment, whether it is built or not."""
    key = hashlib.sha256(f"{python}\n{read_requirements(lock)}".encode()).hexdigest()[:16]
    return home() / "environments" / f"{lock.stem}-{key}"


def is_complete(environment: Path) -> bool:
    # The interpreter is a link to the machine's Python; the environment is void once an upgrade has removed that.
    return (environment / _MARK).is_file() and python_of(environment).exists()


def lock_text(environment: Path) -> str:
    """Text of the lock that the environment was built from; empty if the mark does not record it."""
    try:
        return str(json.loads((environment / _MARK).read_text(encoding="utf-8"))["requirements"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def python_of(environment: Path) -> Path:
    return environment / "bin" / "python"


def _build(lock: Path, python: str, environment: Path, log: Log) -> None:
    # Built under its final name: scripts and bytecode contain the path.
    with disk_errors(environment):
        make_folder(environment.parent)
    try:
        _install(lock, python, environment, log)
        if _compile_uv_cache(python_of(environment), python):
            _install(lock, python, environment, quiet)
        compile_python(python_of(environment), environment / "lib")
        with disk_errors(environment):
            mark = json.dumps({"requirements": read_requirements(lock)})
            (environment / _MARK).write_text(mark, encoding="utf-8")
    except BaseException:
        shutil.rmtree(environment, ignore_errors=True)
        raise


def _install(lock: Path, python: str, environment: Path, log: Log) -> None:
    config = read_pip_config()
    with disk_errors(environment):
        if environment.exists():
            shutil.rmtree(environment)
    run_uv(["venv", "--python", _interpreter(python), str(environment)], config, str(lock))
    install = ["pip", "install", "--no-deps", "--python", str(python_of(environment)), *config.uv_arguments()]
    if torch := first_install(read_requirements(lock), config, python):
        # A CPU build has no requirements that the lock lacks; the plain one has CUDA's, which only its metadata lists.
        plain = [*(part for part in install if part != "--no-deps"), *torch]
        run_with_cpu_builds([*install, *torch, *CPU_BUILDS], plain, config, str(lock), log)
    run_uv([*install, "-r", str(lock.absolute())], config, str(lock))


def _compile_uv_cache(python: Path, version: str) -> bool:
    """Write bytecode beside the unpacked wheels in uv's cache. Returns whether there is any new.

    uv hard-links every file of an unpacked wheel into an environment, bytecode included. Compiling in the cache means
    that dozens of environments share one compiled torch. If a future uv lays out its cache differently, nothing is
    found here and each environment is compiled by itself. The `.data` folder of a wheel stays as it is: uv rejects
    folders among its scripts and files that RECORD does not list.
    """
    compiled = f"__pycache__/*.cpython-{version.replace('.', '')}.pyc"
    wheels = [path for path in (home() / "uv").glob("archive-v*/*") if any(path.rglob("*.py"))]
    if new := [wheel for wheel in wheels if not any(wheel.rglob(compiled))]:
        compile_python(python, *new)
    return any(any(wheel.rglob(compiled)) for wheel in new)


def compile_python(python: Path, *folders: Path) -> None:
    """Compile to bytecode what has none: the sandbox cannot write any and would compile at every start.

    Bytecode is checked by timestamp: unchecked bytecode would hide a candidate spliced into a module. Failures are
    ignored: there are templates, test data and tests for other Python versions, which do not compile.
    """
    command = [str(python), "-I", "-m", "compileall", "-qq", "-j", "0", "--invalidation-mode", "timestamp"]
    command += ["-x", r"/[^/]+-[^/]+\.data/(scripts|purelib|platlib|headers|data)/"]
    run_program([*command, *map(str, folders)], home(), {"PATH": os.environ.get("PATH", "")})


def _interpreter(python: str) -> str:
    """The running Python if it has that version: it works here and needs no download."""
    base = Path(sys.base_prefix, "bin", f"python{python}")
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    return str(base) if running == python and base.exists() else python


@dataclass(frozen=True)
class Prepared:
    project: Project
    tree: Path
    environment: Path
    python: Path
    import_path: Path


def fetch_to_read(project: Project, benchmark_root: Path, log: Log = quiet) -> Prepared:
    """The release alone: its environment may be missing, so nothing of it can run."""
    tree = fetch(project, benchmark_root, log)
    return _prepared(project, tree, environment_folder(lock_of(project, benchmark_root), project.python))


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
