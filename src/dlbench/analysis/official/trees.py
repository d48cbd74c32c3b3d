"""Where is the code that the official files ask for?

They name projects and files, no release. Here stands one release of each project, the last before the files' own date,
pinned by its hash: otherwise two people who measure the same dataset measure different code.
"""

import csv
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from dlbench.workspace.archive import unpack
from dlbench.workspace.home import Say
from dlbench.workspace.package_index import download


@dataclass(frozen=True)
class Release:
    project: str
    package: str
    file: str
    sha256: str


def read_releases() -> list[Release]:
    text = files("dlbench.analysis.official").joinpath("releases.csv").read_text()
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return [Release(**row) for row in rows]


def fetch_trees(releases: list[Release], folder: Path, say: Say) -> None:
    """A folder a project, named as the official files name it; what is there already is left as it is."""
    for release in releases:
        tree = folder / release.project
        if tree.exists():
            continue
        archive = folder / f".{release.file}"
        download(release.package, release.file, release.sha256, archive, say)
        try:
            unpack(archive, tree)
        finally:
            archive.unlink()
