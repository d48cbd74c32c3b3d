"""Define the resource limits of an execution and the options of one judgement.

The limits are generous to honest code on a slow machine and tight enough that hostile code costs only seconds. Imports
and collection have their own limit, because importing a framework can take longer than any test.
"""

from dataclasses import dataclass, replace

from dlbench.dataset import Instance


@dataclass(frozen=True)
class Limits:
    load_seconds: float = 180.0
    test_seconds: float = 60.0
    memory_mb: int = 4096
    processes: int = 256
    open_files: int = 1024
    file_mb: int = 256
    disk_mb: int = 512
    cpus: int = 0
    """Processors of an agent; 0: all."""

    def for_instance(self, instance: Instance) -> "Limits":
        """Allow slow tests ten times the time of their reference."""
        known = instance.measures.seconds or 0.0
        return replace(self, test_seconds=max(self.test_seconds, 10 * known))

    def within(self, seconds: float) -> "Limits":
        return replace(self, test_seconds=seconds)


def allow_watching(limits: Limits) -> Limits:
    """Allow for the slowdown of closely watched tests."""
    return replace(limits, test_seconds=5 * limits.test_seconds)


@dataclass(frozen=True)
class JudgeOptions:
    tests: tuple[str, ...] = ()
    """A subset of the instance's tests, in this order; empty runs all of them in the record's order."""
    until_failure: bool = False
    """Stop at the first test that does not pass."""
    seconds: float | None = None
    """Time limit of all tests together."""
    imports: bool = False
    """Import the candidate even where it could be patched in place, to measure it like one that must be imported."""
    watched: bool = False
    """Watch the candidate even where its code is harmless, and run the tests with it before a replay, for the same
    reason."""
    requires_reference: bool = True
    """Report a harness error instead of judging a candidate of an instance whose reference does not pass here."""

    def narrow(self, instance: Instance) -> Instance:
        return instance.model_copy(update={"tests": self.tests}) if self.tests else instance

    def limit(self, limits: Limits) -> Limits:
        return limits if self.seconds is None else limits.within(self.seconds)


DEFAULT = JudgeOptions()
