"""Audit hook and module guards: end a candidate that reaches for the judge, the tests or the reference.

No solution needs frames, code objects, traces, lists of the collector, or the modules of pytest and of the tests; every
path to the judge or to the expected values leads through them. Audit events cannot be switched off; guarded modules
report an access themselves. Libraries use the same honestly, also when a candidate calls them, so the nearest code that
names what is accessed counts. Code that was passed the function to call, and modules that return what they find to
their caller (`inspect`), are skipped.
"""

import contextlib
import os
import signal
import sys
import types
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from .channel import Send

_PASS_ON = {
    "inspect", "traceback", "operator", "functools", "cgitb", "bdb", "pdb", "code", "trace", "runpy", "importlib",
}  # fmt: skip
"""Modules of the standard library that give their caller what they find."""

_ALWAYS = {
    "sys._current_frames", "sys._current_exceptions", "sys.settrace", "sys.setprofile", "sys.addaudithook",
    "gc.get_objects", "gc.get_referrers", "gc.get_referents", "function.__new__", "marshal.loads",
    "sys.set_asyncgen_hooks_firstiter", "sys.set_asyncgen_hooks_finalizer", "cpython.PyInterpreterState_New",
}  # fmt: skip
_FRAMES = {"tb_frame", "gi_frame", "cr_frame", "ag_frame", "__defaults__", "__kwdefaults__"}
_SET = {"__code__", "__defaults__", "__kwdefaults__"}
_GUARDED = ("pytest", "_pytest", "pluggy", "unittest", "ctypes", "_ctypes", "_testcapi", "_testinternalcapi")
FORBIDDEN = (
    *("__globals__", "__closure__", "cell_contents", "__builtins__", "tb_frame", "gi_frame", "cr_frame", "ag_frame"),
    *("_getframe", "_current_frames", "_pytest"),
)
"""Names that lead to the judge. A candidate may not compile code that contains one."""
IsCandidateCode = Callable[[CodeType], bool]
IsCandidateAccess = Callable[[FrameType, str, bool], bool]
Tampered = Callable[[str], None]
Activate = Callable[[IsCandidateAccess, Tampered], None]


def recognise(places: dict[str, list[tuple[int, int]]]) -> tuple[IsCandidateCode, IsCandidateAccess]:
    """Two functions. One recognises the candidate's code: by file, and by lines if the file holds other code too. The
    other tells of a frame and a name whether the candidate's code accessed the name there."""
    library = os.path.dirname(os.__file__)
    pass_on = {os.path.join(library, f"{name}.py") for name in _PASS_ON}
    pass_on |= {os.path.join(library, name, "__init__.py") for name in ("ctypes", "importlib")}
    shows_lines = {os.path.join(library, f"{name}.py") for name in ("warnings", "traceback")}
    shows_lines.add(os.path.join(library, "logging", "__init__.py"))
    threads = os.path.join(library, "threading.py")

    def is_candidate(code: CodeType) -> bool:
        ranges = places.get(code.co_filename)
        if ranges is None:
            return False
        return not ranges or any(first <= code.co_firstlineno <= last for first, last in ranges)

    def runs_candidate(frame: FrameType) -> bool:
        """True also for the candidate's lines at module level, whose code object begins elsewhere."""
        ranges = places.get(frame.f_code.co_filename)
        if ranges is None:
            return False
        return is_candidate(frame.f_code) or any(first <= (frame.f_lineno or 0) <= last for first, last in ranges)

    def keeps_private(file: str, name: str) -> bool:
        """These return text and values to their caller, not the objects they read."""
        if file.endswith("traceback.py"):
            return name == "tb_frame"
        return file.endswith("inspect.py") and name in {"__defaults__", "__kwdefaults__"}

    def is_candidate_access(start: FrameType, name: str, strictly: bool) -> bool:
        frame: FrameType | None = start
        passed_on = False
        file = ""
        while frame is not None:
            code = frame.f_code
            if runs_candidate(frame):
                return True
            file = code.co_filename
            if name == "\0open" and file in shows_lines:
                return False  # a warning or a log record reads its source line
            if file == "<frozen importlib._bootstrap_external>" and code.co_name in {"create_module", "exec_module"}:
                return False  # an extension module, which has no frames, is being imported
            is_generated = file[:1] == "<" and file[:7] != "<frozen"
            if file in pass_on and not keeps_private(file, name):
                passed_on = True
            elif not is_generated and (passed_on or strictly or name in code.co_names):
                return False
            frame = frame.f_back
        # nobody names it, and the stack begins in a thread or in generated code: the candidate handed it over
        return file == threads or (file[:1] == "<" and file[:7] != "<frozen")

    return is_candidate, is_candidate_access


def install(is_access: IsCandidateAccess, tampered: Tampered, hidden: list[str], activate: Activate) -> None:
    """Start the audit: from here on an access by the candidate ends the process."""
    activate(is_access, tampered)
    _guard_signals(is_access, tampered)
    sys.addaudithook(_make_hook(is_access, tampered, hidden))


