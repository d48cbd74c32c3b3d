"""Which confinement does a candidate get? The strongest that works here; never none without the user's word."""

from functools import cache

from dlbench.errors import DLBenchError
from dlbench.execution.sandbox.base import Cell, Launch, Sandbox, open_cell, remove_leftovers
from dlbench.execution.sandbox.bubblewrap import Bubblewrap
from dlbench.execution.sandbox.landlock import Basic, Sandlock, Unconfined

__all__ = [
    "Cell",
    "Launch",
    "Sandbox",
    "choose_sandbox",
    "find_sandboxes",
    "open_cell",
    "remove_leftovers",
]


@cache
def _kinds() -> dict[str, Sandbox]:
    kinds: list[Sandbox] = [Bubblewrap(), Sandlock(), Basic(), Unconfined()]
    return {kind.name: kind for kind in kinds}


def find_sandboxes() -> list[tuple[Sandbox, str]]:
    """Every kind that confines, strongest first, with what stands in its way here."""
    return [(kind, kind.find_obstacle()) for kind in _kinds().values() if kind.confines]


def choose_sandbox(name: str = "auto") -> Sandbox:
    kinds = _kinds()
    if name != "auto":
        if name not in kinds:
            raise DLBenchError(f"there is no sandbox {name!r}", fix=f"use one of: auto, {', '.join(kinds)}")
        obstacle = kinds[name].find_obstacle()
        if obstacle:
            raise DLBenchError(f"the sandbox {name!r} cannot be used here: {obstacle}", fix="use --sandbox auto")
        return kinds[name]
    found = find_sandboxes()
    usable = [kind for kind, obstacle in found if not obstacle]
    if usable:
        return usable[0]
    reasons = "; ".join(f"{kind.name}: {obstacle}" for kind, obstacle in found)
    raise DLBenchError(
        f"there is no sandbox on this machine ({reasons})",
        fix="install bubblewrap; or, if you trust every candidate with your account, say --sandbox unconfined",
    )
