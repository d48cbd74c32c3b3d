"""Load a folder of TOML files as a benchmark, and define the problems that checks report.

A benchmark is any folder of this shape, ours or a user's. `read` collects all problems in one pass; `load` is for
commands that need a sound benchmark and raises an error with the same list.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Generic, Protocol

from pydantic import ValidationError
from typing_extensions import TypeVar

from dlbench.dataset.labels import Track
from dlbench.dataset.records import Instance, Project, Record, Unrunnable
from dlbench.errors import DLBenchError

AnyRecord = TypeVar("AnyRecord", bound=Record)


class Kind(StrEnum):
    MALFORMED_RECORD = "malformed_record"
    UNKNOWN_LABEL = "unknown_label"
    MISPLACED_FILE = "misplaced_file"
    UNKNOWN_PROJECT = "unknown_project"
    UNKNOWN_INSTANCE = "unknown_instance"
    MISSING_LOCK = "missing_lock"
    UNPINNED_LOCK = "unpinned_lock"
    PROJECT_IN_LOCK = "project_in_lock"
    DUPLICATE_TARGET = "duplicate_target"
    DUPLICATE_ID = "duplicate_id"
    SOURCE_UNAVAILABLE = "source_unavailable"
    SOURCE_MISMATCH = "source_mismatch"
    MISSING_PATH = "missing_path"
    MISSING_TARGET = "missing_target"
    HASH_MISMATCH = "hash_mismatch"
    MISSING_TEST = "missing_test"
    PROMPT_IS_A_DRAFT = "prompt_is_a_draft"
    PROMPT_LENGTH = "prompt_length"
    PROMPT_LEAKS_CODE = "prompt_leaks_code"
    PROMPT_LEAKS_DOCSTRING = "prompt_leaks_docstring"
    PROMPT_LEAKS_MESSAGE = "prompt_leaks_message"
    LABEL_AGAINST_VOTES = "label_against_votes"
    TIE_WITHOUT_REASON = "tie_without_reason"
    TOO_FEW_VOTES = "too_few_votes"
    TOO_FEW_TESTS = "too_few_tests"
    WEAK_TESTS = "weak_tests"
    PROJECT_TOO_LARGE = "project_too_large"
    TASK_SIZE = "task_size"
    NOT_REVIEWED = "not_reviewed"
    THIRD_PARTY_CODE = "third_party_code"


@dataclass(frozen=True)
class Problem:
    """`kind` is for programs; `where`, `what` and `fix` are for people."""

    kind: Kind
    where: str
    what: str
    fix: str


@dataclass(frozen=True)
class Version:
    """`comparability.files`: scores may be compared while the first part is the same; the second counts changes."""

    comparability: int
    files: int

    def __str__(self) -> str:
        return f"{self.comparability}.{self.files}"


class InProject(Protocol):
    @property
    def project(self) -> str: ...


AnyInstance = TypeVar("AnyInstance", bound=InProject, covariant=True, default=Instance)


@dataclass(frozen=True)
class Benchmark(Generic[AnyInstance]):
    """The instances of one track: functions, unless `dataset.tracks.open_track` chose another."""

    root: Path
    version: Version
    projects: dict[str, Project]
    instances: Mapping[str, AnyInstance]
    splits: dict[str, tuple[str, ...]]
    files: dict[str, Path] = field(default_factory=dict)
    """The file that each instance id, and each project name, was read from."""
    canary: str = ""
    """A string that occurs nowhere else, to find copies of the prompts; empty where the benchmark has none."""
    origin: str = ""
    """Who wrote prompts, labels and trial solutions, for the cards."""
    unrunnable: dict[str, Unrunnable] = field(default_factory=dict)
    """Instances imported without a source, kept apart so that nothing tries to run them."""

    track: Track = Track.FUNCTION

    def project_of(self, instance: InProject) -> Project:
        return self.projects[instance.project]


def default_root() -> Path:
    """The folder that DLBENCH_BENCHMARK names, else our own benchmark."""
    named = os.environ.get("DLBENCH_BENCHMARK")
    return Path(named) if named else find_own("benchmark")


def find_own(name: str) -> Path:
    """A folder of our own records: in the installed package, or beside `src` in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / f"_{name}"
    return inside if inside.is_dir() else package.parent.parent / name


