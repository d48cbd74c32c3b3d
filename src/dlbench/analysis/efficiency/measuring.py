"""What do an instance's tests take on a candidate, and on the reference beside it?

A figure of another day, another process or a busier minute cannot be set beside a candidate's. So both run in one
worker, in rounds: the reference, the reference once more and every candidate, in an order drawn by chance, in which all
have every place as often. What disturbs a round disturbs all of it, and how far the two references lie apart is the
noise. All are served alike: where one candidate must be imported or watched, so is every other, and the reference.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import groupby
from random import Random

from dlbench.dataset import Instance
from dlbench.errors import DLBenchError
from dlbench.execution.answer import AnswerError
from dlbench.execution.engine import Engine
from dlbench.execution.judge import Warm
from dlbench.execution.limits import DEFAULT, JudgeOptions
from dlbench.execution.processes import remove_groups
from dlbench.runs.verdict import Status
from dlbench.workspace import Prepared

REFERENCE, AGAIN = "reference", "again"
_SPARE = 2
"""Rounds that may come to nothing before an instance is given up."""


@dataclass(frozen=True)
class Taken:
    """One run of the tests."""

    status: str
    seconds: float
    processor: float
    """Seconds that the processor worked."""
    memory_mb: float
    mode: str
    message: str = ""

    @property
    def passed(self) -> bool:
        return self.status == Status.PASS


Round = Mapping[str, Taken]
"""By `REFERENCE`, `AGAIN` and the names of candidates, in the order in which they ran."""


@dataclass(frozen=True)
class Job:
    """Candidates of one instance, by name, of which rounds are missing."""

    instance: Instance
    codes: Mapping[str, str]
    done: Sequence[Round]


def measure_all(
    engine: Engine,
    prepared: Mapping[str, Prepared],
    jobs: Sequence[Job],
    on_round: Callable[[Instance, Round], None],
    *,
    repeats: int,
    seed: int,
) -> dict[str, str]:
    """One worker, one run at a time. By instance, why one was given up."""
    given_up = {}
    ordered = sorted(jobs, key=lambda job: job.instance.project)
    for project, some in groupby(ordered, key=lambda job: job.instance.project):
        with closing(Warm(engine, prepared[project])) as warm:
            for job in some:
                try:
                    why = _measure(warm, job, on_round, repeats, seed)
                except DLBenchError:
                    raise
                except Exception as error:  # one instance must not end a study of hundreds
                    why = f"our own fault: {type(error).__name__}: {error}"
                if why:
                    given_up[job.instance.id] = why
    remove_groups()
    return given_up


def find_waiting(codes: Mapping[str, str], done: Sequence[Round], repeats: int) -> list[str]:
    """Candidates with too few rounds; one that did not pass in some round is not tried again."""
    waiting = []
    for name in codes:
        taken = [one[name] for one in done if name in one]
        if len(taken) < repeats and all(one.passed for one in taken):
            waiting.append(name)
    return waiting


def count_missing(job: Job, repeats: int) -> int:
    """How many rounds it takes at most."""
    waiting = find_waiting(job.codes, job.done, repeats)
    return max((repeats - sum(name in one for one in job.done) for name in waiting), default=0)


def draw_order(names: Sequence[str], number: int, seed: str) -> list[str]:
    """Of one round. In as many rounds as there are names each has every place once: places may differ, too."""
    block, step = divmod(number, len(names))
    chance = Random(f"{seed} {block}")
    drawn = chance.sample(names, len(names))
    begin = chance.sample(range(len(names)), len(names))[step]
    return drawn[begin:] + drawn[:begin]


def _measure(warm: Warm, job: Job, on_round: Callable[[Instance, Round], None], repeats: int, seed: int) -> str:
    instance, done, wasted = job.instance, list(job.done), 0
    reference = warm.engine.asked(warm.prepared, instance).target.text
    first = _run(warm, instance, reference, DEFAULT)
    if not first.passed:
        return _blame(REFERENCE, first)
    terms = _settle(warm, instance, first, [reference, *job.codes.values()])
    while waiting := find_waiting(job.codes, done, repeats):
        codes = {REFERENCE: reference, AGAIN: reference} | {name: job.codes[name] for name in waiting}
        order = draw_order(list(codes), len(done), f"{seed} {instance.id}")
        taken = {name: _run(warm, instance, codes[name], terms) for name in order}
        fault = _find_fault(taken)
        if not fault:
            done.append(taken)
            on_round(instance, taken)
            continue
        wasted += 1
        if wasted > _SPARE:
            return fault
    return ""


def _settle(warm: Warm, instance: Instance, first: Taken, codes: Sequence[str]) -> JudgeOptions:
    """Runs each once, uncounted: the first pays for servers and caches. How the least convenient one must be served."""
    asked = warm.engine.asked(warm.prepared, instance)
    watched = False
    for code in codes:
        with suppress(AnswerError):  # which its rounds will show as not passing
            watched = watched or asked.read(code).is_watched
    modes = {first.mode, *(warm.judge(instance, code).mode for code in codes[1:])}
    return JudgeOptions(imports=modes != {"in_place"}, watched=watched)


def _run(warm: Warm, instance: Instance, code: str, terms: JudgeOptions) -> Taken:
    found = warm.judge(instance, code, terms=terms)
    times = found.test_seconds, found.processor_seconds
    return Taken(str(found.status), *times, found.memory_mb, found.mode, found.message[-300:])


def _find_fault(taken: Round) -> str:
    """Why a round is none: what was not measured side by side is not kept, and neither is our own fault."""
    for name, one in taken.items():
        if one.status == Status.HARNESS_ERROR or (name in (REFERENCE, AGAIN) and not one.passed):
            return _blame(name, one)
    modes = {one.mode for one in taken.values() if one.passed}
    return "" if len(modes) == 1 else f"they were not served alike: {', '.join(sorted(modes))}"


def _blame(name: str, one: Taken) -> str:
    return f"{'the reference' if name in (REFERENCE, AGAIN) else 'a candidate'}: {one.status}: {one.message}"
