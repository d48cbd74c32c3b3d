"""Detect third-party code or text copied into this repository.

The repository holds only facts and its own text. Five consecutive informative lines that also occur in a project's
source, tests or documentation count as a copy.
"""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from dlbench.dataset import Benchmark, Kind, Problem
from dlbench.workspace.prepare import prepared_if_ready

RUN = 5
_TEXT = {".py", ".md", ".toml", ".txt", ".rst", ".cfg", ".json", ".in", ".yml", ".yaml", ".sh", ".html"}


def check_tree(benchmark: Benchmark, log: Callable[[str], None]) -> list[Problem]:
    """Compare the repository's files with every prepared project."""
    # The checkout that contains the benchmark, or the benchmark's folder alone.
    root = Path(_git(benchmark.root, "rev-parse", "--show-toplevel").strip() or benchmark.root)
    own: dict[int, tuple[str, int]] = {}
    for path in _files_of(root):
        for line, run in find_runs(path):
            own.setdefault(hash(run), (path.relative_to(root).as_posix(), line))
    problems: dict[str, Problem] = {}
    for project in benchmark.projects.values():
        prepared = prepared_if_ready(project, benchmark.root)
        if prepared is None or root.resolve() in [prepared.tree, *prepared.tree.parents]:
            continue
        log(f"comparing this repository with {project.name}")
        from_record = {prepared.tree / name for name in project.tests.files}
        for path in _readable(prepared.tree.rglob("*")):
            for line, run in find_runs(path) if path not in from_record else ():
                if hash(run) in own:
                    where, own_line = own[hash(run)]
                    theirs = f"{project.name} {path.relative_to(prepared.tree).as_posix()}:{line}"
                    what = f"{RUN} lines from line {own_line} also occur in {theirs}"
                    fix = "remove them; write it in your own words, or fetch it when it is needed"
                    problems.setdefault(where, Problem(Kind.THIRD_PARTY_CODE, where, what, fix))
    return list(problems.values())


def find_runs(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Every run of informative lines with its first line number; imports and short lines are not informative."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    lines = [(number, " ".join(line.split())) for number, line in enumerate(text.splitlines(), 1)]
    informative = [
        (number, line) for number, line in lines if len(line) >= 12 and not line.startswith(("import ", "from "))
    ]
    for start in range(len(informative) - RUN + 1):
        window = informative[start : start + RUN]
        yield window[0][0], tuple(line for _, line in window)


def _files_of(root: Path) -> list[Path]:
    """The repository's files except licenses and requirement lists: which packages a project needs is a fact."""
    names = _git(root, "ls-files", "-z", "-co", "--exclude-standard").split("\0")
    paths = [root / name for name in names if name] or list(root.rglob("*"))
    return list(_readable(path for path in paths if path.name != "LICENSE" and path.parent.name != "locks"))


def _git(root: Path, *arguments: str) -> str:
    """What git prints; nothing if it fails."""
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False)
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def _readable(paths: Iterator[Path] | list[Path]) -> Iterator[Path]:
    return (path for path in paths if path.suffix in _TEXT and path.is_file() and path.stat().st_size < 2 << 20)
