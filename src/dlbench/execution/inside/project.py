"""What of the project can be imported once, for all its instances?

The modules that every known instance imports before its tests run. They hold the references then, which each server
exchanges for its stand-in; a function that ran on import left something of itself, so it is noted which did.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from types import FrameType

from .taking import Called


def import_own(names: list[str], tree: str) -> Called:
    """Imports the project's modules and says which of its functions ran on the way."""
    called: Called = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(tree):
            called.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        for name in names:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return called
