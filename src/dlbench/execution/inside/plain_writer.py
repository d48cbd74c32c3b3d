"""Write values as plain data: JSON, and bytes that it refers to."""

import enum
import functools
import pickle
import sys
import types
from typing import Any

from .plain_objects import (
    ATOMS,
    BASES,
    DICTS,
    FUNCTIONS,
    IMPLICIT,
    LISTS,
    Node,
    Table,
    find_base,
    is_foreign,
    is_pure,
    is_tensor,
    list_slots,
    look_up,
)
from .plain_values import Unreplayable, name_dtype, take_apart

_PLACES = ("numpy", "torch", "torch.nn.functional", "math", "jax.numpy")
"""Modules under whose name a function is known that does not name its own."""


class Writer(Table):
    def _blob(self, data: bytes) -> int:
        self.blobs.append(data)
        return len(self.blobs) - 1

    def _encode_all(self, values: Any) -> list[Node]:  # noqa: ANN401
        return [self._encode(value) for value in values]

    def _encode_pairs(self, names: Any) -> list[Node]:  # noqa: ANN401
        return [[self._encode(key), self._encode(value)] for key, value in dict.items(names)]

    def _encode(self, value: Any) -> Node:  # noqa: ANN401 - one case per kind
        kind = type(value)
        if kind in ATOMS:
            return value
        if id(value) in self.numbers:
            return ["ref", self.numbers[id(value)]]
        if id(value) in self.proxies:
            return ["own", self.proxies[id(value)][0]]
        if kind is tuple:
            return ["tuple", self._encode_all(value)]
        if kind is bytes:
            return ["bytes", self._blob(value)]
        if isinstance(value, enum.Enum):
            return ["enum", self._name(kind), value.name]
        if isinstance(value, type):
            return ["class", self._name(value)]
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return ["named", self._name(kind), self._encode_all(tuple(value))]
        if isinstance(value, BaseException):
            return ["error", self._name(kind), self._encode_all(value.args), self._encode_pairs(vars(value))]
        if kind is types.ModuleType:
            return ["module", value.__name__]
        if kind is types.MethodType and self.is_trusted is not None:
            return ["method", self._encode(value.__self__), value.__name__]
        is_bound = kind in (types.MethodType, functools.partial) and self.is_trusted is None
        if is_bound or kind.__name__ in FUNCTIONS or (callable(value) and self.is_private(kind)):
            return self._encode_function(value)
        if (found := take_apart(value)) is not None:
            return ["value", found[0], self._encode_all(found[1])]
        number = len(self.objects)
        self._add(value)
        return ["new", number, self._content(value)]

    def _content(self, value: Any) -> Node:  # noqa: ANN401
        """What a shared object holds."""
        kind = type(value)
        if kind in LISTS.values():
            return [kind.__name__, self._encode_all(value)]
        if kind in DICTS.values():
            factory = getattr(value, "default_factory", None)
            return ["dict", kind.__name__, self._encode(factory), self._encode_pairs(value)]
        if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
            if value.dtype == object:
                return ["objects", list(value.shape), self._encode_all(value.ravel().tolist())]
            return ["array", name_dtype(value.dtype), list(value.shape), self._blob(value.tobytes())]
        if is_tensor(value):
            return self._encode_tensor(value)
        if kind.__module__.startswith("numpy.random") and kind.__name__ in {"Generator", "RandomState"}:
            state = value.get_state(legacy=False) if kind.__name__ == "RandomState" else value.bit_generator.state
            return ["random", kind.__name__, self._encode(state)]
        base = find_base(kind)
        if base not in BASES or is_foreign(kind):
            return self._encode_opaque(value)
        items = None
        if base is dict:
            items = ["pairs", self._encode_pairs(value)]
        elif base is list:
            items = ["items", self._encode_all(list.__iter__(value))]
        return ["object", self._name(kind), items, self._encode_pairs(attributes(value))]

    def _encode_opaque(self, value: Any) -> Node:  # noqa: ANN401
        """An object whose state only C code knows. The tests' process may send it, and get it back unchanged."""
        kind = type(value)
        if self.is_compared:
            return ["unsendable", f"{kind.__module__}.{kind.__qualname__}"]
        if self.is_trusted is None and not self.is_marking:
            raise Unreplayable(f"a new or changed object of {kind.__module__}.{kind.__qualname__}")
        try:
            return ["pickled", self._blob(pickle.dumps(value))]
        except Exception:
            raise Unreplayable(f"an object of {kind.__module__}.{kind.__qualname__}") from None

    def _encode_tensor(self, value: Any) -> Node:  # noqa: ANN401
        torch = sys.modules["torch"]
        if value.layout != torch.strided or value.device.type != "cpu" or value.is_quantized:
            raise Unreplayable(f"a tensor on {value.device} with layout {value.layout}")
        flat = value.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
        data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        output, inputs = -1, []
        if value.grad_fn is not None and not self.is_marking:
            found = [one for one in self.objects if is_tensor(one) and one.is_leaf and one.requires_grad]
            output = self.note_output(value, found)
            inputs = [self.numbers[id(one)] for one in found] if output >= 0 else []
        kind, dtype = type(value).__name__, str(value.dtype).removeprefix("torch.")
        gradient = self._encode(value.grad) if value.is_leaf else None
        start = ["tensor", kind, dtype, list(value.shape), self._blob(data)]
        return [*start, value.requires_grad, gradient, output, inputs, self._encode_pairs(vars(value))]

    def _name(self, thing: Any) -> Node:  # noqa: ANN401
        module, qualname = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
        is_named = bool(module and qualname) and look_up(str(module), str(qualname)) is thing
        if is_named and not self.is_private(thing) and self._is_shared(str(module)):
            return [module, qualname]
        if id(thing) in self.proxies:
            return ["own", self.proxies[id(thing)][0]]
        if self.is_trusted is not None and isinstance(thing, type):
            return self._describe_class(thing)
        raise Unreplayable(f"{module}.{qualname}, which has no name that another process knows")

    def _describe_class(self, kind: type) -> Node:
        """A class of the tests: its bases, its values, and its methods, which run in this process when called."""
        if kind.__name__.startswith("Test") or any(cls.__name__ == "TestCase" for cls in kind.__mro__):
            raise Unreplayable(f"{kind.__qualname__}, which holds tests")  # and may hold expected values
        number = self._hold(kind)
        if self.is_marking or number in self.described:
            return ["local", number, None]
        bases = [self._name(base) for base in kind.__bases__]
        self.described.add(number)
        members = [[name, *self._describe_member(value)] for name, value in vars(kind).items() if name not in IMPLICIT]
        return ["local", number, [kind.__module__, kind.__qualname__, bases, members]]

    def _describe_member(self, value: Any) -> list[Node]:  # noqa: ANN401
        if isinstance(value, staticmethod | classmethod):
            return [type(value).__name__, self._encode(value.__func__)]
        if isinstance(value, property):
            return ["property", self._encode(value.fget)]
        return ["value", self._encode(value)]

    def _hold(self, thing: Any) -> int:  # noqa: ANN401
        """The number by which the other side may name a function or class of this side."""
        place = next((place for place, one in enumerate(self.handles) if one is thing), len(self.handles))
        if place == len(self.handles):
            self.handles.append(thing)
        return place

    def _encode_function(self, value: Any) -> Node:  # noqa: ANN401
        """By name if the other side knows and accepts it, otherwise as a handle that the other side can call."""
        named = [(getattr(value, "__module__", None) or "", getattr(value, "__qualname__", ""))]
        named += [(place, getattr(value, "__name__", "")) for place in _PLACES]
        is_accepted = self.is_trusted is not None or is_pure(value) or any(one is value for one in self.named)
        for module, qualname in named if is_accepted and not self.is_private(value) else []:
            if look_up(module, qualname) is value and self._is_shared(module):
                self.named.append(value)
                return ["function", [module, qualname]]
        if self.is_trusted is not None and type(value) is not types.FunctionType:
            raise Unreplayable(f"the function {value!r:.80}")
        return ["handle", self._hold(value)]


def attributes(value: Any) -> dict[str, Any]:  # noqa: ANN401
    slots = {name: getattr(value, name) for name in list_slots(type(value)) if hasattr(value, name)}
    return dict(getattr(value, "__dict__", {})) | slots
