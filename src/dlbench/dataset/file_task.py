"""Define the records of tasks of many files: rebuilds, described components and release steps.

A record holds facts and our own words: which files change, which tests are shown and which judge. The code itself is in
the releases on the user's machine.
"""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from dlbench.dataset.labels import Track
from dlbench.dataset.records import InnerPath, Labels, Project, Record, Sha256, Votes
from dlbench.dataset.skeleton import cut_definitions, reduce_tree

LEAST_TESTS = 10
"""Minimum number of hidden tests of a rebuild task."""
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"

Place = Annotated[str, Field(pattern=r"^[^:]+\.py::[^\W\d]\w*(\.[^\W\d]\w*)*$")]
"""`path::qualname` of a definition."""


class BlindAttempt(Record):
    """An attempt by somebody who knew only the task."""

    kind: Literal["answer", "agent"]
    """One answer without running anything, or an agent in the task's folder."""
    solved: bool
    share: Annotated[float, Field(ge=0, le=1)]
    """Of the hidden tests, those that passed."""
    failure: Literal["", "skill", "description", "test", "environment"] = ""
    """What the failure was due to; the last three are faults of the task."""

    @model_validator(mode="after")
    def _classed(self) -> "BlindAttempt":
        if self.solved == bool(self.failure):
            raise ValueError("an attempt that failed needs the class of its failure, and no other has one")
        return self


class FileTask(Record):
    """A change of several files of a release, judged by hidden tests."""

    track: ClassVar[Track]
    least_tests: ClassVar[int] = 1
    is_described: ClassVar[bool] = True
    """Whether our own words say what to do."""

    id: str
    project: str
    version: str
    """The project's release that the record was made from."""
    files: Annotated[tuple[InnerPath, ...], Field(min_length=1)]
    """The modules that whoever solves the task is asked to change."""
    visible: tuple[str, ...] = ()
    """Tests that whoever solves the task sees, and that fail before."""
    hidden: tuple[str, ...]
    """Tests that judge."""
    unchanged: tuple[str, ...] = ()
    """Tests that pass before and must still pass; whoever solves the task sees them."""
    required_names: tuple[str, ...] = ()
    """Names and messages that hidden tests use and that occur nowhere else; they are told."""
    expected_errors: tuple[str, ...] = ()
    """Type, message and call of the errors and warnings that hidden tests expect; they are told."""
    description: str = ""
    """What to do, in our own words, as Markdown."""
    labels: Labels | None = None
    votes: Votes | None = None
    lines: Annotated[int, Field(gt=0)]
    """Lines of code to write, without blank lines and comments."""
    definitions: Annotated[int, Field(gt=0)]
    """Functions and methods to write."""
    seconds: float = 0.0
    """Time of all listed tests on the solution."""
    attempts: tuple[BlindAttempt, ...] = ()
    reviewer: str = ""
    """Who has checked that the description determines what the tests check, and has not written it."""
    sha256: Sha256
    """Digest of what is given (`hash_skeleton`): a different one would be a different task."""

    @model_validator(mode="after")
    def _consistent(self) -> "FileTask":
        if not re.match(rf"^{_NAME}/{self.track}-[A-Za-z0-9._+-]+$", self.id) or self.project != self.id.split("/")[0]:
            raise ValueError(f"id {self.id!r} does not read {self.project}/{self.track}-<name>")
        for field, values in self:
            if isinstance(values, tuple) and field != "attempts" and len(set(values)) != len(values):
                raise ValueError(f"an entry of {field} is listed twice")
        if len(self.hidden) < self.least_tests:
            raise ValueError(f"{len(self.hidden)} hidden tests, fewer than {self.least_tests}")
        for test, count in Counter(self.tests).items():
            if count > 1:
                raise ValueError(f"{test} is in two of visible, hidden and unchanged")
        places = (*getattr(self, "kept", ()), *getattr(self, "asked", ()))
        if others := [one for one in places if one.partition("::")[0] not in self.files]:
            raise ValueError(f"{others[0]} is in no file that is reduced")
        if others := [path for path in self.files if not path.endswith(".py")]:
            raise ValueError(f"{others[0]} is not a Python file")
        if self.is_described and not (self.description.strip() and self.labels):
            raise ValueError("it needs a description and labels")
        return self

    @property
    def tests(self) -> tuple[str, ...]:
        return (*self.visible, *self.hidden, *self.unchanged)

    @property
    def tests_of_base(self) -> tuple[str, ...]:
        """Those that pytest finds in the release that is changed."""
        return self.tests

    def find_base(self, projects: Mapping[str, Project]) -> Project:
        """The release that is changed."""
        return projects[self.project]

    def reduce(self, tree: Path) -> dict[str, str]:
        """The text of each file that is given instead of the release's."""
        raise NotImplementedError

    def find_date(self, project: Project) -> date:
        """When the solution became known. `project`: that of the record."""
        return project.released


class Rebuild(FileTask):
    """Some packages of a project, to be written again from their signatures and docstrings."""

    track = Track.REBUILD
    least_tests = LEAST_TESTS
    is_described = False

    kept: tuple[str, ...] = ()
    """`path::qualname` of definitions that keep their bodies, because importing the skeleton or collecting the tests
    runs them."""

    def reduce(self, tree: Path) -> dict[str, str]:
        return reduce_tree(tree, self.files, self.kept)


class Component(FileTask):
    """A class, a module or a feature, to be written from a description."""

    track = Track.COMPONENT
    least_tests = 5

    asked: Annotated[tuple[Place, ...], Field(min_length=1)]
    """Classes, functions and methods that lose their bodies and docstrings."""

    @property
    def size(self) -> str:
        return "S" if self.lines < 150 else "M" if self.lines < 400 else "L"

    def reduce(self, tree: Path) -> dict[str, str]:
        return {path: one.text for path, one in cut_definitions(tree, self.asked).items()}


class Release(FileTask):
    """What a later release of the project changed."""

    track = Track.RELEASE
    least_tests = 3

    older: Project
    """The release that is changed, with the requirements of both."""
    newer: Project
    """The later release; what judges are its tests, under the names that `rename_tests` gives."""
    taken: Annotated[tuple[str, ...], Field(min_length=1)]
    """What the solution has of it: files, and definitions (`path::qualname`)."""
    change: Literal["", "feature", "behaviour", "fix", "rework"] = ""
    """Empty for a whole release."""
    mutants: int = 0
    killed: int = 0
    """Mutants of the changed lines, and those that a test notices."""

    @model_validator(mode="after")
    def _same_project(self) -> "Release":
        if self.newer.name != self.project or self.newer.version == self.version:
            raise ValueError(f"newer is {self.newer.name} {self.newer.version}, no other release of {self.project}")
        if (self.older.name, self.older.version) != (self.project, self.version):
            raise ValueError(f"older is {self.older.name} {self.older.version}, not {self.project} {self.version}")
        return self

    @property
    def tests_of_base(self) -> tuple[str, ...]:
        return self.unchanged

    def find_base(self, projects: Mapping[str, Project]) -> Project:
        return self.older

    def reduce(self, tree: Path) -> dict[str, str]:
        """The older release as it is; files that it does not have are to be written."""
        return {path: (tree / path).read_bytes().decode() for path in self.files if (tree / path).is_file()}

    def find_date(self, project: Project) -> date:
        return self.newer.released


KINDS: dict[Track, type[FileTask]] = {kind.track: kind for kind in (Rebuild, Component, Release)}
