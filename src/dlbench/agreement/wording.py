"""What have all requests of a run in common?"""

from dataclasses import dataclass

from dlbench.agreement.checks.asking import CHECKS


@dataclass(frozen=True)
class Wording:
    """What all requests have in common."""

    checks: int = CHECKS
    temperature: float = 0.0
    max_tokens: int = 1024
    seed: int = 0
    tokens: int = 6000
    """The most that a prompt has by estimate, 0 for any."""
    canary: str = ""
