"""Judge answers of several files: what an answer changes is read from its text and laid into what was given.

An answer is judged alone; the samples of a run share threads, and each runs its tests in sandboxes of its own.
"""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any

from dlbench.dataset.file_task import Component, FileTask
from dlbench.dataset.target import fenced
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.execution.file_sets import find_packages, looks_like_test
from dlbench.execution.file_task import OpenTask, judge_files, profile_release
from dlbench.execution.processes import remove_groups
from dlbench.execution.sample_judge import OnVerdict
from dlbench.execution.supervise import Interrupted, stop_event
from dlbench.extraction import syntax
from dlbench.extraction.file_answer import FileAnswer, Given, extract_files
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Outcome, Status, Verdict

_ENCODING = ("utf-8", "surrogateescape")


class GivenFiles(Mapping[str, str]):
    """The Python files of a task's import packages as they are given, and those that are asked for; read on use."""

    def __init__(self, task: OpenTask) -> None:
        self._task, tree = task, task.prepared.tree
        self._texts: dict[str, str] = {}
        found = (
            path
            for package in find_packages(task.record.files, task.prepared)
            for path in (tree / package).rglob("*.py")
        )
        inside = [path.relative_to(tree).as_posix() for path in found if path.is_file() and not path.is_symlink()]
        inside = [path for path in inside if not looks_like_test(path) or path in task.base]
        self._paths = dict.fromkeys([*task.base, *sorted(inside)])

    def __getitem__(self, path: str) -> str:
        if path not in self._paths:
            raise KeyError(path)
        if path not in self._texts:
            content = self._task.base.get(path)
            content = (self._task.prepared.tree / path).read_bytes() if content is None else content
            self._texts[path] = content.decode(*_ENCODING).replace("\r\n", "\n").replace("\r", "\n")
        return self._texts[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def read_given(task: OpenTask) -> Given:
    record = task.record
    return Given(GivenFiles(task), record.files, record.asked if isinstance(record, Component) else ())


def judge_answer(
    engine: Engine, task: OpenTask, sample: Sample, given: Given | None = None, workers: int = 1
) -> Verdict:
    """The verdict on a model's answer, or on code without any text around it."""
    found = extract_files(sample.text, given or read_given(task))
    found = replace(found, truncated=found.truncated or sample.is_truncated)
    if found.status is not None:
        outcomes = dict.fromkeys(task.record.hidden, Outcome.NOT_RUN)
        visible = {test: str(Outcome.NOT_RUN) for test in task.record.visible}
        extra: dict[str, Any] = {"kind": str(task.record.track), "visible": visible}
        verdict = Verdict(task.record.id, sample.sample, found.status, outcomes, message=found.reason, extra=extra)
    else:
        files = {path: None if text is None else text.encode(*_ENCODING) for path, text in found.files.items()}
        verdict = judge_files(engine, task, files, sample=sample.sample, workers=workers)
    return _annotate(replace(verdict, answer_sha256=sample.sha256), found)


def _annotate(verdict: Verdict, found: FileAnswer) -> Verdict:
    """With what was read. Where no hidden test passes because a file does not parse, that is the status."""
    status, message = verdict.status, verdict.message
    if status in (Status.ERROR, Status.FAIL) and not verdict.share:
        for path, text in found.files.items():
            if path.endswith(".py") and text and isinstance(error := syntax.attempt(text), SyntaxError):
                status, message = Status.SYNTAX_ERROR, f"{path}: {error}"
                break
    if found.unplaced and status is not Status.PASS:
        message = f"{len(found.unplaced)} edits do not fit ({found.unplaced[0]}); {message}"
    if found.truncated and status not in (Status.PASS, Status.HARNESS_ERROR):
        message = f"{message}; the answer is cut off" if message else "the answer is cut off"
    notes: dict[str, Any] = {"form": found.reason, "changed": sorted(found.files)} if found.files else {}
    notes |= {"truncated": True} if found.truncated else {}
    notes |= {"unplaced": list(found.unplaced)} if found.unplaced else {}
    return replace(verdict, status=status, message=message, extra=verdict.extra | notes)


class FileJudge:
    """Judges the answers of a run in threads. Its owner must close it."""

    def __init__(self, engine: Engine, tasks: Mapping[str, OpenTask], workers: int, processes: int = 1) -> None:
        """`workers`: answers at once; `processes`: those that share the tests of one answer."""
        self.engine, self.tasks, self._processes = engine, tasks, processes
        self._stop = threading.Event()
        self._locks = {name: threading.Lock() for name in tasks}
        self._threads = ThreadPoolExecutor(workers)
        self._read_given = cache(lambda name: read_given(tasks[name]))
        self._error: BaseException | None = None

    def submit(self, sample: Sample, instance: FileTask, keep: OnVerdict = lambda verdict: None) -> "Future[Verdict]":
        """`keep` is called before the worker takes the next sample; an error in it ends the judge."""
        if self._error is not None:
            raise self._error
        return self._threads.submit(self._judge, sample, instance.id, keep)

    def _judge(self, sample: Sample, name: str, keep: OnVerdict) -> Verdict:
        stop_event.set(self._stop)
        try:
            if self._stop.is_set():
                raise DLBenchError("the judge was stopped", fix="start the same command again")
            with self._locks[name]:  # the release runs once
                given = self._read_given(name)
                profile_release(self.engine, self.tasks[name], self._processes)
            verdict = judge_answer(self.engine, self.tasks[name], sample, given, self._processes)
            keep(verdict)
            return verdict
        except Interrupted:
            raise DLBenchError("the judge was stopped", fix="start the same command again") from None
        except BaseException as error:
            self._error = error
            self._stop.set()
            raise

    def close(self) -> None:
        """Stop the running samples and drop the waiting ones."""
        self._stop.set()
        self._threads.shutdown(wait=True, cancel_futures=True)
        remove_groups()


def write_answer(task: OpenTask, *, solved: bool) -> str:
    """An answer with the whole files of the solution, or of what is given."""
    files = task.reference if solved else task.base
    texts = {path: content.decode(*_ENCODING) for path, content in files.items() if content is not None}
    return "\n\n".join(fenced(text, f"python {path}") for path, text in texts.items())
