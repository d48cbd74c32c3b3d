"""Where does a project that is partly compiled get its compiled parts?

From the wheel that its makers built of the same release. Nothing is built here: a compiler is not to be had
everywhere, and what it makes differs from machine to machine. Only what the source archive lacks is taken, so that
every reference and every test is read from the source as it was released.
"""

import shutil
from pathlib import Path

from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from dlbench.dataset.records import Project, Wheel
from dlbench.errors import DLBenchError


def choose_wheel(project: Project) -> Wheel:
    """The first of the record's wheels that this machine can load."""
    major, minor = map(int, project.python.split("."))
    ours = {*cpython_tags((major, minor)), *compatible_tags((major, minor))}
    for wheel in project.wheels:
        try:
            *_, tags = parse_wheel_filename(wheel.file)
        except InvalidWheelFilename as error:
            mend = "mend `wheels` in the project's record"
            raise DLBenchError(f"not the name of a wheel: {error}", where=project.name, mend=mend) from None
        if ours & tags:
            return wheel
    names = ", ".join(wheel.file for wheel in project.wheels)
    raise DLBenchError(
        f"none of its wheels can be loaded on this machine by Python {project.python}: {names}",
        where=project.name,
        mend="leave the project out (--project), or use a machine that one of them is for",
    )


def add_missing(wheel: Path, tree: Path) -> None:
    """Copies what the unpacked wheel has and the tree has not."""
    for path in sorted(wheel.rglob("*")):
        there = tree / path.relative_to(wheel)
        if path.is_file() and not path.is_symlink() and not there.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, there)
