"""Read plain data strictly: what a candidate returned brings no code along.

Classes and functions are named. They are looked up among the modules that this process has imported and trusts.
"""

import collections
import enum
import functools
import importlib
import pickle
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from .plain_checks import (
    TORCH_TYPE,
    check_array,
    check_attribute,
    check_flags,
    check_size,
    has_known_methods,
    list_asked,
)
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
from .plain_values import Unreplayable, check_booleans, put_together, read_dtype

_STANDARD = {"math", "operator", "datetime", "pathlib"}
_LIBRARIES = (
    "torch.nn.", "torch.distributions.", "torch.optim.", "scipy.sparse.", "sklearn.", "linear_operator.", "monai.",
    "gpytorch.",
)  # fmt: skip
"""Modules of libraries whose objects a candidate may make, besides those of its project."""
_FACTORIES = (int, float, str, list, tuple, dict, set)
_CLOSED = {
    "testing", "_testing", "mock", "ma", "overrides", "test", "tests", "conftest", "pytest", "_pytest", "pluggy",
    "hypothesis", "unittest", "absl", "sympy", "externals", "estimator_checks", "_mocking", "kl",
    "svm", "_hist_gradient_boosting",
}  # fmt: skip
"""Parts of module names whose objects decide themselves what they equal, belong to tests, or are read by C code that
trusts them."""
_HARMLESS = {"__init__", "__call__", "__repr__", "__str__"}
_WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "staticmethod": staticmethod, "classmethod": classmethod, "property": property, "value": lambda value: value,
}  # fmt: skip
_EVALUATING = (eval, exec, compile, open, getattr, setattr, delattr, vars, globals, __import__, input)
_BUILTINS = {
    kind.__name__ for kind in (int, float, complex, bool, str, bytes, list, tuple, dict, set, frozenset, object, type)
}


