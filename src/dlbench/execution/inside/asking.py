"""Is it the candidate's own code that asks for this, or a library on its way?

Libraries look at frames, code objects and modules honestly, called by a candidate or not. So what counts is who asks:
the nearest code that names what is asked for. Code that was handed the function to call, and code that exists to hand
on what it finds (`inspect`), is looked through.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import CodeType, FrameType

HAND_ON = (
    "inspect",
    "traceback",
    "operator",
    "functools",
    "cgitb",
    "bdb",
    "pdb",
    "code",
    "trace",
    "runpy",
    "importlib",
)
"""Modules of the standard library that give their caller what they find."""

Mine = Callable[[CodeType], bool]
Asks = Callable[[FrameType, str, bool], bool]


def recognise(filename: str, ranges: list[tuple[int, int]]) -> Mine:
    """Is this code the candidate's? By file, and by lines where the file has other code too."""
    cut = [tuple(pair) for pair in ranges]

    def is_mine(code: CodeType) -> bool:
        if code.co_filename != filename:
            return False
        return not cut or any(first <= code.co_firstlineno <= last for first, last in cut)

    return is_mine


def make_asks(is_mine: Mine, filename: str, ranges: list[tuple[int, int]]) -> Asks:
    """A function of a frame and a name: did the candidate ask for the name there?"""
    library = os.path.dirname(os.__file__)
    hand_on = {os.path.join(library, f"{name}.py") for name in HAND_ON}
    hand_on |= {os.path.join(library, name, "__init__.py") for name in ("ctypes", "importlib")}

    shows_lines = {os.path.join(library, f"{name}.py") for name in ("warnings", "traceback")}
    shows_lines.add(os.path.join(library, "logging", "__init__.py"))

    def runs_mine(frame: FrameType) -> bool:
        """Also the candidate's lines at the top of a module, whose code begins elsewhere."""
        if frame.f_code.co_filename != filename:
            return False
        return is_mine(frame.f_code) or any(first <= (frame.f_lineno or 0) <= last for first, last in ranges)

    def keeps_to_itself(file: str, name: str) -> bool:
        """These give their caller texts and values, and not what they looked at."""
        if file.endswith("traceback.py"):
            return name == "tb_frame"
        return file.endswith("inspect.py") and name in {"__defaults__", "__kwdefaults__"}

    def asks(start: FrameType, name: str, strictly: bool) -> bool:
        frame: FrameType | None = start
        handed_on = False
        while frame is not None:
            code = frame.f_code
            if runs_mine(frame):
                return True
            file = code.co_filename
            if name == "\0open" and file in shows_lines:
                return False  # a warning or a log line looks up the source line it came from
            is_made_up = file[:1] == "<" and file[:7] != "<frozen"
            if file in hand_on and not keeps_to_itself(file, name):
                handed_on = True
            elif not is_made_up and (handed_on or strictly or name in code.co_names):
                return False
            frame = frame.f_back
        return False

    return asks
