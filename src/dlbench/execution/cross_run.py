"""One solution and many checks in, one outcome for each out: what happens when they meet?

In the warm engine, confined like any candidate: a solution is taken in once, and each check (a test that a model wrote)
runs in a fork of its own. Whatever one meeting does costs that meeting: should even the solution's conductor be lost
over it, the rest is run again without it. Where the solution cannot be taken in place it is imported, once, by a fork
of the worker. There is no fresh mode: what meetings say is evidence to choose by, and never a verdict.

How do many solutions and checks keep every core busy?

A thread for each core, which stays with an instance, then with its project, while there is work for it, so that imports
are paid once. A thread holds one project's worker at a time, and so memory stays that of as many projects as threads.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any

from dlbench.dataset import Instance
from dlbench.execution.answer import AnswerError
from dlbench.execution.engine import Candidate, Engine
from dlbench.execution.judge import Warm
from dlbench.execution.launch import describe_candidate
from dlbench.execution.pool import TaskQueue, run_threads
from dlbench.execution.reference_profile import ReferenceProfile, load_profile, load_route, profile_reference
from dlbench.execution.supervise import Observation
from dlbench.execution.worker import Server, WorkerLost
from dlbench.execution.worker_cache import CachePolicy, NoWorkerAvailable, WorkerCache, count_workers, open_cache
from dlbench.workspace import Prepared

SECONDS = 5.0
_LOSSES = 3
_SPARE = 30.0
"""Seconds that a solution's conductor has beside its checks' own."""


class Result(StrEnum):
    PASSED = "passed"
    FAILED = "failed"  # an assertion of the check did not hold
    ERROR = "error"  # anything else was raised
    TIMEOUT = "timeout"
    CRASHED = "crashed"  # the process ended without a word
    OUT_OF_MEMORY = "out_of_memory"
    TAMPERED = "tampered"
    UNUSABLE = "unusable"  # the solution cannot take the target's place at all
    NOT_RUN = "not_run"  # our fault


@dataclass(frozen=True)
class CheckResult:
    result: Result
    seconds: float = 0.0
    message: str = ""
    outputs: list[Any] = field(default_factory=list)
    """What the target returned in its first calls, described; where they were asked for and the solution is plain."""


class CrossRunWorker(Warm):
    """A project's worker for meetings."""

    work = "cross_run"

    def meet(
        self,
        instance: Instance,
        code: str,
        checks: Sequence[str],
        *,
        seconds: float = SECONDS,
        outputs: bool = False,
    ) -> list[CheckResult]:
        """`seconds`: for each check. The outcomes stand in the order of the checks."""
        try:
            candidate = self.engine.asked(self.prepared, instance).read(code)
        except AnswerError as error:
            return [CheckResult(Result.UNUSABLE, message=f"{error.status}: {error.message}")] * len(checks)
        if candidate.forbidden:
            return [CheckResult(Result.TAMPERED, message=f"the code reaches for {candidate.forbidden}")] * len(checks)
        facts = self._rehearse(instance)
        found: dict[int, CheckResult] = {}
        losses = 0
        while len(found) < len(checks) and losses < _LOSSES:
            left = [place for place in range(len(checks)) if place not in found]
            extra = {"checks": [checks[place] for place in left], "seconds_each": seconds, "outputs": outputs}
            try:
                watched = self._run_row(instance, candidate, facts, extra)
                if watched.lost:
                    raise WorkerLost(watched.lost)
            except WorkerLost as error:
                self.losses.append(str(error))
                losses += 1
                self.close()
                if self.is_fresh_only:
                    break
                continue
            found |= _read(watched, left)
        why = self.losses[-1] if self.losses else ""
        return [found.get(place) or CheckResult(Result.NOT_RUN, message=why) for place in range(len(checks))]

    def _run_row(
        self, instance: Instance, candidate: Candidate, facts: ReferenceProfile, extra: dict[str, Any]
    ) -> Observation:
        together = _SPARE + 3 * extra["seconds_each"] * len(extra["checks"])
        limits = replace(self.engine.limits, test_seconds=together)
        job = describe_candidate(watch=candidate.is_watched, classes=candidate.classes, allowed=facts.allowed) | extra
        return self._take_in(instance, candidate, facts, job, limits)

    def _rehearse(self, instance: Instance) -> ReferenceProfile:
        if instance.id not in self.facts:
            self.facts[instance.id] = profile_reference(self.engine, self.prepared, instance)
        return self.facts[instance.id]

    def _is_faithful(self, instance: Instance, facts: ReferenceProfile, server: Server, way: str) -> bool:
        """What the judge has found out holds here, too; what nobody has tried is tried by the checks themselves."""
        return load_route(self.prepared, instance, way) is not False


