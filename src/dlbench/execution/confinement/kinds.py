"""What must every kind of confinement be able to say?

One small protocol: is it to be had on this machine, how strong is it, and how is a cell turned into a command. The rest
of the engine does not know which kind it uses; the kind's name stands in every verdict.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dlbench.execution.confinement.cell import Cell


@dataclass(frozen=True)
class Launch:
    """A command that runs the runner inside the cell, and what the runner must be told."""

    command: list[str]
    tree: Path
    temporary: Path
    writable: tuple[str, ...]
    user: int | None = None
    """The user to become once inside; None where the kind sees to it itself."""
    seccomp: bytes = b""
    readable: tuple[str, ...] = ()
    """Places that are readable inside folders which may not be listed."""


class Confinement(Protocol):
    name: str
    confines: bool
    """Whether it holds off the network; the runner tries, and a kind that promised and failed is not used."""
    warning: str
    """What a user should know of its weakness; empty where there is nothing to warn of."""

    def find_obstacle(self) -> str:
        """Why it cannot be used on this machine; empty where it can."""
        ...

    def launch(self, cell: Cell, channel: int) -> Launch: ...
