"""How much may a candidate use before it is stopped?

Generous to honest code on a slow machine, tight enough that a hostile one costs seconds. Imports and collection have a
limit of their own, since importing a framework can take longer than any test.
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
