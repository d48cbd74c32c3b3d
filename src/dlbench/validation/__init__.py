"""Can an instance's tests tell the reference from its absence, here and now, and the same every time?

The reference must pass where it stands and when it is spliced in like any answer; a stub that raises and one that
returns None must fail every kept test. An instance that does not hold this gives meaningless verdicts. Asked for, the
reference is run again and again in other orders, and every candidate in both modes: a test that is flaky, or a verdict
that depends on the mode, is named.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock

from dlbench.dataset import Instance
from dlbench.dataset.target import Target
from dlbench.execution.engine import Engine
from dlbench.execution.limits import DEFAULT, JudgeOptions
from dlbench.execution.pool import Pool, Task
from dlbench.runs.verdict import Outcome, Status, Verdict
from dlbench.validation.mutants import BODIES, draw_orders, write_mutants, write_stub
from dlbench.workspace import Prepared

_MUTANT = "mutant: "
_AGAIN = 6


@dataclass(frozen=True)
class Trial:
    """One of the things that an instance must do, and whether it did."""

    instance: str
    name: str
    holds: bool
    detail: str
    verdict: Verdict


@dataclass
class Plan:
    """What to try: each task with the question that its verdict answers."""

    tasks: list[Task] = field(default_factory=list)

    def add(self, instance: Instance, name: str, code: str | None, terms: JudgeOptions = DEFAULT) -> None:
        self.tasks.append(Task(instance, code, len(self.tasks), name, terms))


def validate(
    pool: Pool,
    instances: list[Instance],
    times: int = 0,
    *,
    shuffle: bool = False,
    on_trial: Callable[[Trial], None] = lambda trial: None,
) -> list[Trial]:
    """Reference and stubs, and the reference `times` more: in one go, since workers start and collect but once."""
    plan = Plan()
    for instance in instances:
        target = _target(pool.engine, pool.prepared[instance.project], instance)
        plan.add(instance, "reference", None)
        plan.add(instance, "spliced", target.text)
        for kind in BODIES:
            plan.add(instance, kind, write_stub(target.node, kind))
        _plan_repeats(plan, instance, target.text, times, shuffle)
    return _run(pool, plan, on_trial)


def count_trials(instances: list[Instance]) -> int:
    return len(instances) * (2 + len(BODIES))


def compare_modes(
    warm: Pool,
    fresh: Pool,
    instances: list[Instance],
    mutants: int,
    *,
    on_warm: Callable[[Task], None] = lambda task: None,
    on_trial: Callable[[Trial], None] = lambda trial: None,
) -> list[Trial]:
    """Reference, stubs and mutants in both modes; a trial holds when both agree on the verdict and on which tests pass.

    Mutants may read memory that nobody wrote, and then pass a test or not by chance. Where both modes give one verdict
    on a mutant and differ in a test, fresh interpreters are asked again, in other orders too: of one on which they do
    not agree among themselves, that test says nothing about modes, and the trial holds with a remark.
    """
    plan = Plan()
    for instance in instances:
        target = _target(warm.engine, warm.prepared[instance.project], instance)
        plan.add(instance, "spliced", target.text)
        for kind in BODIES:
            plan.add(instance, kind, write_stub(target.node, kind))
        for name, code in write_mutants(target.node, mutants):
            plan.add(instance, f"{_MUTANT}{name}", code)
    quick: dict[int, Verdict] = {}
    slow: dict[int, Verdict] = {}
    doubtful: list[Task] = []
    trials: list[Trial] = []
    lock = Lock()

    def note(task: Task, verdict: Verdict) -> None:
        with lock:
            quick[task.sample] = verdict
            on_warm(task)

    warm.run(plan.tasks, note)

    def take(task: Task, verdict: Verdict) -> None:
        trial = _compare(task, quick[task.sample], verdict)
        with lock:
            slow[task.sample] = verdict
            if not trial.holds and task.name.startswith(_MUTANT) and verdict.status is quick[task.sample].status:
                doubtful.append(task)
                return
            trials.append(trial)
            on_trial(trial)

    fresh.run(plan.tasks, take)
    for task in doubtful:
        trial = _compare(task, quick[task.sample], slow[task.sample])
        if unsteady := _find_unsteady(fresh, task, slow[task.sample]):
            remark = f"fresh interpreters do not agree on it among themselves: {', '.join(unsteady[:3])}"
            differing = _find_differing(quick[task.sample], slow[task.sample])
            trial = replace(trial, holds=set(differing) <= set(unsteady), detail=f"{remark}; {trial.detail}")
        trials.append(trial)
        on_trial(trial)
    return sorted(trials, key=lambda trial: trial.verdict.sample)


def _find_unsteady(fresh: Pool, task: Task, first: Verdict) -> list[str]:
    """Tests of which fresh interpreters say now this, now that."""
    again = []
    tests = task.instance.tests
    for count, order in enumerate([tests, *draw_orders(tests, _AGAIN - 1, task.instance.id)]):
        again.append(Task(task.instance, task.code, count, task.name, JudgeOptions(tests=tuple(order))))
    found: set[str] = set()
    fresh.run(again, lambda _, verdict: found.update(_find_differing(first, verdict)))
    return sorted(found)


def _find_differing(one: Verdict, other: Verdict) -> list[str]:
    """Tests of which one says another thing than the other.

    What fails in a thread that a test started is laid to the test itself or to its end, as the threads happen to run:
    both say that it does not pass.
    """
    return [test for test, outcome in other.tests.items() if _merge(one.tests[test]) is not _merge(outcome)]


def _merge(outcome: Outcome) -> Outcome:
    return Outcome.FAILED if outcome is Outcome.ERROR else outcome


def _compare(task: Task, warm: Verdict, fresh: Verdict) -> Trial:
    differing = _find_differing(warm, fresh)
    holds = warm.status is fresh.status and not differing
    detail = f"{warm.mode} says {warm.status}, fresh says {fresh.status}"
    if differing:
        first = differing[0]
        detail += f"; {first}: {warm.tests[first]} and {fresh.tests[first]}"
    detail += f" ({(warm.message or fresh.message)[-300:]})"
    return Trial(task.instance.id, task.name, holds, "" if holds else detail, warm)


def repeat(
    pool: Pool,
    instances: list[Instance],
    times: int,
    *,
    shuffle: bool,
    on_trial: Callable[[Trial], None] = lambda trial: None,
) -> list[Trial]:
    """The reference again and again, in the record's order or in others; a test that does not always pass is flaky."""
    plan = Plan()
    for instance in instances:
        reference = _target(pool.engine, pool.prepared[instance.project], instance).text
        _plan_repeats(plan, instance, reference, times, shuffle)
    return _run(pool, plan, on_trial)


