"""Check that an instance's tests distinguish the reference from its absence, every time.

The reference must pass unspliced and spliced like any answer; a stub that raises and one that returns None must fail
every kept test. Otherwise verdicts mean nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from threading import Lock

from dlbench.dataset import Instance
from dlbench.dataset.target import Target
from dlbench.execution.limits import JudgeOptions
from dlbench.execution.pool import Pool, Task
from dlbench.runs.verdict import Outcome, Status, Verdict
from dlbench.validation.mutants import BODIES, draw_orders, write_mutants, write_stub

_MUTANT = "mutant: "
_AGAIN = 6


@dataclass(frozen=True)
class Trial:
    """One requirement of an instance, and whether it holds."""

    instance: str
    name: str
    holds: bool
    detail: str
    verdict: Verdict


OnTrial = Callable[[Trial], None]
Check = Callable[[Task, Verdict], Trial | None]


@dataclass
class Plan:
    """The tasks to run, each named by the requirement that its verdict checks."""

    pool: Pool
    tasks: list[Task] = field(default_factory=list)

    def find_target(self, instance: Instance) -> Target:
        return self.pool.engine.target(self.pool.prepared[instance.project], instance).target

    def add(self, instance: Instance, name: str, code: str | None, tests: Sequence[str] = ()) -> None:
        # a reference that fails is a finding here, and its tests are reported one by one
        options = JudgeOptions(tests=tuple(tests), requires_reference=False)
        self.tasks.append(Task(instance, code, len(self.tasks), name, options))

    def add_stubs(self, instance: Instance) -> None:
        for kind in BODIES:
            self.add(instance, kind, write_stub(self.find_target(instance).node, kind))

    def add_repeats(self, instance: Instance, times: int, shuffle: bool) -> None:
        orders = draw_orders(instance.tests, times, instance.id) if shuffle else [instance.tests] * times
        for count, order in enumerate(orders):
            name = f"run {count + 1}{' (shuffled)' if shuffle else ''}"
            self.add(instance, name, self.find_target(instance).text, order)

    def run(self, check: Check, on_trial: OnTrial, pool: Pool | None = None) -> list[Trial]:
        """Run the tasks, by default in the plan's pool. `check` gives no trial for a verdict that decides nothing."""
        trials: list[Trial] = []
        lock = Lock()

        def take(task: Task, verdict: Verdict) -> None:
            with lock:
                if trial := check(task, verdict):
                    trials.append(trial)
                    on_trial(trial)

        (pool or self.pool).run(self.tasks, take)
        return sorted(trials, key=attrgetter("verdict.sample"))


def validate(
    pool: Pool,
    instances: list[Instance],
    times: int = 0,
    *,
    shuffle: bool = False,
    on_trial: OnTrial = lambda trial: None,
) -> list[Trial]:
    """Run reference and stubs, and the reference `times` more, all at once: workers start and collect only once."""
    plan = Plan(pool)
    for instance in instances:
        plan.add(instance, "reference", None)
        plan.add(instance, "spliced", plan.find_target(instance).text)
        plan.add_stubs(instance)
        plan.add_repeats(instance, times, shuffle)
    return plan.run(_check, on_trial)


