"""Define the records of projects and instances.

Records are typed, validated and frozen, and match the TOML files one to one. Unknown keys are rejected: a misspelt key
would otherwise be a setting that silently does nothing.
"""

import json
import re
from collections.abc import Sequence
from datetime import date
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from dlbench.dataset.labels import Data, Framework, Stage, Task

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Slug = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Dotted = Annotated[str, StringConstraints(pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*$")]


def _inside(path: str) -> str:
    """A record must not name a path outside the project's tree."""
    parts = PurePosixPath(path).parts
    if path.startswith("/") or ".." in parts or "\\" in path or not path:
        raise ValueError(f"{path!r} is not a relative path inside the project's tree")
    return path


InnerPath = Annotated[str, AfterValidator(_inside)]


def strip_case(test: str) -> str:
    """The id of a parametrised test without its case; a bracket before the first `::` belongs to a folder."""
    file, separator, name = test.partition("::")
    return f"{file}{separator}{name.partition('[')[0]}"


class Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GitSource(Record):
    url: str
    rev: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]


class Wheel(Record):
    file: Slug
    sha256: Sha256


class TestSetup(Record):
    """How a project's tests run: their folder, and what pytest and the process need beside the defaults."""

    root: InnerPath = "tests"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    files: dict[InnerPath, str] = {}


class Project(Record):
    """One pinned release of an open-source package, with its tests."""

    name: Slug
    version: str
    released: date
    archive: Slug | None = None
    git: GitSource | None = None
    path: str | None = None
    sha256: Sha256 | None = None
    wheels: tuple[Wheel, ...] = ()
    """For an archive with compiled parts, one per platform: files that the archive lacks come from the wheel."""
    license: str
    environment: Slug
    framework: Framework
    python: Annotated[str, StringConstraints(pattern=r"^3\.\d+$")] = "3.11"
    import_root: InnerPath = "."
    tests: TestSetup = TestSetup()

    @model_validator(mode="after")
    def _one_source(self) -> "Project":
        sources = [name for name in ("archive", "git", "path") if getattr(self, name) is not None]
        if len(sources) != 1:
            raise ValueError(f"write exactly one of archive, git and path (found: {', '.join(sources) or 'none'})")
        if self.archive and not self.sha256:
            raise ValueError("an archive needs its sha256")
        if self.wheels and not self.archive:
            raise ValueError("wheels belong to an archive; build compiled parts of git and path in place")
        return self


class Labels(Record):
    stage: Stage
    task: Task
    data: Data


class Votes(Record):
    """The annotators' independent votes; `reason` says how a tie was settled."""

    stage: tuple[Stage, ...] = ()
    task: tuple[Task, ...] = ()
    data: tuple[Data, ...] = ()
    reason: str = ""


class Measures(Record):
    """Measurements of the reference and its tests; `seconds` is the time of the tests themselves."""

    loc: int | None = None
    cyclomatic: int | None = None
    cognitive: int | None = None
    mutants: int | None = None
    mutants_killed: int | None = None
    seconds: float | None = None


class KnownLabels(Record):
    """Labels of another dataset; None where it has none."""

    stage: Stage | None = None
    task: Task | None = None
    data: Data | None = None


class Unrunnable(Record):
    """An instance of another dataset without a source to run it on: for reading and analysis, never judged."""

    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9_][A-Za-z0-9._-]*$")]
    why: str
    origin: str
    """The file it was read from."""
    path: InnerPath | None = None
    qualname: Dotted | None = None
    prompt: Annotated[str, StringConstraints(min_length=1)]
    tests: tuple[str, ...] = ()
    defects: tuple[str, ...] = ()
    labels: KnownLabels = KnownLabels()

    @property
    def project(self) -> str:
        return self.id.split("/", 1)[0]


_ID = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)/[^\W\d]\w*(\.[^\W\d]\w*)*$")


class Instance(Record):
    """One function or method of a project: our prompt asks for it, and the project's tests judge it."""

    id: str
    path: InnerPath
    qualname: Dotted
    sha256: Sha256
    introduced: date
    prompt: Annotated[str, StringConstraints(min_length=1)]
    tests: Annotated[tuple[str, ...], Field(min_length=1)]
    labels: Labels
    votes: Votes | None = None
    measures: Measures = Measures()

    @model_validator(mode="after")
    def _consistent(self) -> "Instance":
        if not _ID.match(self.id):
            raise ValueError(f"id {self.id!r} does not read <project>/<module.qualname>")
        if not self.path.endswith(".py"):
            raise ValueError(f"path {self.path!r} is not a Python file")
        if not self.id.endswith("." + self.qualname):
            raise ValueError(f"id {self.id!r} does not end in the qualified name {self.qualname!r}")
        if len(set(self.tests)) != len(self.tests):
            raise ValueError("a test id is listed twice")
        for test in self.tests:
            _inside(test.split("::", 1)[0])
        return self

    @property
    def project(self) -> str:
        return self.id.split("/", 1)[0]

    @property
    def module(self) -> str:
        return self.id.partition("/")[2].removesuffix("." + self.qualname)

    @property
    def name(self) -> str:
        """The bare name that a solution must define."""
        return self.qualname.rpartition(".")[2]

    @property
    def is_method(self) -> bool:
        return "." in self.qualname

    @property
    def test_files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(test.split("::", 1)[0] for test in self.tests))


def quote(value: str | Sequence[str]) -> str:
    """A string or list of strings as TOML: JSON's escapes are TOML's, except for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def quote_text(text: str) -> str:
    """A text as TOML that is read back unchanged; literal where possible, so that backslashes stay readable."""
    if "'''" in text or re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text) or text.endswith("'"):
        return quote(text)
    return f"'''\n{text}'''"