def _plan_repeats(plan: Plan, instance: Instance, reference: str, times: int, shuffle: bool) -> None:
    orders = draw_orders(instance.tests, times, instance.id) if shuffle else [tuple(instance.tests)] * times
    for count, order in enumerate(orders):
        name = f"run {count + 1}{' (shuffled)' if shuffle else ''}"
        plan.add(instance, name, reference, JudgeOptions(tests=order))


def _run(pool: Pool, plan: Plan, on_trial: Callable[[Trial], None]) -> list[Trial]:
    trials: list[Trial] = []
    lock = Lock()

    def take(task: Task, verdict: Verdict) -> None:
        trial = _judge_stub(task, verdict) if task.name in BODIES else _judge_reference(task, verdict)
        with lock:
            trials.append(trial)
            on_trial(trial)

    pool.run(plan.tasks, take)
    return sorted(trials, key=lambda trial: trial.verdict.sample)


def _judge_stub(task: Task, verdict: Verdict) -> Trial:
    passing = [test for test, outcome in verdict.tests.items() if outcome in (Outcome.PASSED, Outcome.SKIPPED)]
    holds = not passing and verdict.status in (Status.FAIL, Status.ERROR)
    detail = f"{len(passing)} test(s) do not fail on it, first {passing[0]}" if passing else str(verdict.status)
    return Trial(task.instance.id, task.name, holds, "" if holds else detail, verdict)


def _judge_reference(task: Task, verdict: Verdict) -> Trial:
    failing = [test for test, outcome in verdict.tests.items() if outcome is not Outcome.PASSED]
    detail = f"{verdict.status}: {', '.join(failing[:5])}: {verdict.message[-300:]}"
    return Trial(task.instance.id, task.name, verdict.passed, "" if verdict.passed else detail, verdict)


def _target(engine: Engine, prepared: Prepared, instance: Instance) -> Target:
    return engine.asked(prepared, instance).target
