"""Can a function be asked for? Every check of admission that needs no person.

The reference passes five times in other orders; a test that passes on a stub, or not every time, is not kept; three or
more remain; they keep to time and memory; answers that nobody would call one do not pass; and it is measured which
small mistakes the tests find. The first reason that stands against a function is kept with its figure.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import partial
from itertools import product

from dlbench.construction.choose_tests import LEAST_TESTS, MOST_AT_ALL
from dlbench.construction.work_folder import Row
from dlbench.dataset import Instance
from dlbench.dataset.labels import Data, Stage, Task
from dlbench.dataset.records import Labels
from dlbench.dataset.target import Function, render_signature
from dlbench.execution.engine import Engine
from dlbench.execution.judge import Warm
from dlbench.execution.limits import JudgeOptions
from dlbench.execution.pool import TaskQueue, keep_busy
from dlbench.execution.worker_cache import CachePolicy, NoWorkerAvailable, WorkerCache, count_seats, open_cache
from dlbench.runs.verdict import Outcome, Status, Verdict
from dlbench.validation.mutants import BODIES, draw_orders, write_mutants, write_stub
from dlbench.workspace import Prepared

MOST_MEMORY_MB = 2048.0
TIMES = 5
MUTANTS = 12
MOST_UNSTEADY = 0.2
"""Share of the tests; where more of them do not always pass, the rest only had luck."""
_ROUNDS = 3
_STUB_TIMES = 3
GUARDED = "the candidate asked for"
"""How the guard begins what it says of frames, files of tests, and the like."""
HARNESS_FAULT = "our_fault"
"""The one reason that says nothing of the function; it is measured again when the step is run again."""
_STOPPED = {Status.TIMEOUT: "too_slow", Status.OUT_OF_MEMORY: "too_large"}
_FLAKY = "does not always pass"
_ORDER = "passes only in an order"


@dataclass
class Admission:
    """What was found of one function. `reason`: why it cannot be asked for; empty where it can."""

    id: str
    reason: str = ""
    detail: str = ""
    tests: list[str] = field(default_factory=list)
    tried: int = 0
    """Tests that ran it, before any was dropped."""
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
    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason, self.detail = reason, detail


def propose_instance(row: Row, tests: list[str]) -> Instance:
    """A function as an instance that nobody has written a prompt for, or voted on."""
    return Instance(
        id=row["id"],
        path=row["path"],
        qualname=row["qualname"],
        sha256=row["sha256"],
        introduced=row.get("introduced") or date(1970, 1, 1),
        prompt="not written yet",
        tests=tuple(tests),
        labels=Labels(stage=Stage.TRAINING, task=Task.GENERAL, data=Data.OTHERS),
    )


def admit_all(
    engine: Engine,
    prepared: Prepared,
    instances: Iterable[Instance],
    on_admission: Callable[[Admission], None],
    *,
    workers: int = 1,
    mutants: int = MUTANTS,
) -> None:
    """Each thread has a worker of its own; what is found of one function does not depend on the others."""
    work = TaskQueue(map(_Proposed, instances), lambda instance: (1.0, 0.0))

    def keep() -> None:
        seat = open_cache(engine, {prepared.project.name: prepared}, CachePolicy(Warm))
        proposed = work.take(None)
        try:
            while proposed is not None:
                on_admission(_admit_at(seat, proposed.instance, mutants))
                proposed = work.take(proposed, seat.projects)
        finally:
            seat.close()

    if work.left:
        keep_busy(work, [keep] * min(count_seats(engine, workers), work.left))


@dataclass(frozen=True)
class _Proposed:
    instance: Instance


def _admit_at(seat: WorkerCache[Warm], instance: Instance, mutants: int) -> Admission:
    try:
        return seat.ask(instance.project, partial(admit, mutants=mutants), instance)
    except NoWorkerAvailable:
        raise
    except Exception as error:
        return Admission(instance.id, *_blame_ourselves(error), tried=len(instance.tests))


def admit(warm: Warm, instance: Instance, *, mutants: int = MUTANTS) -> Admission:
    found = Admission(instance.id, tried=len(instance.tests))
    try:
        node = warm.engine.asked(warm.prepared, instance).target.node
        instance = _keep_passing(warm, instance, found)
        _reject_stubs(warm, instance, node, found)
        _repeat(warm, instance, found)
        _try_empty_answers(warm, instance, node, found)
        _kill_mutants(warm, instance, node, found, mutants)
    except _Rejected as error:
        found.reason, found.detail = error.reason, error.detail[-600:]
    except Exception as error:  # one function must not end a pass over thousands
        found.reason, found.detail = _blame_ourselves(error)
    return found


def _blame_ourselves(error: Exception) -> tuple[str, str]:
    return HARNESS_FAULT, f"{type(error).__name__}: {error}"[-600:]


def _judge(warm: Warm, instance: Instance, code: str, terms: JudgeOptions | None = None) -> Verdict:
    """What we could not judge says nothing of the function: no mutant was found by it, and no test is flaky."""
    verdict = warm.judge(instance, code, terms=terms) if terms else warm.judge(instance, code)
    if verdict.status is Status.HARNESS_ERROR:
        raise _Rejected(HARNESS_FAULT, verdict.message)
    return verdict


def _reference(warm: Warm, instance: Instance) -> str:
    return warm.engine.asked(warm.prepared, instance).target.text


def _keep_passing(warm: Warm, instance: Instance, found: Admission) -> Instance:
    """Without the tests that do not pass when they run alone, in the sandbox, on the reference."""
    if len(instance.tests) < LEAST_TESTS:
        raise _Rejected("too_few_tests", f"{len(instance.tests)} tests run it")
    for attempt in range(_ROUNDS):
        verdict = _judge(warm, instance, _reference(warm, instance))
        if verdict.passed:
            found.mode = verdict.mode
            _reject_what_looks_at_the_judge(warm, instance)
            return instance
        if verdict.status not in (Status.FAIL, Status.ERROR):
            raise _Rejected(_STOPPED.get(verdict.status, f"reference_{verdict.status}"), verdict.message)
        passing = _those(verdict, Outcome.PASSED)
        why = _FLAKY if attempt else "the reference does not pass it alone"
        found.dropped |= dict.fromkeys(set(instance.tests) - set(passing), why)
        if len(passing) < LEAST_TESTS:
            what = f"{len(passing)} of {found.tried} tests pass here: {verdict.message}"
            raise _Rejected("flaky" if attempt else "reference_fails", what)
        warm.forget(instance)
        instance = instance.model_copy(update={"tests": tuple(passing)})
    raise _Rejected("flaky", f"of {found.tried} tests others fail every time: {verdict.message}")


def _reject_what_looks_at_the_judge(warm: Warm, instance: Instance) -> None:
    """What the reference asks for, a candidate may ask for, too, and ways to the tests lead through it; and an honest
    solution that asks otherwise than the reference does would be taken for a cheat."""
    if asked := [why for why in warm.facts[instance.id].allowed if why.startswith(GUARDED)]:
        raise _Rejected("looks_at_the_judge", "; ".join(asked))


def _those(verdict: Verdict, *outcomes: Outcome) -> list[str]:
    return [test for test, outcome in verdict.tests.items() if outcome in outcomes]


def _reject_stubs(warm: Warm, instance: Instance, node: Function, found: Admission) -> None:
    """A test that passes where there is nothing cannot tell; neither can one that did not come to an end.

    Asked several times, in other orders too: where nothing was written, a test may find what it looks for in memory
    that was used before, or in what another test left.
    """
    kept = list(instance.tests)
    orders = [instance.tests, *draw_orders(instance.tests, _STUB_TIMES - 1, instance.id)]
    for count, kind in product(range(_STUB_TIMES), BODIES):
        tests = [test for test in orders[count] if test in kept]
        verdict = _judge(warm, instance, write_stub(node, kind), JudgeOptions(tests=tuple(tests)))
        failing = set(_those(verdict, Outcome.FAILED, Outcome.ERROR))
        why = f"passes on a stub that {kind}{' by chance' if count else ''}"
        found.dropped |= dict.fromkeys([test for test in kept if test not in failing], why)
        kept = [test for test in kept if test in failing]
        if len(kept) < LEAST_TESTS:
            what = f"{len(kept)} of {found.tried} tests fail when the function {kind.replace('_', ' ')}"
            raise _Rejected("tests_cannot_tell", what)
    found.tests = kept


def _repeat(warm: Warm, instance: Instance, found: Admission) -> None:
    """Five times, each in another order; what does not pass every time is dropped, and the rest must be most of it."""
    reference = _reference(warm, instance)

    def run(tests: list[str]) -> tuple[set[str], Verdict]:
        verdict = _judge(warm, instance, reference, JudgeOptions(tests=tuple(tests)))
        return set(tests) - set(_those(verdict, Outcome.PASSED)), verdict

    unsteady: dict[str, str] = {}
    for order in draw_orders(found.tests, TIMES, instance.id):
        tests = [test for test in found.tests if test not in unsteady]
        if len(tests) < LEAST_TESTS:
            break
        shuffled = [test for test in order if test not in unsteady]
        failing, verdict = run(shuffled)
        if verdict.status in _STOPPED:
            raise _Rejected(_STOPPED[verdict.status], verdict.message)
        if failing:
            # an order that breaks a test breaks it again, and the record's order does not
            is_order = run(shuffled)[0] == failing and not run(tests)[0]
            unsteady |= dict.fromkeys(failing, _ORDER if is_order else _FLAKY)
        found.seconds = max(found.seconds, verdict.test_seconds)
        found.memory_mb = max(found.memory_mb, verdict.memory_mb)
    found.dropped |= unsteady
    found.tests = [test for test in found.tests if test not in unsteady]
    count = sum(why in (_FLAKY, _ORDER) for why in found.dropped.values())
    if len(found.tests) < LEAST_TESTS or count > MOST_UNSTEADY * found.tried:
        reason = "order_dependent" if set(unsteady.values()) == {_ORDER} else "flaky"
        raise _Rejected(reason, f"{count} of {found.tried} tests do not always pass")
    if found.seconds > MOST_AT_ALL:
        raise _Rejected("too_slow", f"{found.seconds:.1f} s")
    if found.memory_mb > MOST_MEMORY_MB:
        raise _Rejected("too_large", f"{found.memory_mb:.0f} MiB")


def write_empty_answers(node: Function) -> dict[str, str]:
    """What passes for an answer where tests look at little more than that something came back."""
    header = render_signature(node, decorators=False)
    names = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
    own = [name for name in names if name not in ("self", "cls")]
    bodies = {"zero": "return 0", "an empty list": "return []", "the object itself": "return self"}
    if "self" not in names:
        bodies.pop("the object itself")
    if own:
        bodies["its first argument"] = f"return {own[0]}"
    return {what: f"{header}\n    {body}\n" for what, body in bodies.items()}


def _try_empty_answers(warm: Warm, instance: Instance, node: Function, found: Admission) -> None:
    terms = JudgeOptions(tests=tuple(found.tests), until_failure=True, seconds=_patience(found))
    for what, code in write_empty_answers(node).items():
        if _judge(warm, instance, code, terms).passed:
            raise _Rejected("empty_answer_passes", f"returning {what} passes every test")


def _kill_mutants(warm: Warm, instance: Instance, node: Function, found: Admission, most: int) -> None:
    terms = JudgeOptions(tests=tuple(found.tests), until_failure=True, seconds=_patience(found))
    for name, code in write_mutants(node, most):
        found.mutants += 1
        if _judge(warm, instance, code, terms).passed:
            found.survivors.append(name)
        else:
            found.killed += 1


def _patience(found: Admission) -> float:
    """A mutant that runs on and on is found out in a few times what the reference takes."""
    return max(2.0, 5 * found.seconds)
