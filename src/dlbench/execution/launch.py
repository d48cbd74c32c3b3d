"""Start a sandbox, and describe the project, the instance and the candidate to it.

The sandbox gets nothing of the user: no key, no home, no path. Its environment is fixed, so that verdicts do not depend
on it.
"""

import contextlib
import json
import os
import platform
import re
import socket
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dlbench.dataset import Instance
from dlbench.execution.engine import Candidate
from dlbench.execution.limits import DEFAULT, JudgeOptions, Limits
from dlbench.execution.processes import Group, find_descendants
from dlbench.execution.sandbox import Cell, Launch, Sandbox
from dlbench.execution.sandbox.base import list_compiled
from dlbench.workspace import Prepared

_FRAMEWORKS = {
    "torch": ["numpy", "numpy.testing", "torch", "torch.testing"],
    "numpy": ["numpy", "numpy.testing"],
    "jax": ["numpy", "numpy.testing", "jax", "jax.numpy"],
    "tensorflow": ["numpy", "numpy.testing", "tensorflow"],
    "keras": ["numpy", "numpy.testing"],
}


def start(
    confinement: Sandbox,
    cell: Cell,
    descriptor: int,
    job: dict[str, Any],
    *,
    group: Group | None = None,
    output: int = subprocess.PIPE,
    connection: socket.socket | None = None,
) -> "subprocess.Popen[bytes]":
    """Start the sandbox, in the control group if there is one, and send it its job."""
    launch = confinement.launch(cell, descriptor)
    process = subprocess.Popen(
        launch.command,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=subprocess.STDOUT,
        pass_fds=[descriptor, *([connection.fileno()] if connection is not None else [])],
        env=_environment(cell, launch),
        cwd=cell.folder,
        start_new_session=True,
    )
    assert process.stdin is not None
    if group is not None:  # it still waits for its job
        for pid in find_descendants(process.pid):
            group.add(pid)
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(describe_project(cell, launch) | job).encode())
        process.stdin.close()
    return process


_LEAST_WORKERS = 8
_THREADS_OF_WORKER = 32
_TEST_FILE = re.compile(r"(conftest|test_[^.]*|[^.]*_test)(\..*)?\.pyc?")
_TEST_FOLDERS = {"test", "tests", "testing"}
_TEST = re.compile(rb"def test|unittest")
_RESERVED_MB = {"aarch64": 1024}
"""OpenBLAS reserves this much there at the first matrix product and hardly uses it. The real use is measured apart;
this limit only stops excessive requests at once, and it must not stop torch."""
# pytest cannot rewrite the asserts of plugins that a worker has imported; a project may turn that warning into an error
_WARM_PLUGINS = ("-W", "ignore::pytest.PytestAssertRewriteWarning")


def describe_project(cell: Cell, launch: Launch) -> dict[str, Any]:
    project = cell.prepared.project
    inner = cell.prepared.import_path.relative_to(cell.prepared.tree)
    return {
        "tree": str(launch.tree),
        "import_path": str(launch.tree / inner),
        "args": [*project.tests.args, *_WARM_PLUGINS],
        "framework": list_framework(cell.prepared),
        "user": launch.user,
        "seccomp": launch.seccomp.hex(),
        "limits": describe_limits(cell.limits),
        "readable": list(launch.readable),
        "writable": list(launch.writable),
    }


def list_framework(prepared: Prepared) -> list[str]:
    return _FRAMEWORKS[str(prepared.project.framework)]


def describe_limits(limits: Limits) -> dict[str, int]:
    return {
        "RLIMIT_DATA": (limits.memory_mb + _RESERVED_MB.get(platform.machine(), 0)) << 20,
        "RLIMIT_FSIZE": limits.file_mb << 20,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_NPROC": _limit_processes(limits),
        "RLIMIT_CPU": int(2 * (limits.load_seconds + limits.test_seconds)) + 1,
        "RLIMIT_CORE": 0,
    }


def describe_instance(prepared: Prepared, instance: Instance, *, hides: bool, shows_module: bool) -> dict[str, Any]:
    """`hides`: no test may read its own file. `shows_module`: the module on disk holds the candidate."""
    tests = sorted({*instance.test_files, *list_test_files(prepared.tree)})
    compiled = [path.as_posix() for path in list_compiled(prepared.tree, instance.path)]
    module = [] if shows_module else [instance.path, *compiled]
    return {
        "path": instance.path,
        "module": instance.module,
        "qualname": instance.qualname,
        "tests": list(instance.tests),
        "hidden": [*tests, *module],
        "blinded": [*(tests if hides else []), *module],
    }


