"""Check the records against the fetched sources, and this repository for code or text copied from them.

A record that drifted from its source judges models by code that nobody reviewed. Five consecutive informative lines
that also occur in a project's source, tests or documentation count as a copy.
"""

import hashlib
import json
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from dlbench.dataset import Benchmark, Instance, Kind, Problem, Project
from dlbench.dataset.file_task import Component, FileTask, Release
from dlbench.dataset.leakage import Leak, find_leaks
from dlbench.dataset.skeleton import Module, hash_skeleton
from dlbench.dataset.target import TargetError, find_target
from dlbench.dataset.tracks import place_task, read_tasks
from dlbench.dataset.validation import read_rules
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.execution.launch import describe_collection
from dlbench.execution.release_files import find_original
from dlbench.execution.sandbox import open_cell
from dlbench.execution.sandbox.base import inside_key
from dlbench.execution.supervise import supervise
from dlbench.jsonl import write_whole
from dlbench.parsing import parse
from dlbench.workspace import Prepared, fetch, home, prepare
from dlbench.workspace.environment import prepared_if_ready

_PROJECTS = 3  # side by side: one is downloaded while others are compiled or their tests collected


def check_sources(
    benchmark: Benchmark, instances: list[Instance], engine: Engine, log: Callable[[str], None]
) -> list[Problem]:
    known = read_tasks(benchmark.root).values()
    releases = [task for task in known if isinstance(task, Release)]

    def check(project: Project) -> list[Problem]:
        mine = [instance for instance in instances if instance.project == project.name]
        tasks = [task for task in known if task.project == project.name and task not in releases]
        return _check_project(benchmark, project, mine, tasks, engine, log) if mine or tasks else []

    def check_release(task: Release) -> list[Problem]:
        where = place_task(task)
        try:
            tree = fetch(task.newer, benchmark.root, log)
        except DLBenchError as error:
            return [Problem(Kind.SOURCE_UNAVAILABLE, where, error.what, error.fix or "check again")]
        tests = list(map(find_original, (*task.visible, *task.hidden)))
        leaks = _find_description_leaks(task.description, task.taken, tree, tests, where)
        return [*_check_project(benchmark, task.older, [], [task], engine, log), *leaks]

    may_quote = read_rules(benchmark.root).docstring_prompts
    with ThreadPoolExecutor(_PROJECTS) as threads:
        groups = [*threads.map(check, benchmark.projects.values()), *threads.map(check_release, releases)]
    problems = [problem for found in groups for problem in found]
    return [one for one in problems if not (may_quote and one.kind is Kind.PROMPT_LEAKS_DOCSTRING)]


def _check_project(
    benchmark: Benchmark,
    project: Project,
    instances: list[Instance],
    tasks: Sequence[FileTask],
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
    for task in tasks:
        places[task.id] = place_task(task)
        problems += check_task(task, prepared.tree, places[task.id])
    log(f"collecting the tests of {project.name}")
    tests = {instance.id: instance.tests for instance in instances} | {one.id: one.tests_of_base for one in tasks}
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


def check_task(task: FileTask, tree: Path, where: str) -> list[Problem]:
    """Problems of a task of many files that the source alone shows."""
    fix = "construct the task again"
    missing = [path for path in task.files if not (tree / path).is_file()]
    if absent := [] if isinstance(task, Release) else missing:  # a release task may ask for a new file
        return [Problem(Kind.MISSING_PATH, where, f"the source has no file {absent[0]}", fix)]
    if hash_skeleton(task.reduce(tree)) != task.sha256:
        return [Problem(Kind.HASH_MISMATCH, where, "what is given is not what was recorded", fix)]
    if isinstance(task, Component):
        return _find_description_leaks(task.description, task.asked, tree, task.hidden, where)
    return []


def _find_description_leaks(
    description: str, places: Sequence[str], tree: Path, tests: Sequence[str], where: str
) -> list[Problem]:
    """What the description takes from the definitions that it asks for, each once. `places`: `path::qualname`, or the
    path of a whole module."""
    files = sorted({tree / test.partition("::")[0] for test in tests})
    found: dict[Leak, None] = {}
    for path in dict.fromkeys(place.partition("::")[0] for place in places if ".py" in place):
        source = (tree / path).read_text(encoding="utf-8")
        module, whole = parse(source), Module(source)
        names = [name for one, _, name in (place.partition("::") for place in places) if one == path and name]
        for name in sorted(whole.list_inside(names) if names else {one.qualname for one in whole.definitions}):
            with suppress(TargetError):  # a class, or a property with a setter
                found |= dict.fromkeys(find_leaks(description, module, find_target(source, name, module), files))
    return [Problem(leak.kind, where, leak.what.replace("prompt", "description"), leak.fix) for leak in found]


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


RUN = 5
_TEXT = {".py", ".md", ".toml", ".txt", ".rst", ".cfg", ".json", ".in", ".yml", ".yaml", ".sh", ".html"}


def check_tree(benchmark: Benchmark, projects: Iterable[str], log: Callable[[str], None]) -> list[Problem]:
    """Compare the repository's files with those of these projects that are prepared."""
    # The checkout that contains the benchmark, or the benchmark's folder alone.
    root = Path(_git(benchmark.root, "rev-parse", "--show-toplevel").strip() or benchmark.root)
    own: dict[int, tuple[str, int]] = {}
    for path in _files_of(root):
        for line, run in find_runs(path):
            own.setdefault(hash(run), (path.relative_to(root).as_posix(), line))
    problems: dict[str, Problem] = {}
    for project in map(benchmark.projects.__getitem__, projects):
        prepared = prepared_if_ready(project, benchmark.root)
        if prepared is None or root.resolve() in [prepared.tree, *prepared.tree.parents]:
            continue
        log(f"comparing this repository with {project.name}")
        from_record = {prepared.tree / name for name in project.tests.files}
        for path in _readable(prepared.tree.rglob("*")):
            for line, run in find_runs(path) if path not in from_record else ():
                if hash(run) in own:
                    where, own_line = own[hash(run)]
                    theirs = f"{project.name} {path.relative_to(prepared.tree).as_posix()}:{line}"
                    what = f"{RUN} lines from line {own_line} also occur in {theirs}"
                    fix = "remove them; write it in your own words, or fetch it when it is needed"
                    problems.setdefault(where, Problem(Kind.THIRD_PARTY_CODE, where, what, fix))
    return list(problems.values())


def find_runs(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Every run of informative lines with its first line number; imports and short lines are not informative."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    lines = [(number, " ".join(line.split())) for number, line in enumerate(text.splitlines(), 1)]
    informative = [
        (number, line) for number, line in lines if len(line) >= 12 and not line.startswith(("import ", "from "))
    ]
    for start in range(len(informative) - RUN + 1):
        window = informative[start : start + RUN]
        yield window[0][0], tuple(line for _, line in window)


def _files_of(root: Path) -> list[Path]:
    """The repository's files except licenses and requirement lists: which packages a project needs is a fact."""
    names = _git(root, "ls-files", "-z", "-co", "--exclude-standard").split("\0")
    paths = [root / name for name in names if name] or list(root.rglob("*"))
    return list(_readable(path for path in paths if path.name != "LICENSE" and path.parent.name != "locks"))


def _git(root: Path, *arguments: str) -> str:
    """What git prints; nothing if it fails."""
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False)
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def _readable(paths: Iterator[Path] | list[Path]) -> Iterator[Path]:
    return (path for path in paths if path.suffix in _TEXT and path.is_file() and path.stat().st_size < 2 << 20)
