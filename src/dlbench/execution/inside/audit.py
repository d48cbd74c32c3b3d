"""What may a candidate's own code not ask for, and what happens when it does?

Frames, other objects' memory, the collector's lists, traces, code made from nothing, the tests' modules, pytest's: no
solution needs any of it, and every way to the judge or to the expected values leads through it. The interpreter's audit
events cannot be switched off, and say when it is asked for; modules say it themselves. The first such question ends the
process with the verdict `tampered`.

Is it the candidate's own code that asks for this, or a library on its way?

Libraries look at frames, code objects and modules honestly, called by a candidate or not. So what counts is who asks:
the nearest code that names what is asked for. Code that was handed the function to call, and code that exists to hand
on what it finds (`inspect`), is looked through.

What happens when a candidate is found out, and how is nothing of the judge found by it?
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import types
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from .channel import Send

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

IsCandidateCode = Callable[[CodeType], bool]
IsCandidateAccess = Callable[[FrameType, str, bool], bool]


def recognise(filename: str, ranges: list[tuple[int, int]]) -> IsCandidateCode:
    """Is this code the candidate's? By file, and by lines where the file has other code too."""
    cut = [tuple(pair) for pair in ranges]

    def is_mine(code: CodeType) -> bool:
        if code.co_filename != filename:
            return False
        return not cut or any(first <= code.co_firstlineno <= last for first, last in cut)

    return is_mine


def make_access_check(is_mine: IsCandidateCode, filename: str, ranges: list[tuple[int, int]]) -> IsCandidateAccess:
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


Tampered = Callable[[str], None]

_ALWAYS = {
    "sys._current_frames", "sys._current_exceptions", "sys.settrace", "sys.setprofile", "sys.addaudithook",
    "gc.get_objects", "gc.get_referrers", "gc.get_referents", "code.__new__", "function.__new__", "marshal.loads",
    "sys.set_asyncgen_hooks_firstiter", "sys.set_asyncgen_hooks_finalizer", "cpython.PyInterpreterState_New",
}  # fmt: skip
_FRAMES = {"tb_frame", "gi_frame", "cr_frame", "ag_frame", "__defaults__", "__kwdefaults__"}
_SET = {"__code__", "__defaults__", "__kwdefaults__"}
_GUARDED = (
    "pytest",
    "_pytest",
    "pluggy",
    "unittest",
    "ctypes",
    "_ctypes",
    "_testcapi",
    "_testinternalcapi",
)


FORBIDDEN = (
    *("__globals__", "__closure__", "cell_contents", "__builtins__", "tb_frame", "gi_frame", "cr_frame", "ag_frame"),
    *("_getframe", "_current_frames", "_pytest"),
)
"""No solution spells these; an answer that does is found out before it runs, or when it makes code that does."""


def find_guarded(hidden: list[str]) -> list[tuple[str, types.ModuleType]]:
    """Modules that only pytest, the tests and libraries may look into."""
    files = set(hidden)
    plain = [(name, module) for name, module in list(sys.modules.items()) if type(module) is types.ModuleType]
    return [
        (name, module)
        for name, module in plain
        if name.partition(".")[0] in _GUARDED or vars(module).get("__file__") in files
    ]


def install(asks: IsCandidateAccess, tampered: Tampered, hidden: list[str], arm: Activate) -> None:
    """From here on a candidate that asks is found out."""
    arm(asks, tampered)
    _guard_signals(asks, tampered)
    sys.addaudithook(_make_hook(asks, tampered, hidden))


