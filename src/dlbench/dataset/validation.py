"""Check the records of a benchmark, as far as possible without its sources (`dlbench.validation.sources` needs them).

A rule that `rules.toml` does not state does not apply: a small benchmark needs neither votes nor prompts of forty
words. A label must agree with the votes of its own record in every benchmark.

`SEAL` holds the version and a digest of everything that a score depends on. Without it a record could change under a
version that people cite. `make seal` writes it, and fails if the version is the same.
"""

import hashlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from packaging.utils import canonicalize_name
from pydantic import Field

from dlbench.dataset.file_task import KINDS, FileTask
from dlbench.dataset.labels import AXES
from dlbench.dataset.leakage import is_draft
from dlbench.dataset.loading import Benchmark, Kind, Problem, default_root, read, read_record
from dlbench.dataset.optimise import read_workloads
from dlbench.dataset.plus import read_plus
from dlbench.dataset.records import Instance, Record, Votes
from dlbench.dataset.statistics import mutation_score
from dlbench.dataset.tracks import TrackInstance, check_tasks, place_task
from dlbench.jsonl import write_whole

RULES_FILE = "rules.toml"
_MIN_INSTANCES = 100
"""Below this, a project's share means nothing: every benchmark begins with one project."""

Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
_Found = Iterator[tuple[Kind, str, str]]


class TaskRules(Record):
    """Of the described tasks of a track."""

    words: tuple[Count, Count] = (0, 1_000_000)
    lines: tuple[Count, Count] = (0, 1_000_000)
    attempts: Count = 0
    """By people or agents who knew only the task."""
    reviewed: bool = False
    of_project: Count = 1_000_000


class Rules(Record):
    """Minimum values, and for prompts and projects also maximum values; the defaults require nothing."""

    prompt_words: tuple[Count, Count] = (0, 1_000_000)
    votes: Count = 0
    """For each axis."""
    tests: Count = 0
    mutation_score: Share = 0
    project_share: Share = 1
    """Of all instances; checked where there are a hundred or more."""
    docstring_prompts: bool = False
    """Whether prompts may quote docstrings: for the owner of code that no model has read."""
    component: TaskRules = TaskRules()
    release: TaskRules = TaskRules()


def read_rules(root: Path, problems: list[Problem] | None = None) -> Rules:
    """The rules of a benchmark; what is wrong with the file is added to `problems`."""
    path = root / RULES_FILE
    found = [] if problems is None else problems
    return (read_record(path, RULES_FILE, Rules, found) if path.is_file() else None) or Rules()


def _check_labels(instance: TrackInstance) -> _Found:
    if instance.labels is None:
        return
    all_votes = instance.votes or Votes()
    for axis in AXES:
        votes, label = getattr(all_votes, axis), getattr(instance.labels, axis)
        value, count = Counter(votes).most_common(1)[0] if votes else (label, 1)
        if 2 * count > len(votes):
            if label != value:
                what = f"{axis} is {label}, but {count} of {len(votes)} votes say {value}"
                yield Kind.LABEL_AGAINST_VOTES, what, "take the majority's label, or let annotators vote again"
        elif not all_votes.reason.strip():
            what = f"no majority for {axis} ({', '.join(votes)}), and no reason why it is {label}"
            yield Kind.TIE_WITHOUT_REASON, what, "write into votes.reason how it was settled"


def _check_rules(instance: Instance, rules: Rules) -> _Found:
    words, (least, most) = len(instance.prompt.split()), rules.prompt_words
    if not least <= words <= most:
        fix = "state what the tests check, and no more (docs/prompt-writing.md)"
        yield Kind.PROMPT_LENGTH, f"the prompt has {words} words, not {least} to {most}", fix
    yield from _check_votes(instance, rules)
    if len(instance.tests) < rules.tests:
        what, fix = f"{len(instance.tests)} tests, fewer than {rules.tests}", "find more tests, or leave it out"
        yield Kind.TOO_FEW_TESTS, what, fix
    score = mutation_score(instance)
    if (score or 0) < rules.mutation_score:
        measured = "no mutation score was measured" if score is None else f"the mutation score is {score:.2f}"
        fix = "measure it, choose tests that kill more mutants, or leave the instance out"
        yield Kind.WEAK_TESTS, f"{measured}; the rules require {rules.mutation_score:g} or more", fix


def _check_votes(instance: TrackInstance, rules: Rules) -> _Found:
    for axis in AXES:
        votes = len(getattr(instance.votes, axis, ()))
        if votes < rules.votes:
            yield Kind.TOO_FEW_VOTES, f"{votes} votes for {axis}, fewer than {rules.votes}", "let annotators vote"


