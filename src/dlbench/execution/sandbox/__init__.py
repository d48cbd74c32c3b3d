"""Choose the sandbox that confines candidates: the strongest that works here, and never none unless requested."""

from dlbench.errors import DLBenchError
from dlbench.execution.sandbox.base import SANDBOXES, Cell, Launch, Sandbox, open_cell, remove_leftovers

__all__ = ["Cell", "Launch", "Sandbox", "choose_sandbox", "find_sandboxes", "open_cell", "remove_leftovers"]


def find_sandboxes() -> list[tuple[Sandbox, str]]:
    """Every sandbox that confines, strongest first, with the reason why it cannot be used here, or "" if it can."""
    return [(sandbox, sandbox.find_obstacle()) for sandbox in SANDBOXES.values() if sandbox.confines]


def choose_sandbox(name: str = "auto") -> Sandbox:
    if name != "auto":
        sandbox = SANDBOXES.find(name)
        obstacle = sandbox.find_obstacle()
        if obstacle:
            raise DLBenchError(f"the sandbox {name!r} cannot be used here: {obstacle}", fix="use --sandbox auto")
        return sandbox
    found = find_sandboxes()
    for sandbox, obstacle in found:
        if not obstacle:
            return sandbox
    reasons = "; ".join(f"{sandbox.name}: {obstacle}" for sandbox, obstacle in found)
    raise DLBenchError(
        f"there is no sandbox on this machine ({reasons})",
        fix="install bubblewrap; or, if you trust every candidate with your account, use --sandbox unconfined",
    )
