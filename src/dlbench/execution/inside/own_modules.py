"""Watch what the modules of an answer of several files do to others: no write to a module or class that is not theirs.

A function that is replaced and puts itself back is seen by no comparison afterwards, so the write itself is caught:
modules outside the answer report it, and the modules of the answer have their own `getattr`, `setattr`, `delattr` and
`vars`, which also see names that are put together at run time.
"""

import builtins
import importlib.machinery
import sys
import types
from typing import Any

from .audit import FORBIDDEN, IsCandidateAccess, Tampered

_SECRET = frozenset({
    *FORBIDDEN, "f_back", "f_locals", "f_globals", "f_builtins", "f_code", "gi_code", "cr_code", "ag_code", "__code__",
    "__subclasses__", "__self__", "__dict__", "__getattribute__", "__mro__", "__base__", "__bases__", "mro",
    "__class__",
})  # fmt: skip
_READ_OF_OTHERS = frozenset({"__dict__", "__class__", "__self__", "__code__"})
"""Honest code reads these of its own objects, but not of modules and functions of others."""


def watch_writes(own: set[str], is_access: IsCandidateAccess, tampered: Tampered) -> None:
    """Make the modules that are imported now, and are not the answer's, report the answer's writes."""
    getframe, write, remove = sys._getframe, types.ModuleType.__setattr__, types.ModuleType.__delattr__

    class Watched(types.ModuleType):
        def __setattr__(self, name: str, value: object) -> None:
            frame = getframe(1)
            # an import of a submodule binds its name
            if frame.f_code.co_filename != "<frozen importlib._bootstrap>" and is_access(frame, name, True):
                tampered(f"the candidate tried to change {name} of the module {self.__name__}")
            write(self, name, value)

        def __delattr__(self, name: str) -> None:
            if is_access(getframe(1), name, True):
                tampered(f"the candidate tried to remove {name} of the module {self.__name__}")
            remove(self, name)

    Watched.__name__ = Watched.__qualname__ = "module"
    for module in list(sys.modules.values()):
        if type(module) is types.ModuleType and str(vars(module).get("__file__")) not in own:
            module.__class__ = Watched


def give_builtins(own: set[str], tampered: Tampered) -> None:
    """Give the modules of the answer their builtins as they are imported."""
    checked = vars(builtins) | _make_checked(own, tampered)
    loader: Any = importlib.machinery.SourceFileLoader
    original = loader.exec_module

    def exec_module(self: Any, module: types.ModuleType) -> None:  # noqa: ANN401 - the loader
        if getattr(module, "__file__", None) in own:
            module.__dict__["__builtins__"] = checked
        original(self, module)

    loader.exec_module = exec_module


def _make_checked(own: set[str], tampered: Tampered) -> dict[str, Any]:
    read, write, remove, show = getattr, setattr, delattr, vars
    as_text, modules = str.__str__, sys.modules

    def is_foreign(thing: object) -> bool:
        if issubclass(type(thing), types.ModuleType):
            return types.ModuleType.__getattribute__(thing, "__dict__").get("__file__") not in own
        if isinstance(thing, type | types.FunctionType | types.BuiltinFunctionType):
            module = modules.get(str(thing.__module__))
            return read(module, "__file__", None) not in own
        return False

    def check(thing: object, name: object) -> None:
        text = as_text(name) if isinstance(name, str) else ""
        if text in _SECRET and (text not in _READ_OF_OTHERS or is_foreign(thing)):
            tampered(f"the candidate asked for {text} of {type(thing).__name__}")

    def checked_getattr(thing: Any, name: Any, *default: Any) -> Any:  # noqa: ANN401
        check(thing, name)
        return read(thing, name, *default)

    def checked_setattr(thing: Any, name: Any, value: Any) -> None:  # noqa: ANN401
        if is_foreign(thing):
            tampered(f"the candidate tried to change {name} of {read(thing, '__name__', '')}")
        write(thing, name, value)

    def checked_delattr(thing: Any, name: Any) -> None:  # noqa: ANN401
        if is_foreign(thing):
            tampered(f"the candidate tried to remove {name} of {read(thing, '__name__', '')}")
        remove(thing, name)

    def checked_vars(*things: Any) -> Any:  # noqa: ANN401
        if not things:  # the caller's own names: `vars()` would show these here
            return dict(sys._getframe(1).f_locals)
        if is_foreign(things[0]):
            tampered(f"the candidate asked for the names of {read(things[0], '__name__', '')}")
        return show(*things)

    return {"getattr": checked_getattr, "setattr": checked_setattr, "delattr": checked_delattr, "vars": checked_vars}
