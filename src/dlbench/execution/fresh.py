"""Judge a candidate in a new interpreter on the spliced file, and map an observed execution to a verdict status.

Fresh mode defines a verdict: it is slow, and no execution can affect another. The other modes must agree with it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dlbench.dataset import Instance
from dlbench.execution.answer import AnswerError
from dlbench.execution.engine import Candidate, Engine
from dlbench.execution.inside.channel import CONTROL_AFTER, CONTROL_BEFORE, OUTCOMES
from dlbench.execution.launch import describe_candidate, describe_instance, describe_profiling
from dlbench.execution.limits import DEFAULT, JudgeOptions, allow_watching
from dlbench.execution.sandbox import Sandbox, open_cell
from dlbench.execution.supervise import Observation, supervise
from dlbench.runs.verdict import Confirm, Outcome, Status, Verdict
from dlbench.workspace import Prepared


def run_fresh(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    candidate: Candidate | None,
    *,
    allowed: tuple[str, ...] = (),
    hides: bool = True,
    learn: bool = False,
    options: JudgeOptions = DEFAULT,
) -> Observation:
    """Run a candidate, or the unspliced reference for None. `learn`: profile the reference."""
    limits = options.limit(engine.limits.for_instance(instance))
    job = describe_instance(prepared, options.narrow(instance), hides=hides, shows_module=True)
    job |= describe_candidate(candidate, allowed, options)
    if learn:
        limits = allow_watching(limits)
        job |= describe_profiling(engine.target(prepared, instance).lines)
    path, source = (instance.path, candidate.spliced.source) if candidate is not None else (None, None)
    with open_cell(prepared, path, source, limits) as cell:
        return supervise(engine.confinement, cell, job)


_ALLOCATION_FAILURES = ("can't allocate memory", "bad_alloc", "Unable to allocate", "RESOURCE_EXHAUSTED")
"""How C++ libraries report it, in a RuntimeError."""
ATTEMPTS = 5
_KILLED = (-9, 128 + 9)
_LONGEST = 400


@dataclass(frozen=True)
class Doubt:
    """Why a pass could not be confirmed by replay."""

    why: str
    is_failure: bool
    """Whether the reference can be replayed in the same way: then the doubt is about the candidate."""
    failed: Observation | None = None
    """Of tests that judged what the candidate returned, and failed."""


Replay = Callable[[Candidate], Observation | Doubt]
"""Runs the tests on replayed results of a candidate. Without a doubt, they have passed."""


class ReferenceFailed(Exception):
    """The reference does not pass on this machine, so no candidate can be judged."""


def judge_with(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    options: JudgeOptions,
    code: str | None,
    sample: int,
    run: Callable[[Candidate | None], Observation],
    replay: Replay,
) -> Verdict:
    """Unusual code is replayed first. If that confirms it, or if the tests fail on its data and not on the reference's,
    it never runs beside the tests.

    Ordinary code whose run looked like tampering is replayed afterwards, and passes if its data is right."""
    instance = options.narrow(instance)
    try:
        candidate = engine.target(prepared, instance).read(code) if code is not None else None
    except AnswerError as error:
        return reject(instance, sample, Status(error.status), error.message)
    doubt: Doubt | None = None
    try:
        is_suspect = candidate is not None and (bool(candidate.excess) or engine.confirm is Confirm.ALL)
        if candidate is not None and is_suspect and not options.watched:
            replayed = replay(candidate)
            if isinstance(replayed, Observation):
                return _to_verdict(engine, instance, sample, replayed, is_replay=True)
            if candidate.excess and replayed.is_failure and replayed.failed is not None:
                return _to_verdict(engine, instance, sample, replayed.failed, is_replay=True)
            doubt = replayed
        observation = retry_if_killed(lambda: run(candidate))
        verdict = _to_verdict(engine, instance, sample, observation)
        if candidate is None or verdict.status not in (Status.PASS, Status.TAMPERED) or observation.messages.forged:
            return verdict
        handed_out = [f"it hands out {one['what']}" for one in observation.messages.of_kind("handed_out")]
        excess = [*candidate.excess, *handed_out]
        if verdict.passed and not excess and not is_suspect:
            return verdict
        if doubt is None:
            replayed = replay(candidate)
            if isinstance(replayed, Observation):
                passed = dict.fromkeys(verdict.tests, Outcome.PASSED)
                return replace(verdict, status=Status.PASS, tests=passed, message="", extra={"confirmed": True})
            doubt = replayed
    except ReferenceFailed as error:
        why = f"the reference does not pass on this machine: {error}"
        return reject(instance, sample, Status.HARNESS_ERROR, why)
    return _note_doubt(verdict, excess, doubt)


def _to_verdict(
    engine: Engine, instance: Instance, sample: int, observation: Observation, *, is_replay: bool = False
) -> Verdict:
    status, message, tests = to_status(observation, instance, engine.confinement, is_replay=is_replay)
    reports = observation.messages.of_kind("test")
    # the runner sends the messages of the first few failures only
    failed = [report for report in reports if tests.get(report["id"]) in (Outcome.FAILED, Outcome.ERROR)]
    errors = {report["id"]: _shorten_failure(report["message"]) for report in failed if report["message"]}
    return Verdict(
        instance=instance.id,
        sample=sample,
        status=status,
        tests=tests,
        seconds=observation.seconds,
        test_seconds=sum(report["seconds"] for report in reports),
        processor_seconds=sum(report["processor"] for report in reports),
        durations={report["id"]: report["seconds"] for report in reports},
        memory_mb=observation.memory_mb,
        message=message,
        sandbox=engine.confinement.name,
        mode=observation.mode,
        extra={"confirmed": True} if is_replay and status is Status.PASS else {"errors": errors} if errors else {},
    )


def _note_doubt(verdict: Verdict, excess: list[str], doubt: Doubt) -> Verdict:
    """A pass of ordinary code stays one if the reference cannot be replayed either."""
    if verdict.status is Status.TAMPERED:
        return verdict
    if not excess and not doubt.is_failure:
        return replace(verdict, extra=verdict.extra | {"confirmed": False, "doubt": doubt.why})
    why = f"the code is unusual ({', '.join(excess[:5])})" if excess else "every pass is to be confirmed"
    # as after tampering, no outcome of a test counts
    not_run = dict.fromkeys(verdict.tests, Outcome.NOT_RUN)
    return replace(verdict, status=Status.UNCONFIRMED, tests=not_run, message=f"{why}, and {doubt.why}")


def _read_errors(failure: str) -> list[str]:
    """The error lines of a traceback, without the lines that show code."""
    return [line[1:].strip() for line in failure.splitlines() if line.startswith("E ")]


def _shorten_failure(failure: str) -> str:
    return "\n".join(_read_errors(failure) or failure.strip().splitlines()[-1:])[:_LONGEST]


def retry_if_killed(run: Callable[[], Observation]) -> Observation:
    """Run again if the machine killed it. A candidate that kills itself does so every time."""
    for _ in range(ATTEMPTS):
        observation = run()
        if not was_killed(observation):
            break
    return observation


def was_killed(observation: Observation) -> bool:
    """Whether SIGKILL ended it, and not ours: the machine sent it, or the candidate does so every time."""
    has_ended = any(observation.messages.of_kind(kind) for kind in ("end", "tampered"))
    is_ours = observation.stopped_for or observation.messages.forged or has_ended
    return observation.exit_code in _KILLED and not is_ours


def reject(instance: Instance, sample: int, status: Status, message: str) -> Verdict:
    """The verdict on an answer whose code did not run."""
    return Verdict(instance.id, sample, status, dict.fromkeys(instance.tests, Outcome.NOT_RUN), message=message)


def to_status(
    observation: Observation, instance: Instance, confinement: Sandbox, *, is_replay: bool = False
) -> tuple[Status, str, dict[str, Outcome]]:
    """`is_replay`: no candidate entered the process, which was not guarded therefore."""
    nothing = dict.fromkeys(instance.tests, Outcome.NOT_RUN)
    messages = observation.messages
    reports = [message for message in messages.of_kind("test") if message["id"] in nothing]
    ranks: dict[str, int] = {}
    controls: list[int] = []
    for message in messages.of_kind("outcome"):
        if message["id"] in nothing:
            ranks[message["id"]] = max(message["rank"], ranks.get(message["id"], 0))
        else:
            controls.append(message["rank"])
    # a test that ended without a report of itself has failed in its setup or teardown
    tests = nothing | {message["id"]: Outcome(OUTCOMES[ranks.get(message["id"], -1)]) for message in reports}
    failure = next((message["message"] for message in reports if message["message"]), "")
    ready = messages.of_kind("ready")
    collected = messages.of_kind("collected")
    if messages.forged:
        return Status.TAMPERED, messages.forged, nothing
    if messages.of_kind("tampered"):
        return Status.TAMPERED, messages.of_kind("tampered")[0]["why"], nothing
    if wrong := find_wrong_control(controls):
        return Status.TAMPERED, wrong, nothing
    if failure_of_sandbox := find_sandbox_failure(observation, ready[0] if ready else None, confinement):
        return Status.HARNESS_ERROR, failure_of_sandbox, tests
    if messages.of_kind("unguarded"):
        return Status.HARNESS_ERROR, "a pytest plugin imports the module before it can be guarded", tests
    if observation.stopped_for == "timeout":
        phase = "running its tests" if collected else "importing it"
        return Status.TIMEOUT, f"stopped after {observation.seconds:.0f} s while {phase}", tests
    if observation.stopped_for:
        return Status.OUT_OF_MEMORY, f"stopped: it used more {observation.stopped_for} than the limit", tests
    if not messages.of_kind("end"):
        died = f"the process ended (exit code {observation.exit_code}) before its tests did"
        return Status.ERROR, f"{died}: {failure or observation.output[-1000:]}".strip(": "), tests
    if all(outcome is Outcome.PASSED for outcome in tests.values()):
        failed = find_failed_guard(controls, is_checked=bool(messages.of_kind("checked")))
        if failed and not is_replay:
            return Status.TAMPERED, failed, nothing
        return Status.PASS, "", tests
    if is_memory_failure(failure):
        return Status.OUT_OF_MEMORY, failure, tests
    if not reports:
        errors = collected[0]["errors"] if collected else []
        return Status.ERROR, "\n".join(errors)[:2000] or observation.output[-2000:], tests
    return Status.FAIL, failure, tests


def find_wrong_control(controls: Sequence[int]) -> str:
    """Which control test, of those that have run, had another outcome than it must; empty if none."""
    for rank, right in zip(controls, CONTROL_BEFORE + CONTROL_AFTER, strict=False):
        if rank != right:
            return f"a control test should have {OUTCOMES[right]} and did not"
    return ""


def find_failed_guard(controls: Sequence[int], *, is_checked: bool) -> str:
    """Why the outcomes of a process that ended do not count; empty if they do."""
    is_complete = is_checked and len(controls) == len(CONTROL_BEFORE + CONTROL_AFTER)
    return find_wrong_control(controls) or ("" if is_complete else "not everything that guards the tests has run")


def find_sandbox_failure(observation: Observation, ready: dict[str, Any] | None, confinement: Sandbox) -> str:
    """Why nothing can be judged here; empty if the sandbox confines."""
    if ready is None:
        reason = observation.stopped_for or f"exit code {observation.exit_code}"
        return f"the sandbox did not start ({reason}): {observation.output[-2000:]}"
    if confinement.confines and (ready["network"] or ready["user"] == 0):
        return f"the sandbox {confinement.name} does not confine: {ready}"
    return ""


def is_memory_failure(failure: str) -> bool:
    """Whether the exception of a test, or its cause, is a failed allocation. Only its type and the message of an
    allocator count: a test may well fail with a text that mentions memory."""
    errors = _read_errors(failure)
    for error in [*errors[:1], *(line.removeprefix("caused by ") for line in errors if line.startswith("caused by "))]:
        name, _, message = error.partition(":")
        if name.endswith(("MemoryError", "ResourceExhaustedError")) and " " not in name:
            return True
        if name.endswith("RuntimeError") and any(sign in message for sign in _ALLOCATION_FAILURES):
            return True
    return False
