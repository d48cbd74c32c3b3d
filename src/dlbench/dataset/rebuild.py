"""Define the record of a rebuild task: a release whose packages are reduced to a skeleton, to be written again.

A record holds facts only: which files are reduced, which tests are shown and which judge. What was removed is in the
release on the user's machine.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, TypeGuard

from pydantic import Field, ValidationError, model_validator

from dlbench.dataset.labels import Track
from dlbench.dataset.loading import Benchmark, Kind, Problem
from dlbench.dataset.records import InnerPath, Instance, Labels, Project, Record, Sha256
from dlbench.errors import DLBenchError
from dlbench.jsonl import write_whole

LEAST_TESTS = 10
"""Minimum number of hidden tests of a rebuild task."""
_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*/rebuild-[A-Za-z0-9._+-]+$")


class Rebuild(Record):
    """Some packages of a project, to be written again from their signatures and docstrings."""

    id: str
    project: str
    version: str
    """The project's release that the record was made from."""
    files: Annotated[tuple[InnerPath, ...], Field(min_length=1)]
    """The modules that are reduced."""
    kept: tuple[str, ...] = ()
    """`path::qualname` of definitions that keep their bodies, because importing the skeleton or collecting the tests
    runs them."""
    visible: tuple[str, ...]
    """Tests that whoever solves the task sees."""
    hidden: Annotated[tuple[str, ...], Field(min_length=LEAST_TESTS)]
    """Tests that judge."""
    required_names: tuple[str, ...] = ()
    """Names and messages that hidden tests use and that occur nowhere else; they are told."""
    lines: Annotated[int, Field(gt=0)]
    """Lines that are removed, without blank lines and comments."""
    definitions: Annotated[int, Field(gt=0)]
    """Functions and methods that lose their bodies."""
    seconds: float = 0.0
    """Time of all listed tests on the release."""
    sha256: Sha256
    """Digest of the skeleton (`hash_skeleton`): a different one would be a different task."""

    @model_validator(mode="after")
    def _consistent(self) -> "Rebuild":
        if not _ID.match(self.id) or self.id.partition("/")[0] != self.project:
            raise ValueError(f"id {self.id!r} does not read {self.project}/rebuild-<packages>")
        for field in ("files", "kept", "visible", "hidden", "required_names"):
            values = getattr(self, field)
            if len(set(values)) != len(values):
                raise ValueError(f"an entry of {field} is listed twice")
        if both := set(self.visible) & set(self.hidden):
            raise ValueError(f"{min(both)} is both visible and hidden")
        if others := [path for path in self.files if not path.endswith(".py")]:
            raise ValueError(f"{others[0]} is not a Python file")
        if others := [one for one in self.kept if one.partition("::")[0] not in self.files]:
            raise ValueError(f"{others[0]} is in no file that is reduced")
        return self

    @property
    def tests(self) -> tuple[str, ...]:
        return (*self.visible, *self.hidden)


TrackInstance = Instance | Rebuild
"""An instance of any track."""
TrackBenchmark = Benchmark[TrackInstance]


def open_track(benchmark: Benchmark, track: Track) -> TrackBenchmark:
    """The benchmark with the instances of this track; splits are of functions."""
    if track is Track.FUNCTION:
        return benchmark
    changed = {"instances": read_rebuilds(benchmark.root), "splits": {}, "track": track}
    return TrackBenchmark(**(vars(benchmark) | changed))


def has_functions(benchmark: TrackBenchmark) -> TypeGuard[Benchmark]:
    return benchmark.track is Track.FUNCTION


def read_rebuilds(root: Path) -> dict[str, Rebuild]:
    """The rebuild tasks of a benchmark folder by id."""
    return {record.id: record for record in map(_read, list_files(root))}


def find_labels(record: Rebuild, instances: Iterable[Instance]) -> dict[str, str]:
    """On each axis the label of most function instances in the reduced modules; none where two are as frequent."""
    inside = [one.labels for one in instances if one.project == record.project and one.path in record.files]
    found = {}
    for axis in Labels.model_fields:
        counts = Counter(str(getattr(labels, axis)) for labels in inside).most_common(2)
        if counts and (len(counts) == 1 or counts[0][1] > counts[1][1]):
            found[axis] = counts[0][0]
    return found


def list_files(root: Path) -> list[Path]:
    return sorted(root.glob("rebuilds/*.json"))


def _read(path: Path) -> Rebuild:
    try:
        record = Rebuild.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(map(str, first['loc'])) or 'record'}: {first['msg']}"
        raise DLBenchError(what, where=str(path), fix="correct it, or construct the task again") from None
    if path.name != name_file(record.id):
        what, fix = f"the record of {record.id} has another file name", f"rename it to {name_file(record.id)}"
        raise DLBenchError(what, where=str(path), fix=fix)
    return record


def check_rebuilds(root: Path, projects: Mapping[str, Project]) -> Iterator[Problem]:
    """Problems of the records that need no sources to be seen."""
    for path in list_files(root):
        where = path.relative_to(root).as_posix()
        try:
            record = _read(path)
        except DLBenchError as error:
            yield Problem(Kind.MALFORMED_RECORD, where, error.what, error.fix)
            continue
        project = projects.get(record.project)
        if project is None:
            fix = f"write projects/{record.project}.toml"
            yield Problem(Kind.UNKNOWN_PROJECT, where, f"there is no project {record.project!r}", fix)
        elif project.version != record.version:
            what = f"it was made from {record.version}, and the project's record names {project.version}"
            yield Problem(Kind.SOURCE_MISMATCH, where, what, "construct the task again")


def write_rebuild(root: Path, record: Rebuild) -> Path:
    path = root / "rebuilds" / name_file(record.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(record.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n")
    return path


def name_file(rebuild_id: str) -> str:
    return f"{rebuild_id.replace('/', '.')}.json"