def load(root: Path | None = None) -> Benchmark:
    benchmark, problems = read(root or default_root())
    if problems:
        shown = "\n".join(f"  {problem.where}: {problem.what}" for problem in problems[:20])
        more = f"\n  … and {len(problems) - 20} more" if len(problems) > 20 else ""
        what = f"the benchmark has {len(problems)} problem(s):\n{shown}{more}"
        fix = "run `dlbench check --benchmark …` to see how to fix each"
        raise DLBenchError(what, where=str(benchmark.root), fix=fix)
    return benchmark


def read(root: Path) -> tuple[Benchmark, list[Problem]]:
    if not root.is_dir():
        fix = "pass the folder that contains projects/ as --benchmark; `dlbench train-set build` makes the training set"
        raise DLBenchError("no benchmark folder here", where=str(root), fix=fix)
    problems: list[Problem] = []
    files: dict[str, Path] = {}
    projects = _read_all(root, "projects/*.toml", Project, files, problems)
    instances = _read_all(root, "instances/*/*.toml", Instance, files, problems)
    unrunnable = _read_all(root, "unrunnable/*/*.toml", Unrunnable, {}, problems)
    texts = (root / "CANARY", root / "ORIGIN")
    canary, origin = (path.read_text(encoding="utf-8").strip() if path.is_file() else "" for path in texts)
    benchmark = Benchmark(
        root=root,
        version=_read_version(root, problems),
        projects=projects,
        instances=dict(sorted(instances.items())),
        splits=_read_splits(root),
        files=files,
        canary=canary,
        origin=origin,
        unrunnable=unrunnable,
    )
    return benchmark, problems


def _read_version(root: Path, problems: list[Problem]) -> Version:
    path = root / "VERSION"
    try:
        comparability, files = path.read_text(encoding="utf-8").strip().split(".")
        return Version(int(comparability), int(files))
    except (OSError, ValueError):
        fix = "write a file VERSION with two integers, for example 1.0"
        problems.append(Problem(Kind.MALFORMED_RECORD, "VERSION", "not a version in two parts", fix))
        return Version(0, 0)


def _read_splits(root: Path) -> dict[str, tuple[str, ...]]:
    splits = {}
    for path in sorted(root.glob("splits/*.txt")):
        lines = (line.split("#", 1)[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
        splits[path.stem] = tuple(line for line in lines if line)
    return splits


def _read_all(
    root: Path, pattern: str, record_type: type[AnyRecord], files: dict[str, Path], problems: list[Problem]
) -> dict[str, AnyRecord]:
    records: dict[str, AnyRecord] = {}
    for path in sorted(root.glob(pattern)):
        where = path.relative_to(root).as_posix()
        record = read_record(path, where, record_type, problems)
        if record is None:
            continue
        key: str = getattr(record, "name" if isinstance(record, Project) else "id")
        if key in records:
            what = f"{key} is also in {files[key].relative_to(root).as_posix()}"
            problems.append(Problem(Kind.DUPLICATE_ID, where, what, "remove one of the two files"))
            continue
        records[key] = record
        files[key] = path
    return records


_FIXES = {"missing": "add that key (docs/benchmark.md)", "extra_forbidden": "remove that key"}
"""By pydantic's type of an error."""


def read_record(path: Path, where: str, record_type: type[AnyRecord], problems: list[Problem]) -> AnyRecord | None:
    try:
        return record_type.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problems.append(Problem(Kind.MALFORMED_RECORD, where, f"not TOML: {error}", "fix the syntax there"))
    except ValidationError as error:
        for detail in error.errors():
            place = ".".join(str(part) for part in detail["loc"]) or "record"
            kind, what = Kind.MALFORMED_RECORD, f"{place}: {detail['msg']}"
            fix = _FIXES.get(detail["type"], "correct it")
            if detail["type"] == "enum":
                kind, what, fix = Kind.UNKNOWN_LABEL, f"{what} (found {detail['input']!r})", "use one of those listed"
            problems.append(Problem(kind, where, what, fix))
    return None
