"""Are all answers of a file one model's, asked in one way?

Answers without numbers are counted through. Two models' in one file would become samples of one, which solves what
either of them solves: a score that nobody has.
"""

from collections.abc import Mapping
from typing import Any

from dlbench.errors import DLBenchError


class Origin:
    """What the records of one file say so far; those that say nothing go with any."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    def check(self, record: Mapping[str, Any], where: str) -> None:
        for key in ("model", "technique"):
            said = record.get(key)
            if isinstance(said, str) and self._said.setdefault(key, said) != said:
                raise DLBenchError(
                    f"an answer of another {key} than before: {said}, not {self._said[key]}",
                    where=where,
                    mend=f'give each {key} a file of its own; where they are meant as one, leave "{key}" out',
                )
