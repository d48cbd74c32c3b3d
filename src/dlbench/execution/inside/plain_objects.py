"""What the writer and the reader of plain data share: the table of objects, and facts about classes."""

import collections
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from .plain_values import Unreplayable

Node = Any
"""None, a bool, an int, a float, a str, or a list that begins with a tag."""
ATOMS: tuple[type, ...] = (type(None), bool, int, float, str)
DICTS: dict[str, type] = {
    kind.__name__: kind for kind in (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
}
LISTS: dict[str, type] = {"list": list, "set": set, "deque": collections.deque}
BASES = (object, dict, list, types.SimpleNamespace)
FUNCTIONS = {"function", "builtin_function_or_method", "ufunc", "cython_function_or_method"}
IMPLICIT = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__", "__abstractmethods__",
    "_abc_impl", "__dataclass_fields__", "__dataclass_params__", "__match_args__", "__hash__",
}  # fmt: skip
_FOREIGN = ("pandas.", "scipy.stats.")


class Table:
    """The objects that both sides know, in the same order on both."""

    def __init__(
        self, *, is_trusted: Callable[[str], bool] | None, is_private: Callable[[Any], bool] = lambda thing: False
    ) -> None:
        """`is_trusted`: whether names of a module may be looked up; None trusts the other side. `is_private`: whether
        only this side knows a class or function."""
        self.is_trusted, self.is_private = is_trusted, is_private
        self.is_compared = False
        """Whether the other side only compares what it gets: parts that cannot be sent are named instead."""
        self.handles: list[Any] = []
        """Functions of this side that the other side may call, and classes that it may name."""
        self.named: list[Any] = []
        """Functions that one side sent to the other by name."""
        self.described: set[int] = set()
        self.classes: dict[int, type] = {}
        self.proxies: dict[int, tuple[int, Any]] = {}
        self.make_proxy: Callable[[int], Any] = lambda number: None
        self.note: Callable[[str], None] = lambda what: None
        """Reports what the other side did that is right only where the reference does it, too."""
        self.has_code = False
        """Whether the other side has sent a function or a class as a value."""
        self.globals: dict[int, tuple[str, Any]] = {}
        self.module_count = 0
        self.note_output: Callable[[Any, list[Any]], int] = lambda tensor, inputs: -1
        """Keeps a tensor whose gradients the other side may ask for; returns its number."""
        self.link: Callable[[Any, int, list[Any]], Any] = lambda tensor, number, inputs: tensor
        """Connects a received tensor with the gradients on the other side."""
        self.reset()

    def reset(self) -> None:
        """Forget the shared objects. Both sides do so before each call by a test."""
        self.objects: list[Any] = []
        self.numbers: dict[int, int] = {}
        self.marks: list[bytes] = []
        self.blobs: list[bytes] = []
        self.is_marking = False
        self.is_awaited = False
        """Whether this side may ask the other for more after its answer: gradients, or calls of its functions."""

    def _known(self, number: Node) -> Any:  # noqa: ANN401
        if type(number) is not int or not 0 <= number < len(self.objects):
            raise Unreplayable("a reference to an unknown object")
        return self.objects[number]

    def _add(self, value: Any) -> None:  # noqa: ANN401
        self.numbers[id(value)] = len(self.objects)
        self.objects.append(value)

    def _name_global(self, value: Any) -> str:  # noqa: ANN401
        """The name of an object that a module or class of the project holds."""
        if self.is_trusted is not None and self.module_count != len(sys.modules):
            self.module_count = len(sys.modules)
            for name, module in [*sys.modules.items()]:
                is_own = issubclass(type(module), types.ModuleType) and self.is_trusted(name)
                held = dict(vars(module)) if is_own else {}
                own = [one for one in held.values() if isinstance(one, type) and one.__module__ == name]
                for place, names in [(name, held), *((f"{name}.{one.__qualname__}", vars(one)) for one in own)]:
                    for key, one in [*names.items()]:
                        self.globals |= {id(part): (f"{place}.{key}", part) for part in list_parts(one)}
        return self.globals.get(id(value), ("",))[0]

    def _is_known(self, module: str) -> bool:
        file = str(getattr(sys.modules.get(module), "__file__", None) or "")
        return "/site-packages/" in file or bool(self.is_trusted and self.is_trusted(module))

    def _is_shared(self, module: str) -> bool:
        """Whether both processes can import the module. The candidate's process cannot import tests."""
        return self.is_trusted is None or module.partition(".")[0] in sys.stdlib_module_names or self._is_known(module)


def list_parts(value: Any, depth: int = 2) -> Iterator[Any]:  # noqa: ANN401
    """The value and what it holds, if it is a container or an object of Python code."""
    yield value
    kind = type(value)
    attributes = vars(value) if kind.__flags__ & 1 << 9 and type(getattr(value, "__dict__", None)) is dict else {}
    parts = value.values() if kind in DICTS.values() else value if kind in (list, tuple) else attributes.values()
    if depth and not isinstance(value, type):
        for part in [*parts][:1000]:
            if type(part) not in ATOMS:
                yield from list_parts(part, depth - 1)


def look_up(module: str, qualname: str) -> Any:  # noqa: ANN401
    found: Any = sys.modules.get(module)
    for place, part in enumerate(qualname.split(".")):
        if place and isinstance(found, types.ModuleType):
            return None  # the name of one module must not lead into another
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
        found = found.__func__ if isinstance(found, staticmethod) else found
    return found


def is_pure(function: Any) -> bool:  # noqa: ANN401
    """Whether it computes from its arguments alone, so that a test may get it by name."""
    kind, home = type(function).__name__, getattr(function, "__module__", None) or ""
    is_builtin = home == "builtins" and function in (abs, all, any, len, max, min, pow, round, sorted, sum)
    torch = sys.modules.get("torch")
    is_torch = kind == "builtin_function_or_method" and getattr(torch, function.__name__, None) is function
    return kind == "ufunc" or is_builtin or is_torch or home in {"math", "_operator", "torch.nn.functional"}


def is_tensor(value: Any) -> bool:  # noqa: ANN401
    kind = type(value)
    return kind.__name__ in {"Tensor", "Parameter"} and kind.__module__ in {"torch", "torch.nn.parameter"}


def find_base(kind: type) -> type:
    """The class below it whose layout Python code does not decide."""
    heap = 1 << 9
    return next(cls for cls in kind.__mro__ if not cls.__flags__ & heap or cls.__module__ in {"numpy", "torch._C"})


def is_foreign(kind: type) -> bool:
    """Whether attributes do not make an object of this class: C code keeps state in it, or it writes its methods."""
    base: Any = find_base(kind)
    if kind.__module__.startswith(_FOREIGN):
        return True
    try:
        base.__new__(kind)
    except TypeError:
        return True
    return any(cls.__name__ == "pybind11_object" for cls in kind.__mro__)


def list_slots(kind: type) -> list[str]:
    found = [vars(cls).get("__slots__", ()) for cls in kind.__mro__]
    names = [name for slots in found for name in ([slots] if isinstance(slots, str) else slots)]
    return [name for name in names if name not in {"__dict__", "__weakref__"}]
