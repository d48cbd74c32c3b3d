"""What can an expression be, as far as calls are concerned?

A module, a class, an object of a class, a function. Everything else, numbers and tensors and what other libraries give,
is nothing. A container is what its elements are, so that a loop over it need not be told apart.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from dlbench.construction.calls.sources import ClassDef, FunctionDef, Module, Sources

_DEPTH = 12


@dataclass(frozen=True)
class Bound:
    """A function with the class whose object it is called on; a plain function has none."""

    function: FunctionDef
    receiver: ClassDef | None = None


@dataclass(frozen=True)
class Instance:
    of: ClassDef


@dataclass(frozen=True)
class Super:
    """What `super()` gives: the methods of those above `above` in the order of `receiver`."""

    receiver: ClassDef
    above: ClassDef


Thing = Module | ClassDef | Bound | Instance | Super
Things = frozenset[Thing]
NOTHING: Things = frozenset()


class Lookup:
    """Names to things, over the whole project."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._orders: dict[ClassDef, list[ClassDef]] = {}
        self._globals: dict[tuple[Module, str], Things] = {}

    def dotted(self, name: str, depth: int = 0) -> Things:
        """What a dotted name leads to: a module, or a name in one."""
        module = self.sources.find_module(name)
        if module is not None:
            return frozenset({module})
        head, _, last = name.rpartition(".")
        if not head or depth > _DEPTH:
            return NOTHING
        found: set[Thing] = set()
        for thing in self.dotted(head, depth + 1):
            found |= self.attribute_of_module(thing, last, depth + 1) if isinstance(thing, Module) else set()
            if isinstance(thing, ClassDef):
                found |= self.member(thing, last, None)
        return frozenset(found)

    def attribute_of_module(self, module: Module, name: str, depth: int = 0) -> Things:
        found = self.global_name(module, name, depth)
        if not found:
            submodule = self.sources.find_module(f"{module.name}.{name}")
            found = frozenset({submodule}) if submodule else NOTHING
        if not found and module.is_package and not name.startswith("__"):
            # exported by a hook that runs on import: the only thing of that name below the package
            below = [d for d in self.sources.top.get(name, []) if d.module.name.startswith(f"{module.name}.")]
            found = frozenset({_as_thing(below[0])}) if len(below) == 1 else NOTHING
        return found

    def global_name(self, module: Module, name: str, depth: int = 0) -> Things:
        """Without the values of assignments that are more than another name: see `Follower.global_value`."""
        key = (module, name)
        if key in self._globals:
            return self._globals[key]
        if depth > _DEPTH:
            return NOTHING
        self._globals[key] = NOTHING  # names that lead to each other
        found: set[Thing] = {_as_thing(d) for d in module.names.get(name, []) if isinstance(d, FunctionDef | ClassDef)}
        for dotted in module.imports.get(name, []):
            if dotted != f"{module.name}.{name}":
                found |= self.dotted(dotted, depth + 1)
            elif (submodule := self.sources.find_module(dotted)) is not None:
                found.add(submodule)
        for star in [] if found or name in module.names else module.stars:
            origin = self.sources.find_module(star)
            if origin is not None and origin is not module:
                found |= self.attribute_of_module(origin, name, depth + 1)
        self._globals[key] = frozenset(found)
        return self._globals[key]

    def order(self, owner: ClassDef) -> list[ClassDef]:
        """The class and those above it in the project, depth first, each once."""
        if owner not in self._orders:
            self._orders[owner] = [owner]  # a class above itself
            found = [owner]
            for base in owner.node.bases:
                inner = base.value if isinstance(base, ast.Subscript) else base
                for thing in self.expression(owner.module, inner):
                    if isinstance(thing, ClassDef):
                        found += [one for one in self.order(thing) if one not in found]
            self._orders[owner] = found
        return self._orders[owner]

    def expression(self, module: Module, node: ast.expr) -> Things:
        """A name or dotted name at the top of a module."""
        match node:
            case ast.Name(id=name):
                found = self.global_name(module, name)
                if not found:
                    values = [
                        value for value in module.names.get(name, []) if isinstance(value, ast.Name | ast.Attribute)
                    ]
                    return union(self.expression(module, value) for value in values if value is not node)
                return found
            case ast.Attribute(value=value, attr=name):
                return union(
                    self.attribute_of_module(thing, name)
                    if isinstance(thing, Module)
                    else self.member(thing, name, None)
                    if isinstance(thing, ClassDef)
                    else NOTHING
                    for thing in self.expression(module, value)
                )
        return NOTHING

    def member(self, owner: ClassDef, name: str, receiver: ClassDef | None) -> Things:
        """The first in the class's order that defines the name."""
        return self._first(self.order(owner), name, receiver)

    def member_above(self, asked: Super, name: str) -> Things:
        order = self.order(asked.receiver)
        rest = order[order.index(asked.above) + 1 :] if asked.above in order else self.order(asked.above)[1:]
        return self._first(rest, name, asked.receiver)

    def _first(self, order: list[ClassDef], name: str, receiver: ClassDef | None) -> Things:
        for one in order:
            found = {
                Bound(part, receiver) if isinstance(part, FunctionDef) else part
                for part in one.members.get(name, [])
                if isinstance(part, FunctionDef | ClassDef)
            }
            if found:
                return frozenset(found)
        return NOTHING

    def value_of_member(self, owner: ClassDef, name: str) -> tuple[Module, ast.expr] | None:
        for one in self.order(owner):
            for part in one.members.get(name, []):
                if isinstance(part, ast.expr):
                    return one.module, part
        return None


def _as_thing(definition: FunctionDef | ClassDef) -> Thing:
    return Bound(definition) if isinstance(definition, FunctionDef) else definition


def union(parts: Iterable[Things]) -> Things:
    return frozenset().union(*parts)
