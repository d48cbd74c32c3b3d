"""Run the automatic admission checks on a function.

Tests that pass on a stub or fail sometimes are dropped; at least three must remain, within the time and memory limits.
Empty answers must fail. Mutants measure which small mistakes the tests detect.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from functools import partial
from itertools import product

from dlbench.construction import Row
from dlbench.construction.trace import LEAST_TESTS, MAX_SECONDS
from dlbench.dataset import Instance
from dlbench.dataset.records import Labels
from dlbench.dataset.target import Function, render_signature
from dlbench.execution.engine import Engine
from dlbench.execution.judge import Warm
from dlbench.execution.limits import DEFAULT, JudgeOptions
from dlbench.execution.pool import Task, TaskPool
from dlbench.execution.worker_cache import CachePolicy
from dlbench.runs.verdict import Outcome, Status, Verdict
from dlbench.validation.mutants import BODIES, draw_orders, write_mutants, write_stub
from dlbench.workspace import Prepared

MUTANTS = 12
_MAX_MEMORY_MB = 2048.0
_TIMES = 5
_MAX_FLAKY = 0.2
"""Share of flaky tests above which the remaining tests are not trusted either."""
_ROUNDS = 3
_STUB_TIMES = 3
_GUARDED = "the candidate asked for"
"""Prefix of the guard's messages about access to frames, test files and the like."""
HARNESS_FAULT = "our_fault"
"""A reason that says nothing about the function; it is measured again when the step is repeated."""
_STOPPED = {Status.TIMEOUT: "too_slow", Status.OUT_OF_MEMORY: "too_large"}
_FLAKY = "does not always pass"
_ORDER = "passes only in an order"


@dataclass
class Admission:
    """The result for one function. `reason`: why it is not admissible; empty if it is."""

    id: str
    reason: str = ""
    detail: str = ""
    tests: list[str] = field(default_factory=list)
    tried: int = 0
    """Number of tests that run the function, before any was dropped."""
    dropped: dict[str, str] = field(default_factory=dict)
    mutants: int = 0
    killed: int = 0
    survivors: list[str] = field(default_factory=list)
    seconds: float = 0.0
    memory_mb: float = 0.0
    mode: str = ""

    @property
    def is_admissible(self) -> bool:
        return not self.reason

    def to_row(self) -> Row:
        return asdict(self) | {"admissible": self.is_admissible}


class _Rejected(Exception):
    def __init__(self, reason: str, detail: str) -> None:
        self.reason, self.detail = reason, detail


def propose_instance(row: Row, tests: list[str]) -> Instance:
    """An instance with placeholder prompt and labels, to run the checks on."""
    return Instance(
        **{key: row[key] for key in ("id", "path", "qualname", "sha256")},
        introduced=row.get("introduced") or date(1970, 1, 1),
        prompt="not written yet",
        tests=tuple(tests),
        labels=Labels.model_validate({"stage": "training", "task": "general", "data": "others"}),
    )


def admit_all(
    engine: Engine,
    prepared: Prepared,
    instances: list[Instance],
    on_admission: Callable[[Admission], None],
    *,
    workers: int = 1,
    mutants: int = MUTANTS,
) -> None:
    """Check all functions in parallel; each thread has its own worker, and results are independent."""
    projects = {instance.project: prepared for instance in instances}
    check = partial(admit, mutants=mutants)
    pool = _AdmissionPool(engine, projects, workers, CachePolicy(Warm), check, _report_fault)
    pool.run([Task(instance, None) for instance in instances], lambda _, admission: on_admission(admission))


class _AdmissionPool(TaskPool[Task, Warm, Admission]):
    def estimate(self, instance: Instance) -> tuple[float, float]:
        """Nothing is known about the functions yet, and each takes long enough for another worker."""
        return 1.0, 0.0


def _report_fault(task: Task, fault: str) -> Admission:
    return Admission(task.instance.id, HARNESS_FAULT, fault[-600:], tried=len(task.instance.tests))


def admit(warm: Warm, task: Task, *, mutants: int = MUTANTS) -> Admission:
    instance = task.instance
    found = Admission(instance.id, tried=len(instance.tests))
    try:
        node = warm.engine.target(warm.prepared, instance).target.node
        instance = _keep_passing(warm, instance, found)
        _drop_tests_passing_on_stubs(warm, instance, node, found)
        _drop_flaky_tests(warm, instance, found)
        # A few times what the reference takes: an endless mutant is stopped early.
        seconds = max(2.0, 5 * found.seconds)
        options = JudgeOptions(tests=tuple(found.tests), until_failure=True, seconds=seconds)
        for what, code in write_empty_answers(node).items():
            if _judge(warm, instance, code, options).passed:
                raise _Rejected("empty_answer_passes", f"returning {what} passes every test")
        for name, code in write_mutants(node, mutants):
            found.mutants += 1
            if _judge(warm, instance, code, options).passed:
                found.survivors.append(name)
            else:
                found.killed += 1
    except _Rejected as error:
        found.reason, found.detail = error.reason, error.detail[-600:]
    except Exception as error:  # one function must not end a pass over thousands
        found.reason, found.detail = HARNESS_FAULT, f"{type(error).__name__}: {error}"[-600:]
    return found


def _judge(warm: Warm, instance: Instance, code: str, options: JudgeOptions = DEFAULT) -> Verdict:
    """Judge; a harness error says nothing about the function, so it ends the checks instead of failing a test."""
    # the reference may fail: that is what admission finds out
    verdict = warm.judge(instance, code, options=replace(options, requires_reference=False))
    if verdict.status is Status.HARNESS_ERROR:
        raise _Rejected(HARNESS_FAULT, verdict.message)
    return verdict


