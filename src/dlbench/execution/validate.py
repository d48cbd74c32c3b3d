"""Can an instance's tests tell the reference from its absence, here and now?

The reference must pass where it stands and when it is spliced in like any answer; a stub that raises and one that
returns None must fail every kept test. An instance that does not hold this gives meaningless verdicts.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from dlbench.dataset import Instance
from dlbench.dataset.target import find_target
from dlbench.execution.fresh import Engine, judge, read_module
from dlbench.execution.stubs import BODIES, write_stub
from dlbench.execution.supervise import stop_all
from dlbench.execution.verdict import Outcome, Status, Verdict
from dlbench.workspace import Prepared


@dataclass(frozen=True)
class Trial:
    """One of the things that an instance must do, and whether it did."""

    instance: str
    name: str
    holds: bool
    detail: str
    verdict: Verdict


def validate(
    engine: Engine,
    instances: list[Instance],
    prepared: dict[str, Prepared],
    *,
    workers: int = 1,
    on_trial: Callable[[Trial], None] = lambda trial: None,
) -> list[Trial]:
    plans = [(instance, name) for instance in instances for name in ("reference", "spliced", *BODIES)]

    def work(plan: tuple[Instance, str]) -> Trial:
        instance, name = plan
        return _try(engine, prepared[instance.project], instance, name)

    trials: list[Trial] = []
    with ThreadPoolExecutor(workers) as pool:
        try:
            for trial in pool.map(work, plans):
                trials.append(trial)
                on_trial(trial)
        except BaseException:
            stop_all()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return trials


def _try(engine: Engine, prepared: Prepared, instance: Instance, name: str) -> Trial:
    target = find_target(read_module(prepared, instance), instance.qualname)
    if name in BODIES:
        verdict = judge(engine, prepared, instance, write_stub(target.node, name))
        passing = [test for test, outcome in verdict.tests.items() if outcome in (Outcome.PASSED, Outcome.SKIPPED)]
        holds = not passing and verdict.status in (Status.FAIL, Status.ERROR)
        detail = f"{len(passing)} test(s) do not fail on it, first {passing[0]}" if passing else str(verdict.status)
    else:
        verdict = judge(engine, prepared, instance, None if name == "reference" else target.text)
        holds = verdict.passed
        detail = f"{verdict.status}: {verdict.message[-300:]}"
    return Trial(instance.id, name, holds, "" if holds else detail, verdict)
