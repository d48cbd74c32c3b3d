"""How much may a candidate use before it is stopped?

Generous to honest code on a slow machine, tight enough that a hostile one costs seconds. Imports and collection have a
limit of their own, since importing a framework can take longer than any test.

On which terms is one candidate judged, where they are not the instance's own?
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

    def for_instance(self, instance: Instance) -> "Limits":
        """Tests that are slow by nature get ten times what their reference took."""
        known = instance.measures.seconds or 0.0
        return replace(self, test_seconds=max(self.test_seconds, 10 * known))


def allow_watching(limits: Limits) -> Limits:
    """Tests that are watched closely take several times as long."""
    return replace(limits, test_seconds=5 * limits.test_seconds)


@dataclass(frozen=True)
class JudgeOptions:
    tests: tuple[str, ...] = ()
    """Some of the instance's tests, in some order; none named are all of them, in the record's order."""
    until_failure: bool = False
    """Whoever only asks whether anything fails need not wait for the rest."""
    seconds: float | None = None
    """For the tests together."""
    imports: bool = False
    """Imported even where it could be taken in place, as another that it is measured beside must be."""
    watched: bool = False
    """Watched even where its code gives no cause, for the same reason."""

    def narrow(self, instance: Instance) -> Instance:
        return instance.model_copy(update={"tests": self.tests}) if self.tests else instance

    def limit(self, limits: Limits) -> Limits:
        return limits if self.seconds is None else replace(limits, test_seconds=self.seconds)


DEFAULT = JudgeOptions()
