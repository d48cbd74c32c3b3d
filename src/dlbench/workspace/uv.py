"""How is uv run, and what does it mean when it fails?

uv gets the machine's pip configuration and none of the caller's variables that could change what is installed, so that
one lock gives one environment. Its failures are told apart, because a full disk and a wrong version need other mends.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dlbench.errors import DiskFull, DLBenchError
from dlbench.workspace.home import home
from dlbench.workspace.pip_config import PipConfig, redacted

_KEPT = ("UV_CACHE_DIR", "UV_HTTP_TIMEOUT")
_DROPPED = ("PYTHON", "UV_", "PIP_", "CONDA_", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")

_DISK_IS_FULL = "the disk is full"

# In the order of asking: a message may hold several of these, and the first that fits is the cause.
_CAUSES = (
    (
        ("no space left on device", "os error 28", "disk quota exceeded"),
        _DISK_IS_FULL,
        "make room (`dlbench clean` helps), or set DLBENCH_HOME to a larger disk, and run the same command again",
    ),
    (
        ("hash mismatch",),
        "a package is not the one that the lock pins (hash mismatch)",
        "do not use it; if the index is a mirror, ask its owner, otherwise report it to the benchmark",
    ),
    (
        ("no interpreter found", "python-build-standalone"),
        "no Python of the wanted version is on this machine, and none could be fetched",
        "install that version of Python and run the same command again",
    ),
    (
        ("error sending request", "dns error", "failed to fetch", "connection refused", "timed out", "offline"),
        "the package index could not be reached",
        "check the connection and pip's index configuration, and run the same command again",
    ),
    (
        ("no solution found", "no version of", "not found in the", "no matching distribution", "no compatible"),
        "no configured index has a package in the version that is wanted, for this Python and platform",
        "check the requirements, and pip's index configuration (`dlbench doctor` shows it)",
    ),
    (
        ("failed to build",),
        "a package comes as source only and could not be built",
        "install a compiler and what the last lines name, or choose a version that has wheels",
    ),
)


def uv_binary() -> str:
    import uv

    try:
        return uv.find_uv_bin()
    except FileNotFoundError:
        raise DLBenchError(
            "uv is not installed completely", mend="reinstall it: pip install --force-reinstall uv"
        ) from None


def run_uv(arguments: Sequence[str], config: PipConfig, where: str) -> None:
    folder = home()
    done = subprocess.run(
        # No configuration files: a uv.toml or pyproject.toml up the tree would steer the resolution.
        [uv_binary(), *arguments, "--no-config", "--no-progress", "--color", "never"],
        cwd=folder,
        env=uv_environment(folder, config),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        umask=0o022,
    )
    if done.returncode:
        raise _failure(redacted(done.stderr), where)


def uv_environment(folder: Path, config: PipConfig) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or not name.startswith(_DROPPED)}
    # One cache beside the environments: they share its files by hard links, so forty do not cost forty torches.
    return {"UV_CACHE_DIR": str(folder / "uv")} | kept | config.environment()


def _failure(said: str, where: str) -> DLBenchError:
    last = [f"    {line}" for line in said.splitlines() if line.strip()][-12:]
    known = ((what, mend) for signs, what, mend in _CAUSES if any(sign in said.lower() for sign in signs))
    what, mend = next(known, ("uv failed", "mend what its last lines name"))
    kind = DiskFull if what == _DISK_IS_FULL else DLBenchError
    return kind("\n".join([f"{what}; uv says:", *last]), where=where, mend=mend)