def compare_modes(
    warm: Pool,
    fresh: Pool,
    instances: list[Instance],
    mutants: int,
    *,
    on_warm: Callable[[Task], None] = lambda task: None,
    on_trial: OnTrial = lambda trial: None,
) -> list[Trial]:
    """Run reference, stubs and mutants in both modes. A trial holds if both give the same status and test outcomes.

    A mutant may read uninitialised memory and pass a test by chance. If both modes give it the same status and differ
    in a test, fresh interpreters run it again. Where they disagree among themselves, the test says nothing about modes.
    """
    plan = Plan(warm)
    for instance in instances:
        target = plan.find_target(instance)
        plan.add(instance, "spliced", target.text)
        plan.add_stubs(instance)
        for name, code in write_mutants(target.node, mutants):
            plan.add(instance, f"{_MUTANT}{name}", code)
    quick: dict[int, Verdict] = {}
    doubtful: list[tuple[Task, Verdict]] = []

    def note(task: Task, verdict: Verdict) -> None:
        quick[task.sample] = verdict
        on_warm(task)

    def compare(task: Task, verdict: Verdict) -> Trial | None:
        trial = _compare(task, quick[task.sample], verdict)
        if trial.holds or not task.name.startswith(_MUTANT) or verdict.status is not trial.verdict.status:
            return trial
        doubtful.append((task, verdict))
        return None

    plan.run(note, on_trial)
    trials = plan.run(compare, on_trial, fresh)
    for task, verdict in doubtful:
        trial = _compare(task, quick[task.sample], verdict)
        if unsteady := _find_unsteady(fresh, task, verdict):
            remark = f"fresh interpreters disagree on it: {', '.join(unsteady[:3])}"
            holds = set(_find_differing(trial.verdict, verdict)) <= set(unsteady)
            trial = replace(trial, holds=holds, detail=f"{remark}; {trial.detail}")
        trials.append(trial)
        on_trial(trial)
    return sorted(trials, key=attrgetter("verdict.sample"))


def _find_unsteady(fresh: Pool, task: Task, first: Verdict) -> list[str]:
    """Tests with different outcomes in fresh interpreters."""
    tests = task.instance.tests
    orders = [tests, *draw_orders(tests, _AGAIN - 1, task.instance.id)]
    again = [replace(task, sample=count, options=JudgeOptions(tests=order)) for count, order in enumerate(orders)]
    found: set[str] = set()
    fresh.run(again, lambda _, verdict: found.update(_find_differing(first, verdict)))
    return sorted(found)


def _find_differing(one: Verdict, other: Verdict) -> list[str]:
    """Tests with different outcomes. Failed and error count as one: which of them a failure in a thread becomes depends
    on timing."""
    failures = {Outcome.FAILED, Outcome.ERROR}
    pairs = {test: {one.tests[test], outcome} for test, outcome in other.tests.items()}
    return [test for test, outcomes in pairs.items() if len(outcomes) > 1 and outcomes != failures]


def _compare(task: Task, warm: Verdict, fresh: Verdict) -> Trial:
    differing = _find_differing(warm, fresh)
    plus = [verdict.extra.get("plus") for verdict in (warm, fresh)]
    holds = warm.status is fresh.status and not differing and plus[0] == plus[1]
    detail = f"{warm.mode}: {warm.status}, fresh: {fresh.status}"
    if plus[0] != plus[1]:
        detail += f"; further inputs: {plus[0]} and {plus[1]}"
    if differing:
        first = differing[0]
        detail += f"; {first}: {warm.tests[first]} and {fresh.tests[first]}"
    detail += f" ({(warm.message or fresh.message)[-300:]})"
    return Trial(task.instance.id, task.name, holds, "" if holds else detail, warm)


def repeat(
    pool: Pool, instances: list[Instance], times: int, *, shuffle: bool, on_trial: OnTrial = lambda trial: None
) -> list[Trial]:
    """Run the reference repeatedly, in the record's order or in others. A test that does not always pass is flaky."""
    plan = Plan(pool)
    for instance in instances:
        plan.add_repeats(instance, times, shuffle)
    return plan.run(_check, on_trial)


def _check(task: Task, verdict: Verdict) -> Trial:
    """Whether the reference passes all tests, or a stub fails all."""
    if task.name in BODIES:
        passing = [test for test, outcome in verdict.tests.items() if outcome in (Outcome.PASSED, Outcome.SKIPPED)]
        holds = not passing and verdict.status in (Status.FAIL, Status.ERROR)
        detail = f"{len(passing)} test(s) do not fail on it, first {passing[0]}" if passing else str(verdict.status)
    else:
        failing = [test for test, outcome in verdict.tests.items() if outcome is not Outcome.PASSED]
        plus = verdict.extra.get("plus", "passed")
        holds, detail = verdict.passed, f"{verdict.status}: {', '.join(failing[:5])}: {verdict.message[-300:]}"
        if holds and plus != "passed":
            holds, detail = False, f"further inputs: {plus}: {verdict.extra['plus_message']}"
    return Trial(task.instance.id, task.name, holds, "" if holds else detail, verdict)