def _reference(warm: Warm, instance: Instance) -> str:
    return warm.engine.target(warm.prepared, instance).target.text


def _keep_passing(warm: Warm, instance: Instance, found: Admission) -> Instance:
    """Drop tests that fail on the reference when they run alone in the sandbox."""
    if len(instance.tests) < LEAST_TESTS:
        raise _Rejected("too_few_tests", f"{len(instance.tests)} tests run it")
    for attempt in range(_ROUNDS):
        verdict = _judge(warm, instance, _reference(warm, instance))
        if verdict.passed:
            found.mode = verdict.mode
            # Candidates would be allowed the same access to frames, test files and the like, which leads to the tests,
            # and an honest solution with other accesses would count as cheating.
            if accesses := [why for why in warm.profiles[instance.id].allowed if why.startswith(_GUARDED)]:
                raise _Rejected("looks_at_the_judge", "; ".join(accesses))
            return instance
        if verdict.status not in (Status.FAIL, Status.ERROR):
            raise _Rejected(_STOPPED.get(verdict.status, f"reference_{verdict.status}"), verdict.message)
        passing = _tests_with(verdict, Outcome.PASSED)
        why = _FLAKY if attempt else "the reference fails it alone"
        found.dropped |= dict.fromkeys(set(instance.tests) - set(passing), why)
        if len(passing) < LEAST_TESTS:
            what = f"{len(passing)} of {found.tried} tests pass here: {verdict.message}"
            raise _Rejected("flaky" if attempt else "reference_fails", what)
        warm.forget(instance)
        instance = instance.model_copy(update={"tests": tuple(passing)})
    raise _Rejected("flaky", f"different tests of {found.tried} fail every time: {verdict.message}")


def _tests_with(verdict: Verdict, *outcomes: Outcome) -> list[str]:
    return [test for test, outcome in verdict.tests.items() if outcome in outcomes]


def _drop_tests_passing_on_stubs(warm: Warm, instance: Instance, node: Function, found: Admission) -> None:
    """Drop tests that pass or do not finish on a stub. Stubs are judged several times and in other orders, since a test
    may find its expected value in reused memory or in what another test left."""
    kept = list(instance.tests)
    orders = [instance.tests, *draw_orders(instance.tests, _STUB_TIMES - 1, instance.id)]
    for count, kind in product(range(_STUB_TIMES), BODIES):
        tests = [test for test in orders[count] if test in kept]
        verdict = _judge(warm, instance, write_stub(node, kind), JudgeOptions(tests=tuple(tests)))
        failing = set(_tests_with(verdict, Outcome.FAILED, Outcome.ERROR))
        why = f"passes on a stub that {kind}{' by chance' if count else ''}"
        found.dropped |= dict.fromkeys([test for test in kept if test not in failing], why)
        kept = [test for test in kept if test in failing]
        if len(kept) < LEAST_TESTS:
            stub = kind.replace("_none", " None")
            what = f"only {len(kept)} of {found.tried} tests fail when the function {stub}; {LEAST_TESTS} are needed"
            raise _Rejected("tests_cannot_tell", what)
    found.tests = kept


def _drop_flaky_tests(warm: Warm, instance: Instance, found: Admission) -> None:
    """Run the reference five times in different orders; drop tests that do not always pass."""
    reference = _reference(warm, instance)

    def run(tests: list[str]) -> tuple[set[str], Verdict]:
        verdict = _judge(warm, instance, reference, JudgeOptions(tests=tuple(tests)))
        return set(tests) - set(_tests_with(verdict, Outcome.PASSED)), verdict

    flaky: dict[str, str] = {}
    for order in draw_orders(found.tests, _TIMES, instance.id):
        tests = [test for test in found.tests if test not in flaky]
        if len(tests) < LEAST_TESTS:
            break
        shuffled = [test for test in order if test not in flaky]
        failing, verdict = run(shuffled)
        if verdict.status in _STOPPED:
            raise _Rejected(_STOPPED[verdict.status], verdict.message)
        if failing:
            # Order-dependent: the same order fails again, and the record's order passes.
            is_order = run(shuffled)[0] == failing and not run(tests)[0]
            flaky |= dict.fromkeys(failing, _ORDER if is_order else _FLAKY)
        found.seconds = max(found.seconds, verdict.test_seconds)
        found.memory_mb = max(found.memory_mb, verdict.memory_mb)
    found.dropped |= flaky
    found.tests = [test for test in found.tests if test not in flaky]
    count = sum(why in (_FLAKY, _ORDER) for why in found.dropped.values())
    if len(found.tests) < LEAST_TESTS or count > _MAX_FLAKY * found.tried:
        reason = "order_dependent" if set(flaky.values()) == {_ORDER} else "flaky"
        raise _Rejected(reason, f"{count} of {found.tried} tests do not always pass")
    if found.seconds > MAX_SECONDS:
        raise _Rejected("too_slow", f"{found.seconds:.1f} s")
    if found.memory_mb > _MAX_MEMORY_MB:
        raise _Rejected("too_large", f"{found.memory_mb:.0f} MiB")


def write_empty_answers(node: Function) -> dict[str, str]:
    """Trivial answers that pass tests which check little more than that a value is returned."""
    header = render_signature(node, decorators=False)
    names = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
    values = {"zero": "0", "an empty list": "[]"}
    if "self" in names:
        values["the object itself"] = "self"
    if parameters := [name for name in names if name not in ("self", "cls")]:
        values["its first argument"] = parameters[0]
    return {what: f"{header}\n    return {value}\n" for what, value in values.items()}
