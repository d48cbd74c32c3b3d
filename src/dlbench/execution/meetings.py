"""One solution and many checks in, one outcome for each out: what happens when they meet?

In the warm engine, confined like any candidate: a solution is taken in once, and each check (a test that a model wrote)
runs in a fork of its own. Whatever one meeting does costs that meeting: should even the solution's conductor be lost
over it, the rest is run again without it. Where the solution cannot be taken in place it is imported, once, by a fork
of the worker. There is no fresh mode: what meetings say is evidence to choose by, and never a verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from dlbench.dataset import Instance
from dlbench.execution.answer import AnswerError
from dlbench.execution.candidate import Candidate
from dlbench.execution.confinement import MEETING
from dlbench.execution.launching import describe_candidate
from dlbench.execution.rehearsal import Facts, recall_way, rehearse
from dlbench.execution.supervise import Watched
from dlbench.execution.warm import Warm
from dlbench.execution.worker import Server, WorkerLost

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
class Met:
    result: Result
    seconds: float = 0.0
    message: str = ""
    outputs: list[Any] = field(default_factory=list)
    """What the target returned in its first calls, described; where they were asked for and the solution is plain."""


class Room(Warm):
    """A project's worker for meetings."""

    entry = MEETING

    def meet(
        self,
        instance: Instance,
        code: str,
        checks: Sequence[str],
        *,
        seconds: float = SECONDS,
        outputs: bool = False,
    ) -> list[Met]:
        """`seconds`: for each check. The outcomes stand in the order of the checks."""
        try:
            candidate = self.engine.asked(self.prepared, instance).read(code)
        except AnswerError as error:
            return [Met(Result.UNUSABLE, message=f"{error.status}: {error.message}")] * len(checks)
        if candidate.forbidden:
            return [Met(Result.TAMPERED, message=f"the code reaches for {candidate.forbidden}")] * len(checks)
        facts = self._rehearse(instance)
        found: dict[int, Met] = {}
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
        return [found.get(place) or Met(Result.NOT_RUN, message=why) for place in range(len(checks))]

    def _run_row(self, instance: Instance, candidate: Candidate, facts: Facts, extra: dict[str, Any]) -> Watched:
        together = _SPARE + 3 * extra["seconds_each"] * len(extra["checks"])
        limits = replace(self.engine.limits, test_seconds=together)
        job = describe_candidate(watch=candidate.is_watched, classes=candidate.classes, allowed=facts.allowed) | extra
        return self._take_in(instance, candidate, facts, job, limits)

    def _rehearse(self, instance: Instance) -> Facts:
        if instance.id not in self.facts:
            self.facts[instance.id] = rehearse(self.engine, self.prepared, instance)
        return self.facts[instance.id]

    def _is_faithful(self, instance: Instance, facts: Facts, server: Server, way: str) -> bool:
        """What the judge has found out holds here, too; what nobody has tried is tried by the checks themselves."""
        return recall_way(self.prepared, instance, way) is not False


def _read(watched: Watched, places: Sequence[int]) -> dict[int, Met]:
    """What was said of each, and of the one that was surely under way when no more was said. Always of one or more."""
    found: dict[int, Met] = {}
    for said in watched.messages.of_kind("meeting"):
        place = places[said["place"]]
        found[place] = Met(Result(said["outcome"]), said["seconds"], said["message"], said["outputs"])
    left = [place for place in places if place not in found]
    if not left:
        return found
    tampered = watched.messages.forged or "".join(one["why"] for one in watched.messages.of_kind("tampered")[:1])
    broken = watched.messages.of_kind("broken")
    if tampered:
        return found | dict.fromkeys(left, Met(Result.TAMPERED, message=tampered))
    if broken:
        return found | dict.fromkeys(left, Met(Result.UNUSABLE, message=broken[0]["why"]))
    results = {"timeout": Result.TIMEOUT, "memory": Result.OUT_OF_MEMORY, "processes": Result.OUT_OF_MEMORY}
    # what a row uses is seen from time to time: the one that took too much may be over by then, and an honest one under
    # way. Nobody is blamed; what is left is run again, and blamed only where nothing came before it
    if found and results.get(watched.stopped_for) is Result.OUT_OF_MEMORY:
        return found
    result = results.get(watched.stopped_for, Result.CRASHED)
    return found | {left[0]: Met(result, message=watched.stopped_for or f"exit code {watched.exit_code}")}
