"""How does a project come from a repository at exactly one revision?

Only the revision itself is fetched where the server allows it, and the tree is checked out without hooks, prompts or
the caller's own repository leaking in: a run inside a git hook would otherwise work on the wrong repository.
"""

import os
import shutil
import subprocess
from pathlib import Path

from dlbench.dataset.records import GitSource
from dlbench.errors import DLBenchError
from dlbench.workspace.pip_config import redacted

_OPTIONS = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.autocrlf=false", "-c", "advice.detachedHead=false")
# What `git rev-parse --local-env-vars` lists of the variables that point a git command at another repository.
_LOCAL = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
)


def check_out(source: GitSource, target: Path) -> None:
    """The files of the revision in the new or empty folder `target`, without the repository."""
    if shutil.which("git") is None:
        raise DLBenchError(
            "git is not installed, and this project comes from a git repository",
            where=redacted(source.url),
            mend="install git and run the same command again",
        )
    target.mkdir(parents=True, exist_ok=True)
    _git(source, target, "init", "--quiet")
    try:
        _git(source, target, "fetch", "--quiet", "--depth", "1", "--", source.url, source.rev)
    except DLBenchError:
        # Some servers hand out branches and tags only, never a bare revision.
        _git(source, target, "fetch", "--quiet", "--", source.url, "+refs/*:refs/fetched/*")
    _git(source, target, "checkout", "--quiet", "--detach", source.rev)
    shutil.rmtree(target / ".git")


def _git(source: GitSource, folder: Path, *arguments: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in _LOCAL}
    done = subprocess.run(
        ["git", *_OPTIONS, *arguments],
        cwd=folder,
        env=environment | {"GIT_TERMINAL_PROMPT": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        umask=0o022,
    )
    if done.returncode:
        said = " ".join(redacted(done.stderr).split()[-60:])
        raise DLBenchError(
            f"revision {source.rev} could not be fetched: git {arguments[0]} says: {said}",
            where=redacted(source.url),
            mend="check url and rev in the project's record and the connection, and run the same command again",
        )
