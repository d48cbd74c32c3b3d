"""Check what this machine has installed and configured, with a fix for everything that is missing.

The checks run before anything is fetched: a missing program should not surface after an hour of downloads.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from dlbench.errors import DLBenchError
from dlbench.workspace.home import home
from dlbench.workspace.pip_config import read_pip_config
from dlbench.workspace.uv import uv_binary

_MIN_FREE_BYTES = 10 * 10**9
_MIN_PYTHON = (3, 11, 4)  # The first 3.11 whose tarfile has extraction filters.


@dataclass(frozen=True)
class Finding:
    name: str
    ok: bool
    detail: str
    fix: str = ""


def examine() -> list[Finding]:
    uv = _program("uv", uv_binary, "pip install --force-reinstall uv")
    fix = "install git; only projects that come from a git repository need it"
    return [_python(), uv, _program("git", lambda: shutil.which("git"), fix), *_disk(), _pip()]


def _python() -> Finding:
    found = sys.version_info[:3]
    oldest = ".".join(map(str, _MIN_PYTHON))
    return Finding("python", found >= _MIN_PYTHON, ".".join(map(str, found)), f"install Python {oldest} or newer")


def _program(name: str, find: Callable[[], str | None], fix: str) -> Finding:
    try:
        program = find()
        if program is None:
            return Finding(name, False, "not found", fix)
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=True)
    except (ImportError, OSError, DLBenchError, subprocess.SubprocessError) as error:
        return Finding(name, False, str(error).splitlines()[0], fix)
    return Finding(name, True, done.stdout.strip(), fix)


def _disk() -> list[Finding]:
    try:
        folder = home()
    except DLBenchError as error:
        return [Finding("home", False, f"{error.where}: {error.what}", error.fix)]
    free = shutil.disk_usage(folder).free
    fix = "free disk space (`dlbench clean` helps), or set DLBENCH_HOME to a larger disk"
    # Inside a sandbox /tmp then holds the cache and is read-only, which breaks only tests that name /tmp.
    note = " (tests that write to /tmp by name fail; set DLBENCH_HOME to a folder outside it)"
    return [
        Finding("home", True, f"{folder}{note if folder.is_relative_to('/tmp') else ''}"),
        Finding("disk", free >= _MIN_FREE_BYTES, f"{free / 10**9:.0f} GB free", fix),
    ]


def _pip() -> Finding:
    """Report numbers only: this output ends up in bug reports, and a URL may contain a password."""
    try:
        config = read_pip_config()
    except DLBenchError as error:
        return Finding("pip configuration", False, f"{error.where}: {error.what}", error.fix)
    index = "no index" if config.no_index else "own index" if config.index_url else "default index"
    counts = f"{len(config.extra_index_urls)} extra, {len(config.find_links)} find-links"
    certificates = "own certificates" if config.cert else "default certificates"
    return Finding("pip configuration", True, f"{index}, {counts}, {certificates}")
