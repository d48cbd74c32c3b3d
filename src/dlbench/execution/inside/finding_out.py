"""What happens when a candidate is found out, and how is nothing of the judge found by it?"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable

from .channel import Send


def make_tampered(send: Send, allowed: list[str], *, learn: bool) -> tuple[Callable[[str], None], set[str]]:
    """What to do when a candidate is found out. What the reference does itself is allowed; learning it ends nothing."""
    known = set(allowed)
    leave = os._exit

    def tampered(why: str) -> None:
        if why in known:
            return
        if learn:
            known.add(why)
            return
        send("tampered", why=why)
        leave(0)

    return tampered, known


def find_us() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] == "inside"]


def forget_us(names: list[str]) -> None:
    """Nothing of this package is found by name any more."""
    for name in names:
        sys.modules.pop(name, None)
    sys.modules["__main__"] = types.ModuleType("__main__")
