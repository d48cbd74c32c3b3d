"""Can this machine do the work, and if not, what must its owner fix?

Looked at before anything is fetched: an hour of downloads that ends in a missing program is an hour lost.
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass

from dlbench.errors import DLBenchError
from dlbench.workspace.home import home
from dlbench.workspace.pip_config import read_pip_config
from dlbench.workspace.uv import uv_binary

_ROOM = 10 * 10**9
_OLDEST = (3, 11, 4)  # The first 3.11 whose tarfile can refuse what leaves its folder.


@dataclass(frozen=True)
class Finding:
    name: str
    ok: bool
    detail: str
    fix: str = ""


def examine() -> list[Finding]:
    return [_python(), _uv(), _git(), *_disk(), _pip()]


def _python() -> Finding:
    found = sys.version_info[:3]
    wanted = ".".join(map(str, _OLDEST))
    return Finding("python", found >= _OLDEST, ".".join(map(str, found)), f"install Python {wanted} or newer")


def _uv() -> Finding:
    fix = "pip install --force-reinstall uv"
    try:
        return Finding("uv", True, _version(uv_binary()), fix)
    except (ImportError, OSError, DLBenchError, subprocess.SubprocessError) as error:
        return Finding("uv", False, str(error).splitlines()[0], fix)


def _git() -> Finding:
    fix = "install git; only projects that come from a git repository need it"
    program = shutil.which("git")
    if program is None:
        return Finding("git", False, "not found", fix)
    try:
        return Finding("git", True, _version(program), fix)
    except (OSError, subprocess.SubprocessError) as error:
        return Finding("git", False, str(error), fix)


def _version(program: str) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.strip()


def _disk() -> list[Finding]:
    try:
        folder = home()
    except DLBenchError as error:
        return [Finding("home", False, f"{error.where}: {error.what}", error.fix)]
    free = shutil.disk_usage(folder).free
    fix = "make room (`dlbench clean` helps), or set DLBENCH_HOME to a larger disk"
    # inside a sandbox /tmp then leads to the cache and cannot be written: right for all tests but those that name it
    note = " (tests that write to /tmp by name fail; set DLBENCH_HOME to a folder outside it)"
    return [
        Finding("home", True, f"{folder}{note if folder.is_relative_to('/tmp') else ''}"),
        Finding("disk", free >= _ROOM, f"{free / 10**9:.0f} GB free", fix),
    ]


def _pip() -> Finding:
    """Numbers only: what is printed here ends up in bug reports, and a URL may carry a password."""
    try:
        config = read_pip_config()
    except DLBenchError as error:
        return Finding("pip configuration", False, f"{error.where}: {error.what}", error.fix)
    index = "no index" if config.no_index else "own index" if config.index_url else "default index"
    parts = [
        index,
        f"{len(config.extra_index_urls)} extra",
        f"{len(config.find_links)} find-links",
        "own certificates" if config.cert else "default certificates",
    ]
    return Finding("pip configuration", True, ", ".join(parts))