def _read(watched: Observation, places: Sequence[int]) -> dict[int, CheckResult]:
    """What was said of each, and of the one that was surely under way when no more was said. Always of one or more."""
    found: dict[int, CheckResult] = {}
    for said in watched.messages.of_kind("meeting"):
        place = places[said["place"]]
        found[place] = CheckResult(Result(said["outcome"]), said["seconds"], said["message"], said["outputs"])
    left = [place for place in places if place not in found]
    if not left:
        return found
    tampered = watched.messages.forged or "".join(one["why"] for one in watched.messages.of_kind("tampered")[:1])
    broken = watched.messages.of_kind("broken")
    if tampered:
        return found | dict.fromkeys(left, CheckResult(Result.TAMPERED, message=tampered))
    if broken:
        return found | dict.fromkeys(left, CheckResult(Result.UNUSABLE, message=broken[0]["why"]))
    results = {"timeout": Result.TIMEOUT, "memory": Result.OUT_OF_MEMORY, "processes": Result.OUT_OF_MEMORY}
    # what a row uses is seen from time to time: the one that took too much may be over by then, and an honest one under
    # way. Nobody is blamed; what is left is run again, and blamed only where nothing came before it
    if found and results.get(watched.stopped_for) is Result.OUT_OF_MEMORY:
        return found
    result = results.get(watched.stopped_for, Result.CRASHED)
    return found | {left[0]: CheckResult(result, message=watched.stopped_for or f"exit code {watched.exit_code}")}


@dataclass(frozen=True)
class CrossRunTask:
    """One solution and the checks that it meets; `key` says to the caller which it is."""

    instance: Instance
    key: str
    code: str
    checks: Sequence[str]


OnMet = Callable[[CrossRunTask, list[CheckResult]], None]


class CrossRunPool:
    def __init__(
        self,
        engine: Engine,
        prepared: dict[str, Prepared],
        *,
        workers: int = 1,
        seconds: float = SECONDS,
        outputs: bool = False,
    ) -> None:
        self.engine, self.prepared, self.workers = engine, prepared, workers
        self.seconds, self.outputs = seconds, outputs

    def run(self, meetings: Iterable[CrossRunTask], on_met: OnMet) -> None:
        """Every meeting once; `on_met` is called before its thread takes the next."""
        work = TaskQueue(meetings, self._estimate)
        if not work.left:
            return
        count = min(count_workers(self.engine, self.workers), work.left)
        run_threads(work, [partial(self._keep, work, on_met)] * count)

    def _keep(self, work: "TaskQueue[CrossRunTask]", on_met: OnMet) -> None:
        seat = open_cache(self.engine, self.prepared, CachePolicy(CrossRunWorker, most=1))
        meeting = work.take(None)
        try:
            while meeting is not None:
                on_met(meeting, self._meet(seat, meeting))
                meeting = work.take(meeting, seat.projects)
        finally:
            seat.close()

    def _meet(self, seat: WorkerCache[CrossRunWorker], meeting: CrossRunTask) -> list[CheckResult]:
        meet = partial(_meet, seconds=self.seconds, outputs=self.outputs)
        try:
            return seat.ask(meeting.instance.project, meet, meeting)
        except NoWorkerAvailable:
            raise
        except Exception as error:  # whatever it is, it is our fault, and one solution must not end a run
            return [CheckResult(Result.NOT_RUN, message=f"{type(error).__name__}: {error}")] * len(meeting.checks)

    def _estimate(self, instance: Instance) -> tuple[float, float]:
        facts = load_profile(self.prepared[instance.project], instance)
        return 1.0, facts.load_seconds if facts is not None else 10.0


def _meet(room: CrossRunWorker, meeting: CrossRunTask, *, seconds: float, outputs: bool) -> list[CheckResult]:
    return room.meet(meeting.instance, meeting.code, meeting.checks, seconds=seconds, outputs=outputs)
