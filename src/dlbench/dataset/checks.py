"""Are the records of a benchmark sound, as far as can be said without its sources?

What needs the fetched sources is checked by `dlbench.execution.soundness`. Both collect every problem in one pass.
"""

import re
from collections import defaultdict
from pathlib import Path

from dlbench.dataset.leaks import is_draft
from dlbench.dataset.loading import Benchmark, read
from dlbench.dataset.problems import Kind, Problem
from dlbench.dataset.rules import check_rules

_KNOWN_FILES = (
    r"VERSION|SEAL|CANARY|README\.md|rules\.toml|(solving|repairs)\.jsonl|projects/[^/]+\.toml"
    r"|(instances|unrunnable)/[^/]+/[^/]+\.toml|locks/[^/]+\.(txt|in)|splits/[^/]+\.txt"
    r"|leaderboard/([^/]+\.json|leaderboard\.(md|html))"
)
_PINNED = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[^\]]*\])?==\S+")


def check_records(root: Path) -> tuple[Benchmark, list[Problem]]:
    benchmark, problems = read(root)
    problems += _check_files(benchmark)
    problems += _check_places(benchmark)
    problems += _check_targets(benchmark)
    problems += _check_prompts(benchmark)
    problems += _check_splits(benchmark)
    problems += _check_locks(benchmark)
    problems += check_rules(benchmark)
    return benchmark, problems


def _check_files(benchmark: Benchmark) -> list[Problem]:
    """Anything beside our own records is somebody else's until proven otherwise."""
    return [
        Problem(
            Kind.THIRD_PARTY_CODE,
            name,
            "a benchmark holds records, locks and splits only; this file is none of them",
            "remove it: sources and tests are fetched from the package index, never stored",
        )
        for path in sorted(benchmark.root.rglob("*"))
        if path.is_file() and not re.fullmatch(_KNOWN_FILES, name := path.relative_to(benchmark.root).as_posix())
    ]


def _check_places(benchmark: Benchmark) -> list[Problem]:
    problems = []
    for key, path in benchmark.files.items():
        where = path.relative_to(benchmark.root).as_posix()
        if key in benchmark.projects:
            if path.stem != key:
                mend = f"rename it to {key}.toml"
                problems.append(
                    Problem(Kind.MISPLACED_FILE, where, f"the file of project {key} has another name", mend)
                )
            continue
        instance = benchmark.instances[key]
        if path.parent.name != instance.project:
            mend = f"move it to instances/{instance.project}/"
            problems.append(Problem(Kind.MISPLACED_FILE, where, f"{key} stands in another project's folder", mend))
        project = benchmark.projects.get(instance.project)
        if project is None:
            mend = f"write projects/{instance.project}.toml"
            problems.append(Problem(Kind.UNKNOWN_PROJECT, where, f"there is no project {instance.project!r}", mend))
            continue
        wanted = f"{project.name}/{module_of(instance.path, project.import_root)}.{instance.qualname}"
        if instance.id != wanted:
            mend = f"the path and name given make it {wanted}"
            problems.append(Problem(Kind.MALFORMED_RECORD, where, f"id {instance.id} names another place", mend))
    return problems


def module_of(path: str, import_root: str = ".") -> str:
    """The dotted name under which a file of the tree is imported."""
    inner = path.removeprefix("" if import_root == "." else import_root.rstrip("/") + "/")
    return inner.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _check_targets(benchmark: Benchmark) -> list[Problem]:
    seen: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for instance in benchmark.instances.values():
        seen[instance.project, instance.path, instance.qualname].append(instance.id)
    return [
        Problem(Kind.DUPLICATE_TARGET, _where(benchmark, ids[1]), f"asks for the same function as {ids[0]}", "keep one")
        for ids in seen.values()
        if len(ids) > 1
    ]


def _check_prompts(benchmark: Benchmark) -> list[Problem]:
    return [
        Problem(
            Kind.PROMPT_IS_A_DRAFT,
            _where(benchmark, instance.id),
            "the prompt is a draft by a model, which nobody has reviewed",
            "write a prompt in words of your own, from understanding",
        )
        for instance in benchmark.instances.values()
        if is_draft(instance.prompt)
    ]


def _check_splits(benchmark: Benchmark) -> list[Problem]:
    return [
        Problem(Kind.UNKNOWN_INSTANCE, f"splits/{name}.txt", f"there is no instance {key!r}", "remove or mend the line")
        for name, keys in benchmark.splits.items()
        for key in keys
        if key not in benchmark.instances
    ]


def _check_locks(benchmark: Benchmark) -> list[Problem]:
    problems = []
    for project in benchmark.projects.values():
        lock = benchmark.lock_of(project)
        if not lock.is_file():
            mend = f"write locks/{lock.name} with every requirement pinned"
            problems.append(
                Problem(Kind.MISSING_LOCK, _where(benchmark, project.name), f"there is no locks/{lock.name}", mend)
            )
            continue
        for number, line in enumerate(lock.read_text(encoding="utf-8").splitlines(), 1):
            text = line.strip()
            if _plain(text.partition("==")[0]) == _plain(project.name):
                what = f"it installs {project.name} itself, and a candidate could import the reference from there"
                mend = "remove the entry, or give the project an environment of its own"
                problems.append(Problem(Kind.PROJECT_IN_LOCK, f"locks/{lock.name}:{number}", what, mend))
            if text and not text.startswith(("#", "--hash")) and not _PINNED.match(text):
                problem = Problem(
                    Kind.UNPINNED_LOCK, f"locks/{lock.name}:{number}", f"{text!r} is not pinned", "write name==version"
                )
                if problem not in problems:
                    problems.append(problem)
    return problems


def _plain(name: str) -> str:
    """As packages are compared: case and kind of dash do not matter."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _where(benchmark: Benchmark, key: str) -> str:
    return benchmark.files[key].relative_to(benchmark.root).as_posix()
