"""What does one piece of evidence speak for, and how loudly?"""

from dataclasses import dataclass

from dlbench.analysis.bugs.categories import OTHER

DECISIVE, STRONG, MIDDLING, WEAK, HINT = 10.0, 7.0, 4.0, 2.0, 1.0
"""An error that can have but one cause; a change that is nearly always of one kind; …; what only breaks a tie."""


@dataclass(frozen=True)
class Mark:
    category: str
    points: float
    reason: str
    kind: str = OTHER