def _make_hook(
    asks: IsCandidateAccess, tampered: Tampered, hidden: list[str]
) -> Callable[[str, tuple[Any, ...]], None]:
    getframe = sys._getframe
    here = getframe(0).f_code.co_filename
    looking = False
    files = set(hidden)
    names = {path.rpartition("/")[2] for path in hidden}

    def asked(name: str, *, strictly: bool = False) -> bool:
        nonlocal looking
        looking = True  # looking at frames is itself an event
        try:
            start = getframe(2)
            return start.f_code.co_filename != here and asks(start, name, strictly)
        finally:
            looking = False

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if looking:
            return
        what = ""
        if event == "sys._getframe":
            what = "a frame" if asked("_getframe") else ""
        elif event == "object.__getattr__":
            name = arguments[1]
            what = f"{name} of {type(arguments[0]).__name__}" if name in _FRAMES and asked(name) else ""
        elif event in {"object.__setattr__", "object.__delattr__"}:
            name = arguments[1]
            what = f"to change {name}" if name in _SET and asked(name) else ""
        elif event in _ALWAYS:
            what = event if asked(event.rpartition(".")[2]) else ""
        elif event.startswith("ctypes."):
            what = event if asked("", strictly=True) else ""
        elif event == "compile":
            source, file = arguments[:2]
            named = isinstance(file, str) and file[:1] != "<"
            text = source.decode("utf-8", "replace") if isinstance(source, bytes) else source
            readable = isinstance(text, str) and not any(word in text for word in FORBIDDEN)
            if (named or not readable) and asked("compile"):
                what = "to compile code that reaches for the judge, or under a file's name"
        elif event == "open":
            path = arguments[0]
            if isinstance(path, str) and path.rpartition("/")[2] in names and os.path.abspath(path) in files:
                what = f"the file {path.rpartition('/')[2]}" if asked("\0open") else ""
        if what:
            tampered(f"the candidate asked for {what}")

    return hook


Activate = Callable[[IsCandidateAccess, Tampered], None]


def guard_modules(guarded: list[tuple[str, types.ModuleType]]) -> Activate:
    """A module's own functions use its names as ever; only an access from outside is looked at, once armed."""
    getframe = sys._getframe
    read, write = types.ModuleType.__getattribute__, types.ModuleType.__setattr__
    harmless = frozenset({"__class__", "__name__", "__spec__", "__file__", "__path__", "__loader__", "__package__"})
    asks: IsCandidateAccess = lambda frame, name, strictly: False  # noqa: E731 - until somebody is there to ask
    tampered: Tampered = lambda why: None  # noqa: E731

    def arm(new_asks: IsCandidateAccess, new_tampered: Tampered) -> None:
        nonlocal asks, tampered
        asks, tampered = new_asks, new_tampered

    class Guarded(types.ModuleType):
        """A module itself, or what stands for it in the table of modules, where nobody finds its own dictionary."""

        def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - whatever the module holds
            module = real.get(id(self), self)
            if name not in harmless and asks(getframe(1), name, False):
                tampered(f"the candidate reached for {name} of the module {read(module, '__name__')}")
            return read(module, name)

        def __setattr__(self, name: str, value: object) -> None:
            module = real.get(id(self), self)
            if asks(getframe(1), name, False):
                tampered(f"the candidate tried to change {name} of the module {read(module, '__name__')}")
            write(module, name, value)

        def __delattr__(self, name: str) -> None:
            types.ModuleType.__delattr__(real.get(id(self), self), name)

        def __dir__(self) -> list[str]:
            return sorted(read(real.get(id(self), self), "__dict__"))

    real: dict[int, types.ModuleType] = {}
    Guarded.__name__ = Guarded.__qualname__ = "module"
    for name, module in guarded:
        module.__class__ = Guarded
        proxy = Guarded(name)
        real[id(proxy)] = module
        sys.modules[name] = proxy
    return arm


def _guard_signals(asks: IsCandidateAccess, tampered: Tampered) -> None:
    """A signal's handler is given the frame that it interrupts, and no event tells."""
    getframe = sys._getframe
    modules = [signal, sys.modules["_signal"]]
    for module in modules:
        original = module.__dict__["signal"]

        def guarded(number: Any, handler: Any, original: Any = original) -> Any:  # noqa: ANN401
            if callable(handler) and asks(getframe(1), "signal", False):
                tampered("the candidate asked for a signal's frame")
            return original(number, handler)

        with contextlib.suppress(AttributeError):
            module.__dict__["signal"] = guarded


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


def list_harness_modules() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] == "inside"]


def unload_harness_modules(names: list[str]) -> None:
    """Nothing of this package is found by name any more."""
    for name in names:
        sys.modules.pop(name, None)
    sys.modules["__main__"] = types.ModuleType("__main__")
