"""Read and write the tasks of many files, and open a benchmark on one track."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeGuard

from pydantic import ValidationError

from dlbench.dataset.file_task import KINDS, FileTask
from dlbench.dataset.labels import Track
from dlbench.dataset.loading import Benchmark, Kind, Problem
from dlbench.dataset.optimise import read_eligible
from dlbench.dataset.records import Instance, Labels, Project
from dlbench.errors import DLBenchError
from dlbench.jsonl import write_whole

TrackInstance = Instance | FileTask
"""An instance of any track."""
TrackBenchmark = Benchmark[TrackInstance]


def open_track(benchmark: Benchmark, track: Track) -> TrackBenchmark:
    """The benchmark with the instances of this track; splits are of functions."""
    if track is Track.FUNCTION:
        return benchmark
    if track is Track.OPTIMISE:
        eligible = read_eligible(benchmark.root)
        chosen = {name: one for name, one in benchmark.instances.items() if name in eligible}
        splits = {name: tuple(one for one in ids if one in chosen) for name, ids in benchmark.splits.items()}
        return TrackBenchmark(**(vars(benchmark) | {"instances": chosen, "splits": splits, "track": track}))
    changed = {"instances": read_tasks(benchmark.root, track), "splits": {}, "track": track}
    return TrackBenchmark(**(vars(benchmark) | changed))


def guess_track(task_id: str) -> Track:
    """The track of a task of many files, whose id names it."""
    name = task_id.partition("/")[2].partition("-")[0]
    return next((track for track in KINDS if track == name), Track.REBUILD)


def has_functions(benchmark: TrackBenchmark) -> TypeGuard[Benchmark]:
    """Those of the track `optimise` are functions, too."""
    return benchmark.track in (Track.FUNCTION, Track.OPTIMISE)


def read_tasks(root: Path, *tracks: Track) -> dict[str, FileTask]:
    """The tasks of many files of a benchmark folder by id; of all tracks by default."""
    records = [_read(path, kind) for kind, path in list_files(root) if kind.track in (tracks or KINDS)]
    return {record.id: record for record in records}


def find_labels(instance: TrackInstance, functions: Iterable[Instance]) -> dict[str, str]:
    """Its own labels; otherwise on each axis that of most functions in its modules, unless two are as frequent."""
    if instance.labels is not None:
        return {axis: str(label) for axis, label in instance.labels}
    assert isinstance(instance, FileTask)
    inside = [one.labels for one in functions if one.project == instance.project and one.path in instance.files]
    found = {}
    for axis in Labels.model_fields:
        counts = Counter(str(getattr(labels, axis)) for labels in inside).most_common(2)
        if counts and (len(counts) == 1 or counts[0][1] > counts[1][1]):
            found[axis] = counts[0][0]
    return found


def list_files(root: Path) -> list[tuple[type[FileTask], Path]]:
    return [(kind, path) for kind in KINDS.values() for path in sorted(root.glob(f"{kind.track}s/*.json"))]


def _read(path: Path, kind: type[FileTask]) -> FileTask:
    try:
        record = kind.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(map(str, first['loc'])) or 'record'}: {first['msg']}"
        raise DLBenchError(what, where=str(path), fix="correct it, or construct the task again") from None
    if path.name != name_file(record.id):
        what, fix = f"the record of {record.id} has another file name", f"rename it to {name_file(record.id)}"
        raise DLBenchError(what, where=str(path), fix=fix)
    return record


def check_tasks(root: Path, projects: Mapping[str, Project]) -> tuple[list[FileTask], list[Problem]]:
    """The records that can be read, and problems that need no sources to be seen."""
    records, problems = [], []
    for kind, path in list_files(root):
        where = path.relative_to(root).as_posix()
        try:
            record = _read(path, kind)
        except DLBenchError as error:
            problems.append(Problem(Kind.MALFORMED_RECORD, where, error.what, error.fix))
            continue
        records.append(record)
        project = projects.get(record.project)
        if project is None:
            fix = f"write projects/{record.project}.toml"
            problems.append(Problem(Kind.UNKNOWN_PROJECT, where, f"there is no project {record.project!r}", fix))
        elif (base := record.find_base(projects)).version != record.version:
            what = f"it was made from {record.version}, and the project's record names {base.version}"
            problems.append(Problem(Kind.SOURCE_MISMATCH, where, what, "construct the task again"))
    return records, problems


def write_task(root: Path, record: FileTask) -> Path:
    path = root / place_task(record)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record.model_dump(mode="json", exclude_defaults=True), indent=1, ensure_ascii=False)
    write_whole(path, text + "\n")
    return path


def place_task(record: FileTask) -> str:
    """The record's file in a benchmark folder."""
    return f"{record.track}s/{name_file(record.id)}"


def name_file(task_id: str) -> str:
    return f"{task_id.replace('/', '.')}.json"
