"""Judge and validate tasks of many files: an answer is laid into what was given, and the project's tests judge.

The score is the share of hidden tests that pass, and whether all do and no unchanged test broke. Visible tests are run
and reported too. Nothing counts if the code tampers with the judge, or uses what leads to it beyond what the release
uses.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dlbench.dataset.file_task import FileTask, Release
from dlbench.dataset.skeleton import hash_skeleton
from dlbench.execution.engine import Engine
from dlbench.execution.file_screen import screen_files
from dlbench.execution.file_sets import FileSet, choose_counted, find_packages, looks_like_test, open_tree
from dlbench.execution.isolated_run import RunOptions, TestRun, run_tests
from dlbench.execution.reference_profile import profile_folder
from dlbench.execution.release_files import make_reference, make_tests
from dlbench.jsonl import write_whole
from dlbench.runs.verdict import Outcome, Status, Verdict
from dlbench.workspace import Log, Prepared, fetch, home
from dlbench.workspace.environment import lock_of
from dlbench.workspace.home import quiet

_SHOWN = 20
"""Messages of failed tests that a verdict keeps."""


@dataclass(frozen=True)
class OpenTask:
    """A record with the release that it is about."""

    record: FileTask
    prepared: Prepared
    """The release, with the solution unless `reference` differs from it."""
    requirements: str = ""
    """Of the environment, for the folder in which the task is solved."""

    @cached_property
    def base(self) -> dict[str, bytes]:
        """What whoever solves the task is given instead of the release's files."""
        return {path: text.encode() for path, text in self.record.reduce(self.prepared.tree).items()}

    @cached_property
    def reference(self) -> FileSet:
        """The files of the solution."""
        places = {path: self.prepared.tree / path for path in self.record.files}
        return {path: place.read_bytes() for path, place in places.items() if place.is_file()}

    @cached_property
    def tests(self) -> dict[str, bytes]:
        """Files that replace the release's when judging, whatever an answer has there."""
        return {}

    @cached_property
    def visible_tests(self) -> dict[str, bytes]:
        """Those of them that whoever solves the task sees."""
        return {}

    @property
    def identity(self) -> tuple[object, ...]:
        """What the solution depends on beside the record's files and what is given."""
        return ()

    @cached_property
    def packages(self) -> set[str]:
        root = self.prepared.project.import_root
        files = {Path(path).relative_to(root).parts[0].removesuffix(".py") for path in self.record.files}
        return files | {Path(path).name for path in find_packages(self.record.files, self.prepared)}

    @property
    def concealed(self) -> tuple[str, ...]:
        """Where a sandbox that does not hide other files would show the reference."""
        return (str(self.prepared.tree.parent), str(home() / "archives"))


@dataclass(frozen=True, kw_only=True)
class OpenRelease(OpenTask):
    """A release task: definitions of the newer release laid onto the older one, and its tests."""

    record: Release
    newer: Path

    @cached_property
    def reference(self) -> FileSet:
        return make_reference(self.prepared.tree, self.newer, self.record.taken, self.prepared.project.import_root)

    @cached_property
    def tests(self) -> dict[str, bytes]:
        return self._make_tests((*self.record.visible, *self.record.hidden))

    @cached_property
    def visible_tests(self) -> dict[str, bytes]:
        return self._make_tests(self.record.visible) if self.record.visible else {}

    def _make_tests(self, tests: Sequence[str]) -> dict[str, bytes]:
        made = make_tests(self.prepared.tree, self.newer, tests, self.packages)
        return {path: content for path, content in made.items() if content is not None}

    @property
    def identity(self) -> tuple[object, ...]:
        return (self.newer.parent.name, self.record.taken)

    @property
    def concealed(self) -> tuple[str, ...]:
        return (*super().concealed, str(self.newer.parent))


def open_task(record: FileTask, prepared: Prepared, root: Path, log: Log = quiet) -> OpenTask:
    """`root`: the benchmark's folder. The newer release of a release task is fetched."""
    requirements = lock_of(prepared.project, root).read_text(encoding="utf-8")
    if isinstance(record, Release):
        newer = fetch(record.newer, root, log)
        return OpenRelease(record=record, prepared=prepared, requirements=requirements, newer=newer)
    return OpenTask(record, prepared, requirements)


@dataclass(frozen=True)
class ReleaseProfile:
    """What a run of the solution showed on this machine."""

    allowed: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    """Tests that do not pass on the solution, with the reason."""


