"""Run solutions against model-written tests ("checks"): one result for each solution and check.

A solution is loaded once into a warm worker, confined like any candidate, and each check runs in its own fork. A check
can spoil only its own result: if it takes down the process that holds the solution, the remaining checks run again
without it. There is no fresh mode: these results are evidence for a choice, never a verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any

from dlbench.dataset import Instance
from dlbench.execution.answer import AnswerError
from dlbench.execution.engine import Engine
from dlbench.execution.judge import Warm
from dlbench.execution.launch import describe_candidate
from dlbench.execution.pool import TaskPool
from dlbench.execution.reference_profile import ReferenceProfile, load_route
from dlbench.execution.supervise import Observation
from dlbench.execution.worker import Server, WorkerLost
from dlbench.execution.worker_cache import CachePolicy
from dlbench.workspace import Prepared

SECONDS = 5.0
_LOSSES = 3
_SPARE = 30.0
"""Seconds that loading a solution may take, beside its checks."""


class Result(StrEnum):
    PASSED = "passed"
    FAILED = "failed"  # an assertion of the check did not hold
    ERROR = "error"  # anything else was raised
    TIMEOUT = "timeout"
    CRASHED = "crashed"  # the process ended without a report
    OUT_OF_MEMORY = "out_of_memory"
    TAMPERED = "tampered"
    UNUSABLE = "unusable"  # the solution cannot replace the target
    NOT_RUN = "not_run"  # a harness error


_STOPPED = {"timeout": Result.TIMEOUT, "memory": Result.OUT_OF_MEMORY, "processes": Result.OUT_OF_MEMORY}


@dataclass(frozen=True)
class CheckResult:
    result: Result
    seconds: float = 0.0
    message: str = ""
    outputs: list[Any] = field(default_factory=list)
    """Descriptions of what the target returned in its first calls, if requested and the solution is harmless."""


@dataclass(frozen=True)
class CrossRunTask:
    """One solution and its checks; `key` identifies the solution to the caller."""

    instance: Instance
    key: str
    code: str
    checks: Sequence[str]


class CrossRunWorker(Warm):
    """A project's warm worker for cross runs."""

    work = "cross_run"
    runs_tests = False

    def run_checks(
        self, instance: Instance, code: str, checks: Sequence[str], *, seconds: float = SECONDS, outputs: bool = False
    ) -> list[CheckResult]:
        """The results in the order of the checks. `seconds`: for each check."""
        try:
            candidate = self.engine.target(self.prepared, instance).read(code)
        except AnswerError as error:
            return [CheckResult(Result.UNUSABLE, message=f"{error.status}: {error.message}")] * len(checks)
        profile = self.profile(instance)
        job = describe_candidate(candidate, profile.allowed) | {"seconds_each": seconds, "outputs": outputs}
        found: dict[int, CheckResult] = {}
        losses = 0
        while len(found) < len(checks) and losses < _LOSSES:
            left = [place for place in range(len(checks)) if place not in found]
            limits = replace(self.engine.limits, test_seconds=_SPARE + 3 * seconds * len(left))
            row = job | {"checks": [checks[place] for place in left]}
            try:
                found |= _parse_row(self._run_candidate(instance, candidate, profile, row, limits), left)
            except WorkerLost as error:
                losses += 1
                self._lose(error)
                if self.fresh_only_reason:
                    break
        why = self.losses[-1] if self.losses else ""
        return [found.get(place) or CheckResult(Result.NOT_RUN, message=why) for place in range(len(checks))]

    def _passes_by(self, route: str, instance: Instance, profile: ReferenceProfile, server: Server) -> bool:
        """What the judge found holds here; a route that was never tried is tried by the checks themselves."""
        return load_route(self.engine, self.prepared, instance, route) is not False


def _parse_row(observation: Observation, places: Sequence[int]) -> dict[int, CheckResult]:
    """The reported results, and that of the check under way when the reports ended. Always one or more."""
    messages = observation.messages
    found: dict[int, CheckResult] = {}
    for report in messages.of_kind("check"):
        place = places[report["place"]]
        found[place] = CheckResult(Result(report["outcome"]), report["seconds"], report["message"], report["outputs"])
    left = [place for place in places if place not in found]
    if not left:
        return found
    if tampered := messages.forged or "".join(one["why"] for one in messages.of_kind("tampered")[:1]):
        return found | dict.fromkeys(left, CheckResult(Result.TAMPERED, message=tampered))
    if broken := messages.of_kind("broken"):
        return found | dict.fromkeys(left, CheckResult(Result.UNUSABLE, message=broken[0]["why"]))
    result = _STOPPED.get(observation.stopped_for, Result.CRASHED)
    # memory is polled: the check that took too much may have ended, and an innocent one may be under way. The rest is
    # run again, and a check is blamed only if it was the first of its row
    if found and result is Result.OUT_OF_MEMORY:
        return found
    message = observation.stopped_for or f"exit code {observation.exit_code}"
    return found | {left[0]: CheckResult(result, message=message)}


class CrossRunPool(TaskPool[CrossRunTask, CrossRunWorker, list[CheckResult]]):
    """Runs solutions against their checks. A thread holds one project's worker at a time, to bound memory."""

    def __init__(
        self,
        engine: Engine,
        prepared: dict[str, Prepared],
        *,
        workers: int = 1,
        seconds: float = SECONDS,
        outputs: bool = False,
    ) -> None:
        function = partial(_run_task, seconds=seconds, outputs=outputs)
        super().__init__(engine, prepared, workers, CachePolicy(CrossRunWorker, most=1), function, _report_fault)


def _run_task(worker: CrossRunWorker, task: CrossRunTask, *, seconds: float, outputs: bool) -> list[CheckResult]:
    return worker.run_checks(task.instance, task.code, task.checks, seconds=seconds, outputs=outputs)


def _report_fault(task: CrossRunTask, fault: str) -> list[CheckResult]:
    return [CheckResult(Result.NOT_RUN, message=fault)] * len(task.checks)
