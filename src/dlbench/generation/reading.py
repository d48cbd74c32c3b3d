"""What one way of reading an answer has found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """`code` is None where there was something to read and it cannot be the answer: `reason` says why."""

    code: str | None
    reason: str
    cut: bool = False