def profile_release(engine: Engine, task: OpenTask, workers: int) -> ReleaseProfile:
    """Run the task's tests on the solution, once per machine and version of what they depend on."""
    tests = task.record.tests
    key = hashlib.sha256(
        json.dumps([task.record.id, task.record.files, tests, task.record.sha256, *task.identity]).encode()
    ).hexdigest()[:24]
    path = profile_folder(engine, task.prepared) / f"{key}.files"
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return ReleaseProfile(tuple(known["allowed"]), known["seconds"])
    except (OSError, ValueError, TypeError, KeyError):
        pass
    run = run_release(engine, task, tests, RunOptions(workers=workers, learn=True))
    failed = [test for test in tests if run.outcomes[test] is not Outcome.PASSED]
    if failed and not run.failure:  # what is learned slows tests down, so that alone proves nothing
        again = run_release(engine, task, failed, RunOptions(allowed=tuple(run.learned)))
        run.outcomes |= again.outcomes
        run.messages |= again.messages
    failures = {test: describe(run, test) for test in tests if run.outcomes[test] is not Outcome.PASSED}
    if run.failure or run.tampered:
        return ReleaseProfile(failures=dict.fromkeys(tests, run.failure or run.tampered))
    profile = ReleaseProfile(tuple(sorted(run.learned)), run.seconds, failures)
    if not failures:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps({"allowed": profile.allowed, "seconds": dict(run.seconds)}))
    return profile


def run_release(engine: Engine, task: OpenTask, tests: Sequence[str], options: RunOptions) -> TestRun:
    tree = task.prepared.tree
    given = {**task.reference, **task.tests}.items()
    changed = {path: text for path, text in given if not (tree / path).is_file() or (tree / path).read_bytes() != text}
    return run_files(engine, task, changed, tests, options)


def run_files(engine: Engine, task: OpenTask, files: FileSet, tests: Sequence[str], options: RunOptions) -> TestRun:
    """Run tests on the release with these files in it, under the guards of an answer."""
    changed = [path for path, content in files.items() if content is not None and path.endswith(".py")]
    answer = tuple(path for path in dict.fromkeys([*task.record.files, *changed]) if path not in task.tests)
    with open_tree(task.prepared, files, engine.limits) as tree:
        return run_tests(engine, tree, tests, replace(options, answer=answer, concealed=task.concealed))


