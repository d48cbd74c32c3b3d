"""A benchmark's folder around a small project of ours: what every such project needs, once."""

import os
from pathlib import Path

LOCK = "iniconfig==2.1.0\npackaging==25.0\npluggy==1.6.0\npygments==2.19.2\npytest==8.4.2\n"


def write_project(benchmark: Path, source: Path, name: str, files: dict[str, str]) -> None:
    """The project's files in `source`, and its record, lock and version in the benchmark's folder."""
    for inner, text in files.items():
        path = source / inner
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for folder in ("projects", f"instances/{name}", "locks", "splits"):
        (benchmark / folder).mkdir(parents=True)
    (benchmark / "VERSION").write_text("1.0\n")
    (benchmark / "locks/toy.txt").write_text(LOCK)
    (benchmark / f"projects/{name}.toml").write_text(
        f'name = "{name}"\nversion = "1.0"\nreleased = 2026-01-02\npath = "{os.path.relpath(source, benchmark)}"\n'
        'license = "Apache-2.0"\nenvironment = "toy"\nframework = "numpy"\ntests = {root = "tests"}\n'
    )
