"""Make official instances runnable: find function and tests in the project's release, and run the admission checks.

The files name no release, so it is the pinned one of `releases.csv`. What its source archive lacks, what cannot be
built here today and what the checks reject stays unrunnable, with the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from packaging.utils import parse_sdist_filename

from dlbench.analysis.official import Release, RepairedFile, read_releases
from dlbench.construction import Row, WorkFolder, explain, for_each_project
from dlbench.construction.admit import HARNESS_FAULT, Admission, admit_all, propose_instance
from dlbench.construction.collect import is_part, is_test_code
from dlbench.construction.extract import name_module
from dlbench.construction.pipeline import Pipeline, choose_cases
from dlbench.construction.project_spec import ProjectSpec, propose_project
from dlbench.construction.trace import LEAST_TESTS
from dlbench.construction.write_instances import LAST_ANSWERS, write_instance
from dlbench.dataset import Instance
from dlbench.dataset.records import Labels, Measures
from dlbench.dataset.target import TargetError, find_target
from dlbench.dataset.validation import RULES_FILE
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.jsonl import Journal, write_whole
from dlbench.scoring.tally import group_by
from dlbench.workspace.home import Log
from dlbench.workspace.source import fetch

_CASES = 12
RUNNABLE = "runnable"


@dataclass
class OfficialProject:
    """The files of one project with its release, and what became of each file."""

    name: str
    release: Release
    files: Sequence[RepairedFile]
    outcomes: dict[str, str] = field(default_factory=dict)
    """By id: `RUNNABLE`, or the reason why not."""


def make_runnable(
    engine: Engine,
    repaired: Sequence[RepairedFile],
    work: WorkFolder,
    log: Log,
    *,
    workers: int,
    releases: Sequence[Release] | None = None,
) -> dict[str, str]:
    """Write what can be run into the benchmark of the work folder; the outcome of every file, by its id."""
    outcomes = dict.fromkeys((one.id for one in repaired), "no source archive of its project is on the index")
    by_project = group_by(repaired, lambda one: one.project)
    projects = [
        OfficialProject(release.package, release, by_project[release.project])
        for release in (read_releases() if releases is None else releases)
        if release.project in by_project and not release.file.endswith(".whl")
    ]
    failed = for_each_project(work, projects, lambda one: _make_project(engine, one, work, log, workers), log)
    for project in projects:
        why = f"the project cannot be set up: {explain(failed[project.name])}" if project.name in failed else ""
        outcomes |= {one.id: project.outcomes.get(one.id, why.splitlines()[0] if why else "") for one in project.files}
    return outcomes


def _make_project(engine: Engine, project: OfficialProject, work: WorkFolder, log: Log, workers: int) -> None:
    version = str(parse_sdist_filename(project.release.file)[1])
    plain = ProjectSpec(project.name, version)
    record = propose_project(plain, work.root / "benchmark", log)
    if record.sha256 != project.release.sha256:
        what = f"the index's archive of {version} is not the pinned one: its sha256 is {record.sha256}"
        raise DLBenchError(what, where=project.name, fix="use an index that has the original archive")
    tree = fetch(record, work.root / "benchmark", log)
    rows: dict[str, tuple[RepairedFile, Row]] = {}
    for one in project.files:
        found = _locate(one, record.name, record.import_root, tree)
        if isinstance(found, str):
            project.outcomes[one.id] = found
        elif found["id"] in rows:
            project.outcomes[one.id] = "another file asks for the same function"
        else:
            rows[found["id"]] = one, found
    log(f"{project.name} {version} has function and tests of {len(rows)} of {len(project.files)} files")
    if not rows:
        return
    files = {test.partition("::")[0] for one, _ in rows.values() for test in one.tests}
    spec = ProjectSpec(project.name, version, tests=tuple(sorted(file for file in files if (tree / file).exists())))
    pipeline = Pipeline(engine, work, spec, log, workers=workers)
    if not work.has("collected", project.name):
        pipeline.collect()
    collected = [str(row["id"]) for row in work.read("collected", project.name)]
    instances = []
    for one, row in rows.values():
        tests = choose_cases([test for test in collected if any(is_part(test, part) for part in one.tests)], _CASES)
        if len(tests) < LEAST_TESTS:
            project.outcomes[one.id] = f"{len(tests)} of its tests can be collected"
        else:
            instances.append(propose_instance(row, tests))
    _admit(pipeline, instances, {key: one for key, (one, _) in rows.items()}, project.outcomes)


def _locate(one: RepairedFile, project: str, import_root: str, tree: Path) -> Row | str:
    """The row of the function in the release, or why there is none."""
    module = name_module(one.path or "", import_root)
    if not one.path or not one.qualname or not module or is_test_code(one.path):
        return "the official file names no function of the package"
    if not any((tree / test.partition("::")[0]).exists() for test in one.tests):
        return "the release has none of its tests"
    try:
        target = find_target((tree / one.path).read_text(encoding="utf-8"), one.qualname)
    except (OSError, UnicodeDecodeError, SyntaxError, TargetError):
        return "the release has no such function"
    place = {"path": one.path, "qualname": one.qualname, "sha256": target.sha256}
    return {"id": f"{project}/{module}.{one.qualname}", **place}


def _admit(
    pipeline: Pipeline, instances: list[Instance], files: dict[str, RepairedFile], outcomes: dict[str, str]
) -> None:
    lock, by_id = Lock(), {instance.id: instance for instance in instances}
    write_whole(pipeline.root / RULES_FILE, "docstring_prompts = true\n")
    with Journal(pipeline.work.path("measured", pipeline.name)) as journal:
        known = {row["id"]: str(row["reason"]) for row in journal.records() if row["reason"] != HARNESS_FAULT}
        outcomes |= {files[key].id: reason or RUNNABLE for key, reason in known.items() if key in by_id}

        def save(found: Admission) -> None:
            one = files[found.id]
            with lock:
                if found.is_admissible:
                    write_instance(_complete(by_id[found.id], one, found, pipeline), pipeline.root)
                journal.append(found.to_row())
                outcomes[one.id] = found.reason or RUNNABLE
                pipeline.log(f"{pipeline.name}: {found.id.partition('/')[2]}: {outcomes[one.id]}")

        waiting = [instance for instance in instances if instance.id not in known]
        admit_all(pipeline.engine, pipeline.prepared, waiting, save, workers=pipeline.workers)


def _complete(instance: Instance, one: RepairedFile, found: Admission, pipeline: Pipeline) -> Instance:
    """Add the official prompt and labels; the function is at least as old as its release."""
    known = {"stage": one.stage, "task": one.task, "data": one.data}
    labels = LAST_ANSWERS | {axis: label for axis, label in known.items() if label}
    measures = Measures(mutants=found.mutants, mutants_killed=found.killed, seconds=round(found.seconds, 3))
    fields = {
        "prompt": f"{one.prompt}\n",
        "labels": Labels.model_validate(labels),
        "tests": tuple(found.tests),
        "measures": measures,
        "introduced": pipeline.project.released,
    }
    return instance.model_copy(update=fields)
