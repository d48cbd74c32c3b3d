"""Check the records against the fetched sources.

A record that drifted from its source judges models by code that nobody reviewed.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from dlbench.dataset import Benchmark, Instance, Kind, Problem, Project
from dlbench.dataset.leakage import find_leaks
from dlbench.dataset.rebuild import Rebuild, name_file, read_rebuilds
from dlbench.dataset.skeleton import hash_skeleton, reduce_tree
from dlbench.dataset.target import TargetError, find_target
from dlbench.dataset.validation import read_rules
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.execution.launch import describe_collection
from dlbench.execution.sandbox import open_cell
from dlbench.execution.sandbox.base import inside_key
from dlbench.execution.supervise import supervise
from dlbench.jsonl import write_whole
from dlbench.parsing import parse
from dlbench.workspace import Prepared, home, prepare


def check_sources(
    benchmark: Benchmark, instances: list[Instance], engine: Engine, log: Callable[[str], None]
) -> list[Problem]:
    problems: list[Problem] = []
    rebuilds = read_rebuilds(benchmark.root).values()
    for project in benchmark.projects.values():
        mine = [instance for instance in instances if instance.project == project.name]
        tasks = [rebuild for rebuild in rebuilds if rebuild.project == project.name]
        if mine or tasks:
            problems += _check_project(benchmark, project, mine, tasks, engine, log)
    may_quote = read_rules(benchmark.root).docstring_prompts
    return [one for one in problems if not (may_quote and one.kind is Kind.PROMPT_LEAKS_DOCSTRING)]


def _check_project(
    benchmark: Benchmark,
    project: Project,
    instances: list[Instance],
    rebuilds: list[Rebuild],
    engine: Engine,
    log: Callable[[str], None],
) -> list[Problem]:
    where = _where(benchmark, project.name)
    try:
        prepared = prepare(project, benchmark.root, log)
    except DLBenchError as error:
        kind = Kind.SOURCE_MISMATCH if "sha256" in error.what or "hash" in error.what else Kind.SOURCE_UNAVAILABLE
        return [Problem(kind, where, str(error.what), error.fix or "make it available and check again")]
    places = {instance.id: _where(benchmark, instance.id) for instance in instances}
    problems = [one for each in instances for one in check_target(each, prepared.tree, places[each.id])]
    for rebuild in rebuilds:
        places[rebuild.id] = f"rebuilds/{name_file(rebuild.id)}"
        problems += check_skeleton(rebuild, prepared.tree, places[rebuild.id])
    log(f"collecting the tests of {project.name}")
    tests = {instance.id: instance.tests for instance in instances} | {one.id: one.tests for one in rebuilds}
    try:
        files = {test.partition("::")[0] for each in tests.values() for test in each}
        known = collect(engine, prepared, sorted(files))
    except DLBenchError as error:
        return [*problems, Problem(Kind.MISSING_TEST, where, error.what, error.fix)]
    fix = "fix the id, or remove it from the record"
    for key, listed in tests.items():
        missing = [f"pytest does not collect {test}" for test in listed if test not in known]
        problems += [Problem(Kind.MISSING_TEST, places[key], what, fix) for what in missing]
    return problems


def check_skeleton(rebuild: Rebuild, tree: Path, where: str) -> list[Problem]:
    fix = "construct the task again"
    if absent := [path for path in rebuild.files if not (tree / path).is_file()]:
        return [Problem(Kind.MISSING_PATH, where, f"the source has no file {absent[0]}", fix)]
    if hash_skeleton(reduce_tree(tree, rebuild.files, rebuild.kept)) != rebuild.sha256:
        what = "the skeleton of its files is not the one that was recorded"
        return [Problem(Kind.HASH_MISMATCH, where, what, fix)]
    return []


def check_target(instance: Instance, tree: Path, where: str) -> list[Problem]:
    """Problems of one instance that the source alone shows."""
    path = tree / instance.path
    if not path.is_file():
        return [Problem(Kind.MISSING_PATH, where, f"the source has no file {instance.path}", "fix the path")]
    try:
        source = path.read_text(encoding="utf-8")
        module = parse(source)
        target = find_target(source, instance.qualname, module)
    except (TargetError, SyntaxError) as error:
        return [Problem(Kind.MISSING_TARGET, where, f"{instance.path}: {error}", "fix the path or the qualified name")]
    problems = []
    if target.sha256 != instance.sha256:
        fix = f'read the function again and, if the instance still fits, write sha256 = "{target.sha256}"'
        what = f"{instance.qualname} in {instance.path} is not the function that was admitted"
        problems.append(Problem(Kind.HASH_MISMATCH, where, what, fix))
    leaks = find_leaks(instance.prompt, module, target, [tree / file for file in instance.test_files])
    problems += [Problem(leak.kind, where, leak.what, leak.fix) for leak in leaks]
    return problems


def collect(engine: Engine, prepared: Prepared, files: list[str]) -> frozenset[str]:
    """The ids of all tests that pytest collects from these files, cached by all that they depend on."""
    present = [file for file in files if (prepared.tree / file).is_file()]
    setup = prepared.project.tests.model_dump_json()
    parts = [prepared.tree.parent.name, prepared.environment.name, *present, inside_key(), setup]
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
    cached = home() / "collected" / f"{key}.json"
    if cached.is_file():
        return frozenset(json.loads(cached.read_text(encoding="utf-8")))
    with open_cell(prepared, None, None, engine.limits) as cell:
        observation = supervise(engine.confinement, cell, describe_collection(present) | {"collect_only": True})
    found = observation.messages.of_kind("collected")
    if not found:
        what = f"pytest could not collect the tests: {observation.stopped_for or observation.output[-1500:]}"
        raise DLBenchError(what, fix="`dlbench prepare` the project and look at its tests")
    tests = frozenset(found[0]["tests"])
    if not found[0]["errors"]:
        cached.parent.mkdir(parents=True, exist_ok=True)
        write_whole(cached, json.dumps(sorted(tests)))
    return tests


def _where(benchmark: Benchmark, key: str) -> str:
    return benchmark.files[key].relative_to(benchmark.root).as_posix()
