"""One candidate in, one verdict out, in a new interpreter on the spliced file. This mode defines what a verdict is.

Slow, since every candidate pays for its imports, and plain: nothing of one execution can reach another. Faster modes
must agree with it.
"""

from dataclasses import dataclass, field

from dlbench.dataset import Instance
from dlbench.execution.answer import AnswerError
from dlbench.execution.confinement import Confinement, open_cell
from dlbench.execution.limits import Limits
from dlbench.execution.splice import splice
from dlbench.execution.supervise import Watched, supervise
from dlbench.execution.verdict import Outcome, Status, Verdict
from dlbench.workspace import Prepared

_MEMORY_SIGNS = ("MemoryError", "can't allocate memory", "bad_alloc", "Unable to allocate", "RESOURCE_EXHAUSTED")


@dataclass(frozen=True)
class Engine:
    """What every execution of a command has in common."""

    confinement: Confinement
    limits: Limits = field(default_factory=Limits)


def read_module(prepared: Prepared, instance: Instance) -> str:
    return (prepared.tree / instance.path).read_text(encoding="utf-8")


def judge(engine: Engine, prepared: Prepared, instance: Instance, code: str | None, sample: int = 0) -> Verdict:
    """The verdict on a piece of code; `None` judges the reference where it stands, unspliced."""
    source = None
    if code is not None:
        is_package = instance.path.endswith("__init__.py")
        try:
            text = read_module(prepared, instance)
            source = splice(text, instance.qualname, code, module=instance.module, is_package=is_package).source
        except AnswerError as error:
            return refuse(instance, sample, Status(error.status), error.message)
    limits = engine.limits.for_instance(instance)
    with open_cell(prepared, instance.path if source is not None else None, source, limits) as cell:
        watched = supervise(engine.confinement, cell, list(instance.tests))
    status, message, tests = _interpret(watched, instance, engine.confinement)
    return Verdict(
        instance=instance.id,
        sample=sample,
        status=status,
        tests=tests,
        seconds=watched.seconds,
        memory_mb=watched.memory_mb,
        message=message,
        sandbox=engine.confinement.name,
    )


def refuse(instance: Instance, sample: int, status: Status, message: str) -> Verdict:
    """A verdict on an answer whose code never ran."""
    return Verdict(instance.id, sample, status, dict.fromkeys(instance.tests, Outcome.NOT_RUN), message=message)


def _interpret(
    watched: Watched, instance: Instance, confinement: Confinement
) -> tuple[Status, str, dict[str, Outcome]]:
    tests = dict.fromkeys(instance.tests, Outcome.NOT_RUN)
    reports = [message for message in watched.of_kind("test") if message["id"] in tests]
    tests |= {message["id"]: Outcome(message["outcome"]) for message in reports}
    said = next((message["message"] for message in reports if message["message"]), "")
    ready = watched.of_kind("ready")
    collected = watched.of_kind("collected")
    if watched.forged:
        return Status.TAMPERED, watched.forged, dict.fromkeys(instance.tests, Outcome.NOT_RUN)
    if not ready:
        reason = watched.stopped_for or f"exit code {watched.exit_code}"
        return Status.HARNESS_ERROR, f"the sandbox did not start ({reason}): {watched.output[-2000:]}", tests
    if confinement.confines and (ready[0]["network"] or ready[0]["user"] == 0):
        return Status.HARNESS_ERROR, f"the sandbox {confinement.name} does not confine: {ready[0]}", tests
    if watched.stopped_for == "timeout":
        phase = "its tests ran" if collected else "it was imported"
        return Status.TIMEOUT, f"stopped after {watched.seconds:.0f} s while {phase}", tests
    if watched.stopped_for:
        what = {"memory": "more memory", "processes": "more processes"}[watched.stopped_for]
        return Status.OUT_OF_MEMORY, f"stopped: it took {what} than the limit", tests
    if not watched.of_kind("end"):
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