class Reader(Table):
    def _decode_all(self, nodes: Node) -> list[Any]:
        return [self._decode(node) for node in nodes]

    def _decode_pairs(self, nodes: Node) -> dict[Any, Any]:
        return {self._decode(key): self._decode(value) for key, value in nodes}

    def _decode(self, node: Node) -> Any:  # noqa: ANN401 - one case per tag
        if type(node) in ATOMS:
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
                return put_together(name, tuple(self._decode_all(parts)), is_trusted=self.is_trusted is None)
            case ["class", name]:
                self.has_code = True
                return self._find_class(name)
            case ["enum", name, str(member)]:
                if issubclass(kind := self._find_class(name), enum.Enum):
                    return kind[member]
            case ["named", name, list(items)]:
                fields = getattr(kind := self._find_class(name), "_fields", None)
                if fields is not None and len(fields) == len(items) and has_known_methods(kind):
                    made = tuple.__new__(kind, self._decode_all(items))
                    self._note_code(kind, dict(zip(fields, made, strict=True)), {})
                    return made
            case ["error", name, list(arguments), list(state)]:
                kind = self._find_class(name)
                if not issubclass(kind, Exception) or not has_known_methods(kind):
                    raise Unreplayable(f"the exception {name}")
                error = kind.__new__(kind)
                error.args = tuple(self._decode_all(arguments))
                _set_attributes(error, self._check_attributes(error, self._decode_pairs(state)))
                return error
            case ["module", str(name)] if self._may_look_up(name):
                return sys.modules[name]
            case ["method", holder, str(name)] if self.is_trusted is None:
                held = self._decode(holder)
                return types.MethodType(getattr(type(held), name), held)
            case ["function", name]:
                found = self._resolve(name)
                is_welcome = self.is_trusted is None or is_pure(found) or any(one is found for one in self.named)
                if type(found).__name__ in FUNCTIONS and is_welcome:
                    self.has_code = True
                    self.named.append(found)
                    return found
            case ["handle", int(number)]:
                proxy, self.has_code = self.make_proxy(number), True
                self.proxies[id(proxy)] = number, proxy
                return proxy
            case ["own", int(number)] if 0 <= number < len(self.handles):
                self.has_code = True
                return self.handles[number]
        raise Unreplayable(f"malformed data ({str(node)[:80]})")

    def _create(self, content: Node) -> Any:  # noqa: ANN401
        """Make an object and register it before its parts, in the order of the writer."""
        numpy = sys.modules.get("numpy")
        made: Any
        match content:
            case ["transposed", list(inner)] if self.is_trusted is None:  # the same values in another order of memory
                made = self._create(inner)
                if numpy is not None and type(made) is numpy.ndarray:
                    self.numbers.pop(id(self.objects.pop()))
                    made = numpy.asfortranarray(made)
                    self._add(made)
                elif is_tensor(made):
                    axes = range(made.ndim)[::-1]
                    made.data = made.data.permute(*axes).contiguous().permute(*axes)
                return made
            case ["list" | "set" | "deque" as name, _]:
                made = LISTS[name]()
            case ["dict", str(name), _, _]:
                made = DICTS[name]()
            case ["objects", list(shape), _] if numpy is not None:
                made = self._make_objects(shape, content[2])
            case ["array", dtype, list(shape), int(place)] if numpy is not None:
                made = self._read_array(dtype, shape, place)
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
                base = find_base(kind)
                if base not in BASES or is_foreign(kind) or not self._may_make(kind):
                    raise Unreplayable(f"a new object of {kind.__module__}.{kind.__qualname__}")
                made = base.__new__(kind)
            case _:
                raise Unreplayable(f"malformed data ({str(content)[:80]})")
        self._add(made)
        self._apply(made, content)
        return made

    def _make_objects(self, shape: list[int], items: Node) -> Any:  # noqa: ANN401
        check_size(shape, len(items))
        return sys.modules["numpy"].empty(shape, object)

    def _read_array(self, dtype: Node, shape: list[int], place: int) -> Any:  # noqa: ANN401
        data = self.blobs[place]
        if self.is_trusted is not None:
            check_array(dtype, shape, len(data))
        made = sys.modules["numpy"].frombuffer(bytearray(data), read_dtype(dtype)).reshape(shape)
        if self.is_trusted is not None:
            check_booleans(made)
        return made

    def _make_tensor(self, kind: str, dtype: str, shape: list[int], place: int) -> Any:  # noqa: ANN401
        torch = sys.modules["torch"]
        found = getattr(torch, dtype)
        if type(found) is not torch.dtype or not TORCH_TYPE.fullmatch(dtype):
            raise Unreplayable(f"a tensor of type {dtype}")
        data = bytearray(self.blobs[place])
        check_size(shape, len(data) // found.itemsize)
        if found is torch.bool:
            check_flags(data)
        made = torch.frombuffer(data, dtype=found).reshape(shape) if data else torch.empty(shape, dtype=found)
        return torch.nn.Parameter(made, requires_grad=False) if kind == "Parameter" else made

    def _apply(self, value: Any, content: Node) -> None:  # noqa: ANN401 - one case per tag
        """Make a shared object hold this content."""
        if not self._fits(value, content):
            raise Unreplayable(f"other content for a {type(value).__name__}")
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
                if (made := self._decode(factory)) is not None and made is not value.default_factory:
                    if self.is_trusted is not None and made not in _FACTORIES:
                        raise Unreplayable("a dictionary that calls a function")
                    value.default_factory = made
                self._fill(value, pairs)
            case ["objects", list(shape), list(items)] if list(value.shape) == shape:
                for place, one in enumerate(self._decode_all(items)):
                    value.reshape(-1)[place] = one
            case ["array", dtype, list(shape), int(place)]:
                new = self._read_array(dtype, shape, place)
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
                vars(value).update(self._check_attributes(value, self._decode_pairs(state)))
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
                match items:
                    case ["pairs", list(pairs)] if isinstance(value, dict):
                        self._fill(value, pairs)
                        self._note_code(type(value), {"an item": [*dict.values(value)]}, {})
                    case ["items", list(parts)] if isinstance(value, list):
                        value[:] = self._decode_all(parts)
                        self._note_code(type(value), {"an item": [*list.__iter__(value)]}, {})
                    case _ if items is not None or isinstance(value, dict | list):
                        raise Unreplayable("items of another form")
                _set_attributes(value, self._check_attributes(value, self._decode_pairs(state)))
            case _:
                raise Unreplayable(f"a change of {type(value).__name__}")

    def _fill(self, value: dict[Any, Any], pairs: list[Node]) -> None:
        new = self._decode_pairs(pairs)
        base = collections.OrderedDict if type(value) is collections.OrderedDict else dict  # it keeps its own order
        base.clear(value)
        base.update(value, new)

    def _fits(self, value: Any, content: Node) -> bool:  # noqa: ANN401
        """Whether the content is that of an object of this class. Otherwise methods of its choice would be called."""
        kind, numpy = type(value), sys.modules.get("numpy")
        match content:
            case ["list" | "set" | "deque" as name, *_]:
                return kind is LISTS[name]
            case ["dict", str(name), *_]:
                return kind is DICTS.get(name)
            case ["objects" | "array", *_]:
                return numpy is not None and kind is numpy.ndarray
            case ["tensor", *_]:
                return is_tensor(value)
            case ["random", "RandomState" | "Generator" as name, _]:
                return numpy is not None and kind is getattr(numpy.random, name)
            case ["object", name, *_]:
                return kind is self._find_class(name)
        return content[:1] == ["pickled"] and self.is_trusted is None

    def _may_make(self, kind: type) -> bool:
        """Whether a candidate may make objects of the class: no attribute of them may decide what they are equal to, or
        be called by a library."""
        if self.is_trusted is None:
            return True
        local = [cls for cls in type.mro(kind) if not self._is_shared(cls.__module__)]  # a class of the tests
        special = {name for cls in local for name in vars(cls) if name.startswith("__")} - IMPLICIT - _HARMLESS
        is_known = bool(local) or kind.__module__.startswith(_LIBRARIES) or self.is_trusted(kind.__module__)
        return is_known and not special and has_known_methods(kind)

    def _check_attributes(self, value: Any, names: dict[Any, Any]) -> dict[str, Any]:  # noqa: ANN401
        """A special attribute could decide what the object is equal to, and so could one in place of a method."""
        if self.is_trusted is None:
            return names
        kind, held = type(value), getattr(value, "__dict__", {})
        for name in names.keys() - held.keys():
            if check_attribute(kind, name, names[name]):
                self.note(f"{kind.__qualname__}.{name} in place of data of the class")
            elif name in list_asked(kind):  # type: ignore[arg-type]
                self.note(f"{kind.__qualname__}.{name}, which its methods ask for")
        every = names.keys() | held.keys()
        cached = {name for name in every if isinstance(getattr(kind, name, None), functools.cached_property)}
        for name in held.keys() - names.keys() - cached:
            self.note(f"{kind.__qualname__}.{name} deleted")
        self._note_code(kind, names, held)
        # the project computes it again: methods may judge by it
        made_up = {name for name in cached & names.keys() if name not in held or held[name] is not names[name]}
        return {name: names[name] for name in names if name not in made_up}

    def _note_code(self, kind: type, names: dict[str, Any], held: dict[str, Any]) -> None:
        """Functions and classes that an object newly holds: a test would ask them what is right."""
        for name, value in names.items() if self.has_code and self.is_trusted is not None else ():
            if name not in held or held[name] is not value:
                for what in self._list_code(value):
                    self.note(f"{what} as {kind.__qualname__}.{name}")

    def _list_code(self, value: Any) -> Iterator[str]:  # noqa: ANN401
        """The functions of the other side, and the classes and functions known by name, that it is or holds."""
        kind = type(value)
        if id(value) in self.proxies:
            yield "a function"
        elif isinstance(value, type) or kind.__name__ in FUNCTIONS:
            yield f"{value.__module__}.{value.__qualname__}"
        elif issubclass(kind, tuple) or kind in LISTS.values():
            for part in value:
                yield from self._list_code(part)
        elif kind in DICTS.values():
            yield from self._list_code([*dict.values(value)])
        elif kind.__name__ == "ndarray" and value.dtype == object:
            yield from self._list_code(value.ravel().tolist())

    def _find_class(self, name: Node) -> Any:  # noqa: ANN401
        match name:
            case ["own", int(number)] if 0 <= number < len(self.handles):
                found = self.handles[number]
            case ["local", int(number), description] if self.is_trusted is None:
                found = self._make_class(number, description)
            case _:
                found = self._resolve(name)
        if not isinstance(found, type):
            raise Unreplayable(f"{name} is no class")
        return found

    def _make_class(self, number: int, description: Node) -> type:
        """The counterpart of a class of the tests, in the candidate's process."""
        if number not in self.classes:
            module, qualname, bases, members = description
            found = {name: _WRAPPERS[wrapper](self._decode(value)) for name, wrapper, value in members}
            found |= {"__module__": module, "__qualname__": qualname}
            kinds = tuple(self._find_class(base) for base in bases)
            made = types.new_class(qualname.rpartition(".")[2], kinds, {}, lambda names: names.update(found))
            self.classes[number] = made
            self.proxies[id(made)] = number, made
        return self.classes[number]

    def _may_look_up(self, module: str) -> bool:
        if self.is_trusted is None:
            return True
        parts = module.split(".")
        return (parts[0] in _STANDARD or self._is_known(module)) and not _CLOSED & set(parts)

    def _resolve(self, name: Node) -> Any:  # noqa: ANN401
        module, qualname = map(str, name)
        if self.is_trusted is None and module not in sys.modules:
            importlib.import_module(module)
        found = look_up(module, qualname)
        is_error = isinstance(found, type) and issubclass(found, Exception)
        is_builtin = module == "builtins" and (qualname in _BUILTINS or is_error)
        home = getattr(found, "__module__", None) or module
        is_allowed = self._may_look_up(module) and (home == "builtins" or self._may_look_up(home))
        if found is None or not (is_builtin or is_allowed) or found in _EVALUATING:
            raise Unreplayable(f"{module}.{qualname}, which the tests' process does not know or trust")
        return found


def _set_attributes(value: Any, names: dict[str, Any]) -> None:  # noqa: ANN401
    slots = set(list_slots(type(value)))
    held = getattr(value, "__dict__", {})
    held.clear()
    for name, one in names.items():
        if name in slots:
            object.__setattr__(value, name, one)
        else:
            held[str(name)] = one
