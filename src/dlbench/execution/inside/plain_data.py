"""Write values as plain data (JSON and bytes) and read them strictly: what a candidate returned brings no code along.

Two processes exchange messages in turn. Each keeps a table of the mutable objects that it sent or received, in the same
order, so that an object is sent once, aliases stay aliases, and changes made by the other side are applied in place.
Classes and functions are sent by name. The reader looks them up among the modules that it has imported and trusts.
"""

import collections
import enum
import hashlib
import importlib
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

from .plain_values import Unreplayable, name_dtype, put_together, read_dtype, take_apart

Node = Any
"""None, a bool, an int, a float, a str, or a list that begins with a tag."""
_ATOMS: tuple[type, ...] = (type(None), bool, int, float, str)
_DICTS: dict[str, type] = {
    kind.__name__: kind for kind in (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
}
_LISTS: dict[str, type] = {"list": list, "set": set, "deque": collections.deque}
_BASES = (object, dict, list, types.SimpleNamespace)
_FUNCTIONS = {"function", "builtin_function_or_method", "ufunc", "cython_function_or_method"}
_STANDARD = {"math", "operator", "datetime", "pathlib", "functools", "argparse", "typing"}
_CLOSED = {
    "testing", "_testing", "mock", "ma", "overrides", "test", "tests", "conftest", "pytest", "_pytest", "pluggy",
    "hypothesis", "unittest", "absl", "sympy",
}  # fmt: skip
"""Parts of module names whose objects decide themselves what they equal, or belong to tests."""
_EVALUATING = (eval, exec, compile, open, getattr, setattr, delattr, vars, globals, __import__, input)
_BUILTINS = {
    kind.__name__ for kind in (int, float, complex, bool, str, bytes, list, tuple, dict, set, frozenset, object, type)
}


class Codec:
    """One side's table of shared objects, and the two directions of translation."""

    def __init__(
        self, *, is_trusted: Callable[[str], bool] | None, is_private: Callable[[Any], bool] = lambda thing: False
    ) -> None:
        """`is_trusted`: whether names of a module may be looked up; None trusts the other side. `is_private`: whether
        only this side knows a class or function."""
        self.is_trusted, self.is_private = is_trusted, is_private
        self.handles: list[Any] = []
        """Functions of this side that the other side may call."""
        self.proxies: dict[int, tuple[int, Any]] = {}
        self.make_proxy: Callable[[int], Any] = lambda number: None
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

    def write(self, value: Any) -> tuple[Node, list[Node], list[bytes]]:  # noqa: ANN401 - any value
        """The value, the shared objects that changed since the last message, and the bytes that both refer to."""
        changed = [number for number, mark in enumerate(self.marks) if self._mark(number) != mark]
        self.blobs = []
        nodes = [[number, self._content(self.objects[number])] for number in changed]
        node, blobs = self._encode(value), self.blobs
        self.marks = [self._mark(number) for number in range(len(self.objects))]
        return node, nodes, blobs

    def read(self, node: Node, changed: list[Node], blobs: list[bytes]) -> Any:  # noqa: ANN401
        self.blobs = blobs
        try:
            for number, content in changed:
                self._apply(self._known(number), content)
            value = self._decode(node)
        except Unreplayable:
            raise
        except Exception as error:
            raise Unreplayable(f"malformed data ({type(error).__name__}: {error})") from None
        self.marks = [self._mark(number) for number in range(len(self.objects))]
        return value

    def _mark(self, number: int) -> bytes:
        """A digest of an object's own content, in which other shared objects stand as references."""
        before, self.blobs, self.is_marking = self.blobs, [], True
        count = len(self.objects)
        digest = hashlib.sha256(repr(self._content(self.objects[number])).encode("utf-8", "surrogatepass"))
        for blob in self.blobs:
            digest.update(blob)
        for new in self.objects[count:]:  # they are sent with the change
            del self.numbers[id(new)]
        del self.objects[count:]
        self.blobs, self.is_marking = before, False
        return digest.digest()

    def _known(self, number: Node) -> Any:  # noqa: ANN401
        if type(number) is not int or not 0 <= number < len(self.objects):
            raise Unreplayable("a reference to an unknown object")
        return self.objects[number]

    def _add(self, value: Any) -> None:  # noqa: ANN401
        self.numbers[id(value)] = len(self.objects)
        self.objects.append(value)

    def _blob(self, data: bytes) -> int:
        self.blobs.append(data)
        return len(self.blobs) - 1

    def _encode_all(self, values: Any) -> list[Node]:  # noqa: ANN401
        return [self._encode(value) for value in values]

    def _encode_pairs(self, names: Any) -> list[Node]:  # noqa: ANN401
        return [[self._encode(key), self._encode(value)] for key, value in dict.items(names)]

    def _encode(self, value: Any) -> Node:  # noqa: ANN401 - one case per kind
        kind = type(value)
        if kind in _ATOMS:
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
        if kind is types.MethodType:
            return ["method", self._encode(value.__self__), value.__name__]
        if kind.__name__ in _FUNCTIONS or (callable(value) and self.is_private(kind)):
            return self._encode_function(value)
        if (found := take_apart(value)) is not None:
            return ["value", found[0], self._encode_all(found[1])]
        number = len(self.objects)
        self._add(value)
        return ["new", number, self._content(value)]

    def _content(self, value: Any) -> Node:  # noqa: ANN401
        """What a shared object holds."""
        kind = type(value)
        if kind in _LISTS.values():
            return [kind.__name__, self._encode_all(value)]
        if kind in _DICTS.values():
            factory = getattr(value, "default_factory", None)
            return ["dict", kind.__name__, self._encode(factory), self._encode_pairs(value)]
        if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
            if value.dtype == object:
                return ["objects", list(value.shape), self._encode_all(value.ravel().tolist())]
            return ["array", name_dtype(value.dtype), list(value.shape), self._blob(value.tobytes())]
        if _is_tensor(value):
            return self._encode_tensor(value)
        if kind.__module__.startswith("numpy.random") and kind.__name__ in {"Generator", "RandomState"}:
            state = value.get_state(legacy=False) if kind.__name__ == "RandomState" else value.bit_generator.state
            return ["random", kind.__name__, self._encode(state)]
        base = _find_base(kind)
        if base not in _BASES or _is_foreign(kind):
            return self._encode_opaque(value)
        items = (
            self._encode_pairs(value)
            if base is dict
            else self._encode_all(list.__iter__(value))
            if base is list
            else None
        )
        return ["object", self._name(kind), items, self._encode_pairs(_attributes(value))]

    def _encode_opaque(self, value: Any) -> Node:  # noqa: ANN401
        """An object whose state only C code knows. The tests' process may send it, and get it back unchanged."""
        kind = type(value)
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
            found = [one for one in self.objects if _is_tensor(one) and one.is_leaf and one.requires_grad]
            output = self.note_output(value, found)
            inputs = [self.numbers[id(one)] for one in found] if output >= 0 else []
        kind, dtype = type(value).__name__, str(value.dtype).removeprefix("torch.")
        gradient = self._encode(value.grad) if value.is_leaf else None
        start = ["tensor", kind, dtype, list(value.shape), self._blob(data)]
        return [*start, value.requires_grad, gradient, output, inputs, self._encode_pairs(vars(value))]

    def _name(self, thing: Any) -> Node:  # noqa: ANN401
        module, qualname = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
        if not module or not qualname or _look_up(module, qualname) is not thing or self.is_private(thing):
            raise Unreplayable(f"{module}.{qualname}, which has no name that another process knows")
        return [module, qualname]

    def _encode_function(self, value: Any) -> Node:  # noqa: ANN401
        """By name if the other side knows it, otherwise as a handle that the other side can call."""
        named = [(getattr(value, "__module__", None) or "", getattr(value, "__qualname__", ""))]
        named += [(place, getattr(value, "__name__", "")) for place in ("numpy", "torch", "math", "jax.numpy")]
        for module, qualname in named if not self.is_private(value) else []:
            if _look_up(module, qualname) is value:
                return ["function", [module, qualname]]
        if type(value) is not types.FunctionType and not self.is_private(type(value)):
            raise Unreplayable(f"the function {value!r:.80}")
        place = next((place for place, one in enumerate(self.handles) if one is value), len(self.handles))
        if place == len(self.handles):
            self.handles.append(value)
        return ["handle", place]

    def _decode_all(self, nodes: Node) -> list[Any]:
        return [self._decode(node) for node in nodes]

    def _decode_pairs(self, nodes: Node) -> dict[Any, Any]:
        return {self._decode(key): self._decode(value) for key, value in nodes}

    def _decode(self, node: Node) -> Any:  # noqa: ANN401 - one case per tag
        if type(node) in _ATOMS:
            return node
        match node:
            case ["ref", number]:
                return self._known(number)
            case ["new", number, content] if number == len(self.objects):
                return self._create(content)
            case ["tuple", list(items)]:
                return tuple(self._decode_all(items))
            case ["bytes", int(place)]:
                return bytes(self.blobs[place])
            case ["value", str(name), list(parts)]:
                return put_together(name, tuple(self._decode_all(parts)))
            case ["class", name]:
                return self._find_class(name)
            case ["enum", name, str(member)]:
                return self._find_class(name)[member]
            case ["named", name, list(items)]:
                return tuple.__new__(self._find_class(name), self._decode_all(items))
            case ["error", name, list(arguments), list(state)]:
                kind = self._find_class(name)
                if not issubclass(kind, Exception):
                    raise Unreplayable(f"the exception {name}")
                error = kind.__new__(kind)
                error.args = tuple(self._decode_all(arguments))
                error.__dict__.update(self._decode_pairs(state))
                return error
            case ["module", str(name)] if self._may_look_up(name):
                return sys.modules[name]
            case ["method", holder, str(name)] if not name.startswith("__"):
                held = self._decode(holder)
                return types.MethodType(getattr(type(held), name), held)
            case ["function", name]:
                found = self._resolve(name)
                if type(found).__name__ in _FUNCTIONS:
                    return found
            case ["handle", int(number)]:
                proxy = self.make_proxy(number)
                self.proxies[id(proxy)] = number, proxy
                return proxy
            case ["own", int(number)] if 0 <= number < len(self.handles):
                return self.handles[number]
        raise Unreplayable(f"malformed data ({str(node)[:80]})")

    def _create(self, content: Node) -> Any:  # noqa: ANN401
        """Make an object and register it before its parts, in the order of the writer."""
        numpy = sys.modules.get("numpy")
        made: Any
        match content:
            case ["list" | "set" | "deque" as name, _]:
                made = _LISTS[name]()
            case ["dict", str(name), _, _]:
                made = _DICTS[name]()
            case ["objects", list(shape), _] if numpy is not None:
                made = numpy.empty(shape, object)
            case ["array", dtype, list(shape), int(place)] if numpy is not None:
                made = numpy.frombuffer(bytearray(self.blobs[place]), read_dtype(dtype)).reshape(shape)
            case [
                "tensor",
                str(kind),
                str(dtype),
                list(shape),
                int(place),
                bool(needs),
                _,
                int(output),
                list(inputs),
                _,
            ]:
                made = self._make_tensor(kind, dtype, shape, place)
                made = self.link(made, output, [self._known(number) for number in inputs]) if output >= 0 else made
                if needs and output < 0:
                    made.requires_grad_(True)
            case ["random", "RandomState" | "Generator" as name, _] if numpy is not None:
                made = numpy.random.RandomState() if name == "RandomState" else numpy.random.default_rng()
            case ["pickled", int(place)] if self.is_trusted is None:
                made = pickle.loads(self.blobs[place])
            case ["object", name, _, _]:
                kind = self._find_class(name)
                base = _find_base(kind)
                if base not in _BASES or _is_foreign(kind):
                    raise Unreplayable(f"an object of {name}")
                made = base.__new__(kind)
            case _:
                raise Unreplayable(f"malformed data ({str(content)[:80]})")
        self._add(made)
        self._apply(made, content)
        return made

    def _make_tensor(self, kind: str, dtype: str, shape: list[int], place: int) -> Any:  # noqa: ANN401
        torch = sys.modules["torch"]
        found = getattr(torch, dtype)
        if type(found) is not torch.dtype:
            raise Unreplayable(f"a tensor of type {dtype}")
        data = bytearray(self.blobs[place])
        made = torch.frombuffer(data, dtype=found).reshape(shape) if data else torch.empty(shape, dtype=found)
        return torch.nn.Parameter(made, requires_grad=False) if kind == "Parameter" else made

    def _apply(self, value: Any, content: Node) -> None:  # noqa: ANN401 - one case per tag
        """Make a shared object hold this content."""
        match content:
            case ["list" | "deque", list(items)]:
                new = self._decode_all(items)
                value.clear()
                value.extend(new)
            case ["set", list(items)]:
                new = self._decode_all(items)
                value.clear()
                value.update(new)
            case ["dict", _, factory, list(pairs)]:
                if (made := self._decode(factory)) is not None:
                    value.default_factory = made
                self._fill(value, pairs)
            case ["objects", list(shape), list(items)] if list(value.shape) == shape:
                for place, one in enumerate(self._decode_all(items)):
                    value.reshape(-1)[place] = one
            case ["array", dtype, list(shape), int(place)]:
                new = sys.modules["numpy"].frombuffer(self.blobs[place], read_dtype(dtype)).reshape(shape)
                if (new.shape, new.dtype) != (value.shape, value.dtype):
                    raise Unreplayable("an array that changed its shape or type")
                if new.tobytes() != value.tobytes():
                    value[...] = new
            case ["tensor", _, str(dtype), list(shape), int(place), bool(needs), gradient, int(), list(), list(state)]:
                new = self._make_tensor("Tensor", dtype, shape, place)
                if (new.shape, new.dtype) == (value.shape, value.dtype):
                    value.data.copy_(new)
                else:
                    value.data = new
                found = self._decode(gradient)
                if value.is_leaf:
                    value.grad = found
                    value.requires_grad_(needs)
                new_names = self._decode_pairs(state)
                if any(hasattr(type(value), name) for name in new_names.keys() - vars(value).keys()):
                    raise Unreplayable("a tensor with attributes in place of its methods")
                vars(value).update(new_names)
            case ["pickled", int()] if self.is_trusted is None:
                pass
            case ["random", _, state]:
                found = self._decode(state)
                if self.is_trusted is not None:  # a state of the candidate's choice could make random inputs trivial
                    value.random()
                elif type(value).__name__ == "RandomState":
                    value.set_state(found)
                else:
                    value.bit_generator.state = found
            case ["object", _, items, list(state)]:
                if isinstance(value, dict):
                    self._fill(value, items)
                elif isinstance(value, list):
                    value[:] = self._decode_all(items)
                names = self._decode_pairs(state)
                if self.is_trusted is not None:
                    _refuse_methods(value, names)
                _set_attributes(value, names)
            case _:
                raise Unreplayable(f"a change of {type(value).__name__}")

    def _fill(self, value: dict[Any, Any], pairs: list[Node]) -> None:
        new = self._decode_pairs(pairs)
        base = collections.OrderedDict if type(value) is collections.OrderedDict else dict  # it keeps its own order
        base.clear(value)
        base.update(value, new)

    def _find_class(self, name: Node) -> Any:  # noqa: ANN401
        found = self._resolve(name)
        if not isinstance(found, type):
            raise Unreplayable(f"{name} is no class")
        return found

    def _may_look_up(self, module: str) -> bool:
        if self.is_trusted is None:
            return True
        parts, file = module.split("."), str(getattr(sys.modules.get(module), "__file__", None) or "")
        is_known = parts[0] in _STANDARD or "/site-packages/" in file or self.is_trusted(module)
        return is_known and not _CLOSED & set(parts)

    def _resolve(self, name: Node) -> Any:  # noqa: ANN401
        module, qualname = map(str, name)
        if self.is_trusted is None and module not in sys.modules:
            importlib.import_module(module)
        found = _look_up(module, qualname)
        is_error = isinstance(found, type) and issubclass(found, Exception)
        is_builtin = module == "builtins" and (qualname in _BUILTINS or is_error)
        home = getattr(found, "__module__", None) or module
        is_allowed = self._may_look_up(module) and (home == "builtins" or self._may_look_up(home))
        if found is None or not (is_builtin or is_allowed) or found in _EVALUATING:
            raise Unreplayable(f"{module}.{qualname}, which the tests' process does not know or trust")
        return found


def _look_up(module: str, qualname: str) -> Any:  # noqa: ANN401
    found: Any = sys.modules.get(module)
    for place, part in enumerate(qualname.split(".")):
        if place and isinstance(found, types.ModuleType):
            return None  # the name of one module must not lead into another
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
        found = found.__func__ if isinstance(found, staticmethod) else found
    return found


def _is_tensor(value: Any) -> bool:  # noqa: ANN401
    kind = type(value)
    return kind.__name__ in {"Tensor", "Parameter"} and kind.__module__ in {"torch", "torch.nn.parameter"}


def _find_base(kind: type) -> type:
    """The class below it whose layout Python code does not decide."""
    heap = 1 << 9
    return next(cls for cls in kind.__mro__ if not cls.__flags__ & heap or cls.__module__ in {"numpy", "torch._C"})


def _is_foreign(kind: type) -> bool:
    """Whether C code keeps state in its objects, although its classes are made at run time as those of Python are."""
    base: Any = _find_base(kind)
    try:
        base.__new__(kind)
    except TypeError:
        return True
    return any(cls.__name__ == "pybind11_object" for cls in kind.__mro__)


def _list_slots(kind: type) -> list[str]:
    found = [vars(cls).get("__slots__", ()) for cls in kind.__mro__]
    names = [name for slots in found for name in ([slots] if isinstance(slots, str) else slots)]
    return [name for name in names if name not in {"__dict__", "__weakref__"}]


def _attributes(value: Any) -> dict[str, Any]:  # noqa: ANN401
    slots = {name: getattr(value, name) for name in _list_slots(type(value)) if hasattr(value, name)}
    return dict(getattr(value, "__dict__", {})) | slots


def _refuse_methods(value: Any, names: dict[str, Any]) -> None:  # noqa: ANN401
    """A new attribute in place of a method could decide what the object is equal to."""
    held = getattr(value, "__dict__", {})
    for name in names.keys() - held.keys():
        if callable(getattr(type(value), str(name), None)):
            raise Unreplayable(f"an object with the attribute {name} in place of a method")


def _set_attributes(value: Any, names: dict[str, Any]) -> None:  # noqa: ANN401
    slots = set(_list_slots(type(value)))
    held = getattr(value, "__dict__", {})
    held.clear()
    for name, one in names.items():
        if name in slots:
            object.__setattr__(value, name, one)
        else:
            held[str(name)] = one