@cache
def list_test_files(tree: Path) -> list[str]:
    """Files that match the patterns of pytest, and what is compiled from them; no module that only has such a name."""
    files = [Path(folder, name) for folder, _, names in os.walk(tree) for name in names if _TEST_FILE.fullmatch(name)]
    found = {file: file.relative_to(tree) for file in files}
    return [path.as_posix() for file, path in found.items() if _TEST_FOLDERS & {*path.parts} or _holds_tests(file)]


def _holds_tests(file: Path) -> bool:
    """False for a module without tests that its package imports."""
    try:
        is_imported = f".{file.stem} " in (file.parent / "__init__.py").read_text(encoding="utf-8")
        return file.name != f"{file.stem}.py" or not is_imported or bool(_TEST.search(file.read_bytes()))
    except (OSError, ValueError):
        return True


def describe_file_set(
    prepared: Prepared, tests: Sequence[str], answer: Sequence[str], allowed: Sequence[str], concealed: Sequence[str]
) -> dict[str, Any]:
    """A job that runs tests on a tree with an answer of several files. Tests that cannot be collected do not stop the
    others. `concealed`: further places that may not be read."""
    tests_of_tree = list_test_files(prepared.tree)
    job = describe_collection(list(tests)) | {"answer": list(answer), "allowed": list(allowed), "partial": True}
    return job | {"hidden": tests_of_tree, "blinded": [*tests_of_tree, *concealed]}


def describe_collection(files: list[str]) -> dict[str, Any]:
    """A job that only collects the tests of these files."""
    nothing = {"path": "", "module": "", "qualname": "", "hidden": [], "blinded": [], "tests": files}
    return nothing | describe_candidate()


def describe_candidate(
    candidate: Candidate | None = None, allowed: tuple[str, ...] = (), options: JudgeOptions = DEFAULT
) -> dict[str, Any]:
    """None is the unspliced reference. `ranges`: the lines of the module that belong to the candidate."""
    job: dict[str, Any] = {
        "source": None,
        "ranges": candidate.spliced.ranges if candidate is not None else [],
        "watch": candidate is not None and (candidate.is_watched or options.watched),
        "allowed": list(allowed),
        "classes": candidate.classes if candidate is not None else [],
        "learn": False,
        "collect_only": False,
        "answer": [],
        "partial": False,
        "until_failure": options.until_failure,
    }
    return job | ({"tests": list(options.tests)} if options.tests else {})


def describe_profiling(lines: tuple[int, int]) -> dict[str, Any]:
    """Run the unspliced reference and record its accesses to frames, files and the like."""
    return describe_candidate() | {"learn": True, "watch": True, "ranges": [lines]}


def _limit_processes(limits: Limits) -> int:
    """Without its own user, a candidate's processes count together with ours and with those of all other workers, which
    may start at the same time. The limit must not be much higher: it also bounds what a fork bomb does to the machine
    until its process tree is counted."""
    if os.geteuid() == 0:
        return limits.processes
    return _count_own_threads() + limits.processes + _THREADS_OF_WORKER * max(_LEAST_WORKERS, os.cpu_count() or 1)


def _count_own_threads() -> int:
    count = 0
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if path.stat().st_uid == os.getuid():
                count += sum(1 for _ in (path / "task").iterdir())
    return count


def _environment(cell: Cell, launch: Launch) -> dict[str, str]:
    temporary = str(launch.temporary)
    inner = cell.prepared.import_path.relative_to(cell.prepared.tree)
    fixed = {
        "PATH": f"{cell.prepared.python.parent}:/usr/bin:/bin",
        "HOME": f"{temporary}/home",
        "TMPDIR": temporary,
        "USER": "dlbench",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": str(launch.tree / inner),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        **{f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")},
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "JAX_PLATFORMS": "cpu",
        "MPLBACKEND": "Agg",
        "HF_HUB_OFFLINE": "1",
    }
    return fixed | dict(launch.environment) | cell.prepared.project.tests.env
