"""On which terms is one candidate judged, where they are not the instance's own?"""

from dataclasses import dataclass, replace

from dlbench.dataset import Instance
from dlbench.execution.limits import Limits


@dataclass(frozen=True)
class Terms:
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


USUAL = Terms()