def _check_described(task: FileTask, rules: Rules) -> _Found:
    """By rule, a described task says what its tests check, and others have tried it."""
    if not task.is_described:
        return
    own: TaskRules = getattr(rules, task.track)
    yield from _check_votes(task, rules)
    words, (least, most) = len(task.description.split()), own.words
    if not least <= words <= most:
        what = f"the description has {words} words, not {least} to {most}"
        yield Kind.PROMPT_LENGTH, what, "state what the tests check, and no more (docs/prompt-writing.md)"
    if is_draft(task.description):
        yield (
            Kind.PROMPT_IS_A_DRAFT,
            "the description is a draft that nobody has reviewed",
            "write it in your own words",
        )
    least, most = own.lines
    if not least <= task.lines <= most:
        yield Kind.TASK_SIZE, f"{task.lines} lines to write, not {least} to {most}", "choose other definitions"
    if len(task.attempts) < own.attempts:
        what = f"{len(task.attempts)} blind attempts, fewer than {own.attempts}"
        yield Kind.NOT_REVIEWED, what, "let somebody who knows only the task attempt it, and record the outcome"
    if faults := {one.failure for one in task.attempts} & {"description", "test", "environment"}:
        fix = "correct the task, and record an attempt at it in place of that one"
        yield Kind.NOT_REVIEWED, f"an attempt failed for a fault of the task ({min(faults)})", fix
    if own.reviewed and not task.reviewer.strip():
        fix = "let somebody who has not written it mark each test, and name them as `reviewer`"
        yield Kind.NOT_REVIEWED, "nobody has checked that the description determines what the tests check", fix


_KNOWN_FILES = (
    r"VERSION|SEAL|CANARY|ORIGIN|README\.md|rules\.toml|(solving|repairs)\.jsonl|projects/[^/]+\.toml"
    r"|(instances|unrunnable)/[^/]+/[^/]+\.toml|locks/[^/]+\.(txt|in)|splits/[^/]+\.txt"
    r"|(plus|optimise)/[^/]+\.jsonl|(rebuilds|components|releases)/[^/]+\.json|leaderboard/([^/]+\.json|leaderboard\.(md|html))"
)
_PINNED = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[^\]]*\])?==\S+")


def check_records(root: Path) -> tuple[Benchmark, list[Problem]]:
    benchmark, problems = read(root)
    rules = read_rules(root, problems)
    tasks, malformed = check_tasks(root, benchmark.projects)
    problems += [*_check_files(root), *_check_locks(benchmark), *malformed]
    for task in tasks:
        found = (*_check_labels(task), *_check_described(task, rules))
        problems += [Problem(kind, place_task(task), what, fix) for kind, what, fix in found]
    for (track, project), count in Counter((task.track, task.project) for task in tasks if task.is_described).items():
        if count > (most := getattr(rules, track).of_project):
            what = f"{count} {track} tasks of {project}, more than {most}"
            problems.append(Problem(Kind.PROJECT_TOO_LARGE, f"{track}s", what, "leave some out"))
    for project in benchmark.projects:
        where = _where(benchmark, project)
        if benchmark.files[project].stem != project:
            what, fix = f"the file of project {project} has another name", f"rename it to {project}.toml"
            problems.append(Problem(Kind.MISPLACED_FILE, where, what, fix))
    for instance in benchmark.instances.values():
        where = _where(benchmark, instance.id)
        found = (*_check_place(benchmark, instance), *_check_labels(instance), *_check_rules(instance, rules))
        problems += [Problem(kind, where, what, fix) for kind, what, fix in found]
    return benchmark, [*problems, *_check_sets(benchmark, rules)]


def _check_files(root: Path) -> Iterator[Problem]:
    """Any file that is not one of our records may be third-party code."""
    what = "a benchmark holds only records, locks and splits; this file is none of them"
    fix = "remove it: sources and tests are fetched from the package index, never stored"
    for path in sorted(root.rglob("*")):
        if path.is_file() and not re.fullmatch(_KNOWN_FILES, name := path.relative_to(root).as_posix()):
            yield Problem(Kind.THIRD_PARTY_CODE, name, what, fix)


def _check_place(benchmark: Benchmark, instance: Instance) -> _Found:
    if benchmark.files[instance.id].parent.name != instance.project:
        fix = f"move it to instances/{instance.project}/"
        yield Kind.MISPLACED_FILE, f"{instance.id} is in another project's folder", fix
    if is_draft(instance.prompt):
        what, fix = "the prompt is a model's draft that nobody has reviewed", "write a prompt in your own words"
        yield Kind.PROMPT_IS_A_DRAFT, what, fix
    project = benchmark.projects.get(instance.project)
    if project is None:
        fix = f"write projects/{instance.project}.toml"
        yield Kind.UNKNOWN_PROJECT, f"there is no project {instance.project!r}", fix
        return
    expected = f"{project.name}/{module_of(instance.path, project.import_root)}.{instance.qualname}"
    if instance.id != expected:
        fix = f"by its path and qualname the id is {expected}"
        yield Kind.MALFORMED_RECORD, f"id {instance.id} names another place", fix


