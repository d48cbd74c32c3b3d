"""What does it mean, what was seen of an execution? The same for every mode."""

from collections.abc import Callable

from dlbench.dataset import Instance
from dlbench.execution.answer import AnswerError
from dlbench.execution.candidate import Candidate, Engine
from dlbench.execution.confinement import Confinement
from dlbench.execution.supervise import Watched
from dlbench.runs.verdict import Outcome, Status, Verdict
from dlbench.workspace import Prepared

_MEMORY_SIGNS = ("MemoryError", "can't allocate memory", "bad_alloc", "Unable to allocate", "RESOURCE_EXHAUSTED")
_ATTEMPTS = 5
_KILLED = (-9, 128 + 9)
_TOLD = (Outcome.FAILED, Outcome.ERROR)
_LONGEST = 400


def judge_by(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    code: str | None,
    sample: int,
    run: Callable[[Candidate | None], Watched],
) -> Verdict:
    candidate = None
    if code is not None:
        try:
            candidate = engine.asked(prepared, instance).read(code)
        except AnswerError as error:
            return refuse(instance, sample, Status(error.status), error.message)
        if candidate.forbidden:
            why = f"the code reaches for {candidate.forbidden}, which no solution needs"
            return refuse(instance, sample, Status.TAMPERED, why)
    watched = run_undisturbed(lambda: run(candidate))
    status, message, tests = interpret(watched, instance, engine.confinement)
    reports = watched.messages.of_kind("test")
    return Verdict(
        instance=instance.id,
        sample=sample,
        status=status,
        tests=tests,
        seconds=watched.seconds,
        test_seconds=sum(report["seconds"] for report in reports),
        processor_seconds=sum(report["processor"] for report in reports),
        memory_mb=watched.memory_mb,
        message=message,
        sandbox=engine.confinement.name,
        mode=watched.mode,
        extra=_keep_errors(watched, tests),
    )


def _keep_errors(watched: Watched, tests: dict[str, Outcome]) -> dict[str, dict[str, str]]:
    """By test, in a line or two, what went wrong; of the few tests whose failure the runner told."""
    failed = [report for report in watched.messages.of_kind("test") if tests.get(report["id"]) in _TOLD]
    errors = {report["id"]: shorten_failure(report["message"]) for report in failed if report["message"]}
    return {"errors": errors} if errors else {}


def shorten_failure(message: str) -> str:
    """The lines of a traceback that say what was wrong, without those that show code."""
    lines = message.strip().splitlines()
    told = [line[1:].strip() for line in lines if line.startswith("E ")] or lines[-1:]
    return "\n".join(told)[:_LONGEST]


def run_undisturbed(run: Callable[[], Watched]) -> Watched:
    """Again, where the machine killed it; a candidate that kills itself does so every time."""
    watched = run()
    for _ in range(_ATTEMPTS - 1):
        if not _was_killed(watched):
            break
        watched = run()
    return watched


def _was_killed(watched: Watched) -> bool:
    """By a signal that cannot be caught, and not by us: the machine did it, or the candidate does it every time."""
    is_told = any(watched.messages.of_kind(kind) for kind in ("end", "tampered"))
    return watched.exit_code in _KILLED and not (watched.stopped_for or watched.messages.forged or is_told)


def refuse(instance: Instance, sample: int, status: Status, message: str) -> Verdict:
    """A verdict on an answer whose code never ran."""
    return Verdict(instance.id, sample, status, dict.fromkeys(instance.tests, Outcome.NOT_RUN), message=message)


def interpret(watched: Watched, instance: Instance, confinement: Confinement) -> tuple[Status, str, dict[str, Outcome]]:
    tests = dict.fromkeys(instance.tests, Outcome.NOT_RUN)
    messages = watched.messages
    reports = [message for message in messages.of_kind("test") if message["id"] in tests]
    tests |= {message["id"]: Outcome(message["outcome"]) for message in reports}
    said = next((message["message"] for message in reports if message["message"]), "")
    ready = messages.of_kind("ready")
    collected = messages.of_kind("collected")
    nothing = dict.fromkeys(instance.tests, Outcome.NOT_RUN)
    if watched.lost:
        return Status.HARNESS_ERROR, watched.lost, nothing
    if messages.forged:
        return Status.TAMPERED, messages.forged, nothing
    if messages.of_kind("tampered"):
        return Status.TAMPERED, messages.of_kind("tampered")[0]["why"], nothing
    if not ready:
        reason = watched.stopped_for or f"exit code {watched.exit_code}"
        return Status.HARNESS_ERROR, f"the sandbox did not start ({reason}): {watched.output[-2000:]}", tests
    if confinement.confines and (ready[0]["network"] or ready[0]["user"] == 0):
        return Status.HARNESS_ERROR, f"the sandbox {confinement.name} does not confine: {ready[0]}", tests
    if messages.of_kind("unguarded"):
        why = "a plugin of pytest imports the module before anybody can look at what it does"
        return Status.HARNESS_ERROR, why, tests
    if watched.stopped_for == "timeout":
        phase = "its tests ran" if collected else "it was imported"
        return Status.TIMEOUT, f"stopped after {watched.seconds:.0f} s while {phase}", tests
    if watched.stopped_for:
        what = {"memory": "more memory", "processes": "more processes"}[watched.stopped_for]
        return Status.OUT_OF_MEMORY, f"stopped: it took {what} than the limit", tests
    if not messages.of_kind("end"):
        died = f"the process ended (exit code {watched.exit_code}) before its tests did"
        return Status.ERROR, f"{died}: {said or watched.output[-1000:]}".strip(": "), tests
    if all(outcome is Outcome.PASSED for outcome in tests.values()):
        return Status.PASS, "", tests
    if any(sign in said for sign in _MEMORY_SIGNS):
        return Status.OUT_OF_MEMORY, said, tests
    if not reports:
        errors = collected[0]["errors"] if collected else []
        return Status.ERROR, "\n".join(errors)[:2000] or watched.output[-2000:], tests
    return Status.FAIL, said, tests
