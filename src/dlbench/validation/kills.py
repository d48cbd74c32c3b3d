"""Measure what each test of an instance is worth: which mutants it kills, and how long it takes.

A judge that stops at the first failure begins with the tests that kill most mutants per second. A graded reward weighs
tests by the mutants that they kill. The measures are made on first use and kept beside the profile of the reference.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import Any

from dlbench.dataset import Instance
from dlbench.execution.judge import Warm
from dlbench.execution.limits import JudgeOptions
from dlbench.execution.pool import Task, judge_warm
from dlbench.execution.reference_profile import profile_path
from dlbench.jsonl import write_whole
from dlbench.runs.verdict import Outcome, Status, Verdict
from dlbench.validation.mutants import write_mutants

_MUTANTS = 8
_LEAST_SECONDS = 0.001
Kills = dict[str, tuple[int, ...]]
"""By test, the numbers of the mutants that it kills."""


Judge = Callable[[Warm, Task], Verdict]


def judge_fail_fast(warm: Warm, task: Task, *, judge: Judge = judge_warm) -> Verdict:
    """Stop at the first failure. The verdict has the tests in the order of the instance."""
    kills, seconds = measure_tests(warm, task.instance)
    options = replace(task.options, tests=order_tests(task.instance, kills, seconds), until_failure=True)
    verdict = judge(warm, replace(task, options=options))
    is_partial = verdict.status is Status.FAIL and Outcome.NOT_RUN in verdict.tests.values()
    notes = {"fail_fast": True} if is_partial else {}
    outcomes = {test: verdict.tests[test] for test in task.instance.tests}
    return replace(verdict, tests=outcomes, extra=verdict.extra | notes)


def judge_graded(warm: Warm, task: Task, *, judge: Judge = judge_warm) -> Verdict:
    """Note in the verdict how many mutants each test kills."""
    kills, _ = measure_tests(warm, task.instance)
    verdict = judge(warm, task)
    return replace(verdict, kills={test: len(killed) for test, killed in kills.items()})


def measure_tests(warm: Warm, instance: Instance) -> tuple[Kills, dict[str, float]]:
    """The mutants that each test kills, and the seconds of each test with the reference."""
    path = profile_path(warm.engine, warm.prepared, instance).with_suffix(".kills")
    with warm.engine.profile_locks.setdefault(path, Lock()):
        if path.is_file():
            record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        else:
            reference = warm.judge(instance, warm.engine.target(warm.prepared, instance).target.text)
            record = _measure(warm, instance, reference)
            if reference.passed:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, json.dumps(record))
    return {test: tuple(killed) for test, killed in record["kills"].items()}, record["seconds"]


def _measure(warm: Warm, instance: Instance, reference: Verdict) -> dict[str, Any]:
    # a few times what the reference takes: an endless mutant is stopped early
    options = JudgeOptions(seconds=max(2.0, 5 * reference.test_seconds))
    kills: dict[str, list[int]] = {test: [] for test in instance.tests}
    target = warm.engine.target(warm.prepared, instance).target
    mutants = write_mutants(target.node, _MUTANTS) if reference.passed else []
    for number, (_, code) in enumerate(mutants):
        for test in _find_killers(warm.judge(instance, code, options=options)):
            kills[test].append(number)
    return {"kills": kills, "seconds": {test: reference.durations.get(test, 0.0) for test in instance.tests}}


def _find_killers(verdict: Verdict) -> list[str]:
    """The tests that fail on a mutant, or the one in which it hangs or ends the process."""
    failed = [test for test, outcome in verdict.tests.items() if outcome in (Outcome.FAILED, Outcome.ERROR)]
    if verdict.status in (Status.FAIL, Status.PASS):
        return failed
    return failed + [test for test, outcome in verdict.tests.items() if outcome is Outcome.NOT_RUN][:1]


def order_tests(instance: Instance, kills: Kills, seconds: dict[str, float]) -> tuple[str, ...]:
    """First the tests that together kill all mutants, at each step the one that kills most new mutants per second; then
    the rest in its own order, which spares the setup of fixtures that neighbours share."""
    first: list[str] = []
    left = {number for killed in kills.values() for number in killed}
    while left:
        best = max(kills, key=lambda test: len(left & {*kills[test]}) / max(seconds[test], _LEAST_SECONDS))
        first.append(best)
        left -= {*kills[best]}
    return (*first, *(test for test in instance.tests if test not in first))