def judge_files(
    engine: Engine,
    task: OpenTask,
    files: FileSet,
    *,
    links: Sequence[str] = (),
    sample: int = 0,
    workers: int = 1,
    accepted: Collection[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Verdict:
    """`files`: what the answer changes in what was given. `links`: what it has in place of files. `accepted`: what the
    screen may name, because somebody has read it."""
    record = task.record
    profile = profile_release(engine, task, workers)
    if profile.failures:
        test, why = next(iter(profile.failures.items()))
        what = f"{len(profile.failures)} tests do not pass on the solution on this machine: {test}: {why}"
        return _make_verdict(engine, task, sample, Status.HARNESS_ERROR, what)
    chosen = choose_counted(files, record.files, task.prepared)
    laid = {**task.base, **chosen.counted, **task.tests}
    options = RunOptions(workers=workers, allowed=profile.allowed, expected=profile.seconds, progress=progress)
    run = run_files(engine, task, laid, record.tests, options)
    status, message = _find_status(run, record)
    ignored = chosen.ignored | dict.fromkeys(links, "a link")
    extra: dict[str, Any] = {"ignored": ignored} if ignored else {}
    if broken := [test for test in record.unchanged if run.outcomes[test] is not Outcome.PASSED]:
        extra |= {"broken": {test: str(run.outcomes[test]) for test in broken}}
    findings = screen_answer(task, chosen.counted)
    excess = [one for one in findings if one.partition(": ")[2] not in accepted]
    if reviewed := [one for one in findings if one not in excess]:
        extra |= {"accepted": reviewed}
    share = sum(run.outcomes[test] is Outcome.PASSED for test in record.hidden) / len(record.hidden)
    if excess and share and status in (Status.PASS, Status.FAIL):
        status = Status.UNCONFIRMED
        message = f"the code uses what leads to the judge, beyond what the release uses: {'; '.join(excess[:5])}"
        extra |= {"unconfirmed_share": round(share, 4), "excess": excess}
    verdict = _make_verdict(engine, task, sample, status, message, run, extra)
    texts = {path: (text or b"").decode(errors="replace") for path, text in chosen.counted.items()}
    return replace(verdict, answer_sha256=hash_skeleton(texts))


def screen_answer(task: OpenTask, files: FileSet) -> list[str]:
    """What these files use that leads to the judge, beyond what the release uses, each with its place."""
    code = {path: text for path, text in files.items() if text is not None and path.endswith(".py")}
    code = {path: text for path, text in code.items() if text != task.base.get(path)}
    known = {path: place.read_bytes() for path in code if (place := task.prepared.tree / path).is_file()}
    return screen_files(code, {**known, **task.reference}, task.packages)


def _find_status(run: TestRun, record: FileTask) -> tuple[Status, str]:
    if run.failure:
        return Status.HARNESS_ERROR, run.failure
    if run.tampered:
        return Status.TAMPERED, run.tampered
    failed = [test for test in record.tests if run.outcomes[test] is not Outcome.PASSED]
    broken = [test for test in record.unchanged if test in set(failed)]
    if not set(failed) & {*record.hidden, *broken}:
        return Status.PASS, ""
    if len(failed) == len(record.tests) and not run.seconds:
        return Status.ERROR, "\n".join(one[-600:] for one in run.load_errors[:3]) or describe(run, failed[0])
    telling = [test for test in broken or failed if test in run.messages] or broken or failed
    what = f"{len(broken)} tests that passed before do not pass: " if broken else ""
    return Status.FAIL, f"{what}{telling[0]}: {describe(run, telling[0])}"


def describe(run: TestRun, test: str) -> str:
    """Why a test has not passed."""
    if run.outcomes[test] is Outcome.NOT_RUN:
        return next(iter(run.load_errors), "it was not collected")[-600:]
    return _shorten(run.messages.get(test, str(run.outcomes[test])))


def _shorten(message: str) -> str:
    """The last frames, and the beginning and the end of what was raised."""
    frames, mark, raised = message.partition("\nE   ")
    raised = raised if len(raised) <= 450 else f"{raised[:350]} … {raised[-100:]}"
    return f"{frames[-600:] if not mark else frames[-150:]}{mark}{raised}"


def _make_verdict(
    engine: Engine,
    task: OpenTask,
    sample: int,
    status: Status,
    message: str,
    run: TestRun | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Verdict:
    """After tampering, and for what is unconfirmed, no outcome counts."""
    record = task.record
    counts = status in (Status.PASS, Status.FAIL, Status.ERROR)
    outcomes = run.outcomes if run is not None and counts else dict.fromkeys(record.tests, Outcome.NOT_RUN)
    messages = {test: _shorten(run.messages[test]) for test in record.tests if test in run.messages} if run else {}
    seconds = run.seconds if run is not None else {}
    visible = {test: str(outcomes[test]) for test in record.visible}
    return Verdict(
        instance=record.id,
        sample=sample,
        status=status,
        tests={test: outcomes[test] for test in record.hidden},
        seconds=run.wall_seconds if run is not None else 0.0,
        test_seconds=sum(seconds.values()),
        durations=dict(seconds),
        memory_mb=run.memory_mb if run is not None else 0.0,
        message=message,
        sandbox=engine.confinement.name,
        extra={
            "kind": str(record.track),
            "visible": visible,
            **(extra or {}),
            **({"errors": dict(list(messages.items())[:_SHOWN])} if messages else {}),
        },
    )


def validate_task(
    engine: Engine, task: OpenTask, *, repeat: int = 1, shuffle: bool = False, workers: int = 1
) -> Iterator[str]:
    """What is wrong with a task: the solution fails a test in some order, what is given passes a hidden one or fails an
    unchanged one, or the record does not fit the release."""
    record = task.record
    if missing := [path for path in record.files if path not in task.reference]:
        yield f"the solution has no {missing[0]}"
        return
    if asked := [path for path in record.files if looks_like_test(path)]:
        yield f"{asked[0]} is code of the tests: an answer could judge itself"
    if hash_skeleton({path: text.decode() for path, text in task.base.items()}) != record.sha256:
        yield "what is given is not what was recorded"
    profile = profile_release(engine, task, workers)
    yield from (f"{test} does not pass on the solution: {why}" for test, why in profile.failures.items())
    if profile.failures:
        return
    options = RunOptions(workers=workers, allowed=profile.allowed, expected=profile.seconds)
    for number in range(repeat):
        seed = number if shuffle and number else None
        run = run_release(engine, task, record.tests, replace(options, shuffle=seed))
        if run.failure or run.tampered:
            yield f"run {number + 1} on the solution: {run.failure or run.tampered}"
        failed = [test for test in record.tests if run.outcomes[test] is not Outcome.PASSED]
        order = "" if seed is None else f" in the order of seed {seed}"
        yield from (f"{test} does not pass on the solution{order}: {describe(run, test)}" for test in failed)
    judging = (*record.hidden, *record.unchanged)
    run = run_files(engine, task, {**task.base, **task.tests}, judging, options)
    if run.failure or run.tampered:
        yield f"what is given cannot be judged: {run.failure or run.tampered}"
    for test in judging:
        is_passed = run.outcomes[test] is Outcome.PASSED
        if is_passed and test in record.hidden:
            yield f"{test} passes before anything is written"
        if not is_passed and test in record.unchanged:
            yield f"{test} is said to pass before, and does not: {describe(run, test)}"
