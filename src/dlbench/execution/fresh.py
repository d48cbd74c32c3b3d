"""One candidate in, one verdict out, in a new interpreter on the spliced file. This mode defines what a verdict is.

Slow, since every candidate pays for its imports, and plain: nothing of one execution can reach another. Faster modes
must agree with it.

What does it mean, what was seen of an execution? The same for every mode.
"""

from collections.abc import Callable

from dlbench.dataset import Instance
from dlbench.execution.answer import AnswerError
from dlbench.execution.engine import Candidate, Engine
from dlbench.execution.launch import describe_candidate, describe_instance, describe_options, describe_profiling
from dlbench.execution.limits import DEFAULT, JudgeOptions, allow_watching
from dlbench.execution.sandbox import Confinement, open_cell
from dlbench.execution.supervise import Observation, supervise
from dlbench.runs.verdict import Outcome, Status, Verdict
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
    terms: JudgeOptions = DEFAULT,
) -> Observation:
    """`None` runs the reference where it stands, unspliced. `learn`: the reference's own questions are noted."""
    limits = terms.limit(engine.limits.for_instance(instance))
    source = candidate.spliced.source if candidate is not None else None
    ranges = candidate.spliced.ranges if candidate is not None else []
    watch = candidate is not None and (candidate.is_watched or terms.watched)
    classes = candidate.classes if candidate is not None else []
    job = describe_instance(prepared, terms.narrow(instance), hides=hides, shows_module=True)
    job |= describe_candidate(ranges=ranges, watch=watch, classes=classes, allowed=allowed)
    job |= describe_options(terms)
    if learn:
        limits = allow_watching(limits)
        job |= describe_profiling(engine.target_lines(prepared, instance))
    with open_cell(prepared, instance.path if source is not None else None, source, limits) as cell:
        return supervise(engine.confinement, cell, job)


_MEMORY_SIGNS = ("MemoryError", "can't allocate memory", "bad_alloc", "Unable to allocate", "RESOURCE_EXHAUSTED")
_ATTEMPTS = 5
_KILLED = (-9, 128 + 9)
_TOLD = (Outcome.FAILED, Outcome.ERROR)
_LONGEST = 400


def judge_with(
    engine: Engine,
    prepared: Prepared,
    instance: Instance,
    code: str | None,
    sample: int,
    run: Callable[[Candidate | None], Observation],
) -> Verdict:
    candidate = None
    if code is not None:
        try:
            candidate = engine.asked(prepared, instance).read(code)
        except AnswerError as error:
            return reject(instance, sample, Status(error.status), error.message)
        if candidate.forbidden:
            why = f"the code reaches for {candidate.forbidden}, which no solution needs"
            return reject(instance, sample, Status.TAMPERED, why)
    watched = retry_if_killed(lambda: run(candidate))
    status, message, tests = to_status(watched, instance, engine.confinement)
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


def _keep_errors(watched: Observation, tests: dict[str, Outcome]) -> dict[str, dict[str, str]]:
    """By test, in a line or two, what went wrong; of the few tests whose failure the runner told."""
    failed = [report for report in watched.messages.of_kind("test") if tests.get(report["id"]) in _TOLD]
    errors = {report["id"]: shorten_failure(report["message"]) for report in failed if report["message"]}
    return {"errors": errors} if errors else {}


def shorten_failure(message: str) -> str:
    """The lines of a traceback that say what was wrong, without those that show code."""
    lines = message.strip().splitlines()
    told = [line[1:].strip() for line in lines if line.startswith("E ")] or lines[-1:]
    return "\n".join(told)[:_LONGEST]


def retry_if_killed(run: Callable[[], Observation]) -> Observation:
    """Again, where the machine killed it; a candidate that kills itself does so every time."""
    watched = run()
    for _ in range(_ATTEMPTS - 1):
        if not _was_killed(watched):
            break
        watched = run()
    return watched


def _was_killed(watched: Observation) -> bool:
    """By a signal that cannot be caught, and not by us: the machine did it, or the candidate does it every time."""
    is_told = any(watched.messages.of_kind(kind) for kind in ("end", "tampered"))
    return watched.exit_code in _KILLED and not (watched.stopped_for or watched.messages.forged or is_told)


def reject(instance: Instance, sample: int, status: Status, message: str) -> Verdict:
    """A verdict on an answer whose code never ran."""
    return Verdict(instance.id, sample, status, dict.fromkeys(instance.tests, Outcome.NOT_RUN), message=message)


def to_status(
    watched: Observation, instance: Instance, confinement: Confinement
) -> tuple[Status, str, dict[str, Outcome]]:
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