def _make_hook(
    is_access: IsCandidateAccess, tampered: Tampered, hidden: list[str]
) -> Callable[[str, tuple[Any, ...]], None]:
    getframe = sys._getframe
    # the harness itself reads frames; no function of a module is called here, since a candidate may replace it
    here = getframe(0).f_code.co_filename.rpartition("/")[0]
    is_checking = False
    files = set(hidden)
    names = {path.rpartition("/")[2] for path in hidden}

    def by_candidate(name: str, *, strictly: bool = False) -> bool:
        nonlocal is_checking
        is_checking = True  # the check reads frames, which is itself an event
        try:
            start = getframe(2)
            return start.f_code.co_filename.rpartition("/")[0] != here and is_access(start, name, strictly)
        finally:
            is_checking = False

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if is_checking:
            return
        what = ""
        if event == "sys._getframe":
            what = "a frame" if by_candidate("_getframe") else ""
        elif event == "object.__getattr__":
            name = arguments[1]
            what = f"{name} of {type(arguments[0]).__name__}" if name in _FRAMES and by_candidate(name) else ""
        elif event in {"object.__setattr__", "object.__delattr__"}:
            name = arguments[1]
            what = f"to change {name}" if name in _SET and by_candidate(name) else ""
        elif event == "code.__new__":  # raised by code.replace, too, which asyncio uses when it is imported
            what = event if by_candidate("replace") else ""
        elif event in _ALWAYS:
            what = event if by_candidate(event.rpartition(".")[2]) else ""
        elif event.startswith("ctypes."):
            what = event if by_candidate("", strictly=True) else ""
        elif event == "compile":
            source, file = arguments[:2]
            named = isinstance(file, str) and file[:1] != "<"
            text = source.decode("utf-8", "replace") if isinstance(source, bytes) else source
            readable = isinstance(text, str) and not any(word in text for word in FORBIDDEN)
            if (named or not readable) and by_candidate("compile"):
                what = "to compile code that reaches for the judge, or under a file's name"
        elif event == "open":
            path = arguments[0]
            if isinstance(path, str) and path.rpartition("/")[2] in names and os.path.abspath(path) in files:
                what = f"the file {path.rpartition('/')[2]}" if by_candidate("\0open") else ""
            elif isinstance(path, str) and path[:6] == "/proc/" and path[-4:] == "/mem":
                what = "the memory of a process" if by_candidate("\0open") else ""
        if what:
            tampered(f"the candidate asked for {what}")

    return hook


def guard_modules(tests: list[str]) -> Activate:
    """Guard the modules of pytest and of the tests against access from outside; return what activates the guard. Their
    own functions use their names unchecked."""
    getframe = sys._getframe
    read, write = types.ModuleType.__getattribute__, types.ModuleType.__setattr__
    harmless = frozenset({"__class__", "__name__", "__spec__", "__file__", "__path__", "__loader__", "__package__"})
    is_access: IsCandidateAccess = lambda frame, name, strictly: False  # noqa: E731 - until it is activated
    tampered: Tampered = lambda why: None  # noqa: E731

    def activate(new_is_access: IsCandidateAccess, new_tampered: Tampered) -> None:
        nonlocal is_access, tampered
        is_access, tampered = new_is_access, new_tampered

    class Guarded(types.ModuleType):
        """A module, or its proxy in `sys.modules`, whose `__dict__` is not the module's."""

        def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - whatever the module holds
            module = real.get(id(self), self)
            if name not in harmless and is_access(getframe(1), name, False):
                tampered(f"the candidate reached for {name} of the module {read(module, '__name__')}")
            return read(module, name)

        def __setattr__(self, name: str, value: object) -> None:
            module = real.get(id(self), self)
            # an import of a submodule, maybe by a library, binds its name
            is_import = getframe(1).f_code.co_filename == "<frozen importlib._bootstrap>"
            if not is_import and is_access(getframe(1), name, False):
                tampered(f"the candidate tried to change {name} of the module {read(module, '__name__')}")
            write(module, name, value)

        def __delattr__(self, name: str) -> None:
            types.ModuleType.__delattr__(real.get(id(self), self), name)

        def __dir__(self) -> list[str]:
            return sorted(read(real.get(id(self), self), "__dict__"))

    real: dict[int, types.ModuleType] = {}
    Guarded.__name__ = Guarded.__qualname__ = "module"
    for name, method in vars(Guarded).items():
        if isinstance(method, types.FunctionType):  # a method with another name would have been attached by a call
            method.__qualname__ = f"module.{name}"
    files = set(tests)
    for name, module in list(sys.modules.items()):
        if type(module) is not types.ModuleType:
            continue
        if name.partition(".")[0] not in _GUARDED and vars(module).get("__file__") not in files:
            continue
        module.__class__ = Guarded
        proxy = Guarded(name)
        real[id(proxy)] = module
        sys.modules[name] = proxy
    return activate


def _guard_signals(is_access: IsCandidateAccess, tampered: Tampered) -> None:
    """A signal handler receives the interrupted frame, and no audit event reports it."""
    getframe = sys._getframe
    for module in (signal, sys.modules["_signal"]):
        original = module.__dict__["signal"]

        def guarded(number: Any, handler: Any, original: Any = original) -> Any:  # noqa: ANN401
            if callable(handler) and is_access(getframe(1), "signal", False):
                tampered("the candidate asked for a signal's frame")
            return original(number, handler)

        with contextlib.suppress(AttributeError):
            module.__dict__["signal"] = guarded


def make_tampered(send: Send, allowed: list[str], *, learn: bool) -> tuple[Callable[[str], None], set[str]]:
    """A function that reports tampering and ends the process, or with `learn` only records it; and the set of accesses
    that the reference itself makes."""
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


def hide_pytest_hook() -> None:
    """Take pytest's import hook, which holds the session, out of reach. It has rewritten the tests already."""
    for finder in [one for one in sys.meta_path if type(one).__name__ == "AssertionRewritingHook"]:
        sys.meta_path.remove(finder)


def list_harness_modules() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] == "inside"]


def unload_harness_modules(names: list[str]) -> None:
    """Make sure that no module of this package can be found by name."""
    for name in names:
        sys.modules.pop(name, None)
    sys.modules["__main__"] = types.ModuleType("__main__")
