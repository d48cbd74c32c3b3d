"""What does the code under test run in?

A virtual environment made from one fully pinned lock, by hash, with nothing resolved on the way: the same lock gives
the same packages on every machine, or a verdict here would not be the verdict there. Built once, marked last, so that
a build which was killed is built again and never used.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from dlbench.workspace.home import Log, disk_errors, home, locked, make_folder
from dlbench.workspace.pip_config import read_pip_config
from dlbench.workspace.reuse import link_known, read_lock, write_mark
from dlbench.workspace.uv import compile_lock as compile_lock
from dlbench.workspace.uv import first_install, read_requirements, run_uv

_MARK = ".dlbench-complete"


def build_environment(lock: Path, python: str, log: Log) -> Path:
    environment = environment_folder(lock, python)
    if is_complete(environment):
        return environment
    with locked(f"environment-{environment.name}", log):
        if not is_complete(environment):
            log(f"building the environment {lock.stem} (Python {python})")
            _build(lock, python, environment)
    return environment


def environment_folder(lock: Path, python: str) -> Path:
    """Where the environment of this lock is, built or not."""
    key = hashlib.sha256(f"{python}\n{read_requirements(lock)}".encode()).hexdigest()[:16]
    return home() / "environments" / f"{lock.stem}-{key}"


def is_complete(environment: Path) -> bool:
    # The interpreter is a link to the machine's Python; when that was upgraded away, the environment is void.
    return (environment / _MARK).is_file() and python_of(environment).exists()


def lock_text(environment: Path) -> str:
    """Of the lock that it was built from; empty where nobody wrote it down."""
    return read_lock(environment / _MARK)


def python_of(environment: Path) -> Path:
    return environment / "bin" / "python"


def _build(lock: Path, python: str, environment: Path) -> None:
    config = read_pip_config()
    # Built under its final name: scripts and bytecode hold the path.
    with disk_errors(environment):
        if environment.exists():
            shutil.rmtree(environment)
        make_folder(environment.parent)
    try:
        requirements = read_requirements(lock)
        run_uv(["venv", "--python", _interpreter(python), str(environment)], config, str(lock))
        with disk_errors(environment):
            link_known(environment, requirements, python, config, _MARK)
        install = ["pip", "install", "--no-deps", "--python", str(python_of(environment)), *config.uv_arguments()]
        if torch := first_install(requirements, config, python):
            run_uv([*install, *torch], config, str(lock))
        run_uv([*install, "-r", str(lock.absolute())], config, str(lock))
        _compile(environment)
        with disk_errors(environment):
            write_mark(environment / _MARK, requirements, python, config)
    except BaseException:
        shutil.rmtree(environment, ignore_errors=True)
        raise


def _compile(environment: Path) -> None:
    """Bytecode for everything that has none: the sandbox cannot write any, and would compile at every start. Files that
    cannot be compiled (tests of other Pythons, templates) are nobody's concern."""
    compiler = [str(python_of(environment)), "-m", "compileall", "-q", "-j", "0", str(environment / "lib")]
    subprocess.run(compiler, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, umask=0o022, check=False)


def _interpreter(python: str) -> str:
    """The Python that runs us, when it is of that version: it is known to work here and needs no download."""
    base = Path(sys.base_prefix, "bin", f"python{python}")
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    return str(base) if running == python and base.exists() else python