def module_of(path: str, import_root: str = ".") -> str:
    """The dotted name under which a file of the tree is imported."""
    inner = path.removeprefix("" if import_root == "." else import_root.rstrip("/") + "/")
    return inner.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _check_sets(benchmark: Benchmark, rules: Rules) -> Iterator[Problem]:
    """Check instances against each other, and the splits."""
    first: dict[tuple[str, str, str], str] = {}
    for instance in benchmark.instances.values():
        other = first.setdefault((instance.project, instance.path, instance.qualname), instance.id)
        if other != instance.id:
            what, where = f"asks for the same function as {other}", _where(benchmark, instance.id)
            yield Problem(Kind.DUPLICATE_TARGET, where, what, "keep one")
    lists = {f"splits/{name}.txt": keys for name, keys in benchmark.splits.items()}
    further = {"plus": [*read_plus(benchmark.root)], "optimise": [*read_workloads(benchmark.root)]}
    for folder, known in further.items():
        for key in known:
            where = f"{folder}/{key.partition('/')[0]}.jsonl"
            lists[where] = (*lists.get(where, ()), key)
    for where, keys in lists.items():
        for key in keys:
            if key not in benchmark.instances:
                what, fix = f"there is no instance {key!r}", "remove or fix the line"
                yield Problem(Kind.UNKNOWN_INSTANCE, where, what, fix)
    total = len(benchmark.instances)
    for project, count in Counter(instance.project for instance in benchmark.instances.values()).items():
        if total >= _MIN_INSTANCES and count > rules.project_share * total:
            what = f"{count} of {total} instances belong to {project}, more than {rules.project_share:.0%}"
            fix = "leave some out, or add instances of other projects"
            yield Problem(Kind.PROJECT_TOO_LARGE, f"instances/{project}", what, fix)


def _check_locks(benchmark: Benchmark) -> Iterator[Problem]:
    users: defaultdict[Path, list[str]] = defaultdict(list)
    for project in benchmark.projects.values():
        users[benchmark.root / "locks" / f"{project.environment}.txt"].append(project.name)
    for lock, names in users.items():
        if not lock.is_file():
            what, fix = f"there is no locks/{lock.name}", f"write locks/{lock.name} with every requirement pinned"
            yield from (Problem(Kind.MISSING_LOCK, _where(benchmark, name), what, fix) for name in names)
            continue
        for number, line in enumerate(lock.read_text(encoding="utf-8").splitlines(), 1):
            text, where = line.strip(), f"locks/{lock.name}:{number}"
            for name in names:
                if canonicalize_name(text.partition("==")[0]) == canonicalize_name(name):
                    what = f"it installs {name} itself, so a candidate could import the reference"
                    fix = "remove the entry, or give the project its own environment"
                    yield Problem(Kind.PROJECT_IN_LOCK, where, what, fix)
            if text and not text.startswith(("#", "--hash")) and not _PINNED.match(text):
                yield Problem(Kind.UNPINNED_LOCK, where, f"{text!r} is not pinned", "write name==version")


def _where(benchmark: Benchmark, key: str) -> str:
    return benchmark.files[key].relative_to(benchmark.root).as_posix()


SEAL_FILE = "SEAL"
CHANGED = (
    "records changed under the same VERSION: raise its second number (the first if scores are no longer comparable),"
    " then run `make seal`"
)
UNSEALED = "this VERSION has no seal: run `make seal`"
_SEALED: tuple[str, ...] = ("projects/*.toml", "instances/*/*.toml", "locks/*.txt", "splits/*.txt", "plus/*.jsonl")
_SEALED += tuple(f"{track}s/*.json" for track in KINDS)


def make_seal(root: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(path for pattern in _SEALED for path in root.glob(pattern)):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.relative_to(root).as_posix()} {digest}\n".encode())
    return f"{(root / 'VERSION').read_text(encoding='utf-8').strip()} {total.hexdigest()}\n"


def check_seal(root: Path) -> str:
    """`CHANGED`, `UNSEALED`, or "" if the seal matches the records."""
    path = root / SEAL_FILE
    stored, current = path.read_text(encoding="utf-8") if path.is_file() else "", make_seal(root)
    if stored == current:
        return ""
    return CHANGED if stored.split()[:1] == current.split()[:1] else UNSEALED


def name_records(benchmark: Benchmark) -> str:
    """The version; if no seal vouches for the records, with a digest of them, since nobody raises VERSION."""
    if not check_seal(benchmark.root):
        return str(benchmark.version)
    return f"{benchmark.version}+{make_seal(benchmark.root).split()[1][:12]}"


def seal(root: Path) -> None:
    if check_seal(root) == CHANGED:
        sys.exit(CHANGED)
    write_whole(root / SEAL_FILE, make_seal(root))


if __name__ == "__main__":
    seal(default_root())
