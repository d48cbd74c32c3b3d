"""Registries: extension points whose members register themselves by name.

A technique, a sandbox, a model client, an operator, a statistic or a report section is one function or one file. A
registry imports every module of its package on first use, so a new file needs no other edit. Help texts are generated
from the registry; tests compare the tables of the documentation with it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules
from typing import Generic, TypeVar

from dlbench.errors import DLBenchError

Member = TypeVar("Member")


class Registry(Mapping[str, Member], Generic[Member]):
    """Members by name, sorted by `order`, then in order of registration."""

    def __init__(self, kind: str, package: str = "") -> None:
        self.kind = kind
        self._package = package
        self._members: dict[str, tuple[int, Member]] = {}
        self._is_loaded = not package

    def add(self, name: str, member: Member, *, order: int = 100) -> Member:
        if name in self._members:
            raise ValueError(f"there are two {self.kind}s called {name!r}")
        self._members[name] = (order, member)
        return member

    def register(self, name: str, *, order: int = 100) -> Callable[[Member], Member]:
        """A decorator: `@TECHNIQUES.register("zero-shot")`."""
        return lambda member: self.add(name, member, order=order)

    def find(self, name: str) -> Member:
        """The member called `name`, or an error that lists the names there are."""
        if name in self:
            return self[name]
        raise DLBenchError(f"there is no {self.kind} {name!r}", fix=f"choose one of {', '.join(self)}")

    def __getitem__(self, name: str) -> Member:
        self._load()
        return self._members[name][1]

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._members, key=lambda name: self._members[name][0]))

    def __len__(self) -> int:
        self._load()
        return len(self._members)

    def _load(self) -> None:
        if self._is_loaded:
            return
        self._is_loaded = True
        for module in iter_modules(import_module(self._package).__path__):
            import_module(f"{self._package}.{module.name}")


_FEW = 8


def list_near(name: str, known: Iterable[str]) -> list[str]:
    """At most three, best first; those that contain the name where none is close."""
    listed = list(known)
    return get_close_matches(name, listed, n=3) or [other for other in listed if name in other][:3]


def find_known(name: str, known: Mapping[str, Member], kind: str, where: str = "") -> Member:
    """The value called `name`, or an error that names the closest matches."""
    if name in known:
        return known[name]
    near = list_near(name, known)
    own = "name a benchmark of your own by --benchmark"
    fix = f"`dlbench list` shows what there is; {own}"
    if len(known) <= _FEW:
        fix = f"use one of: {', '.join(known)}"
    if near:
        fix = f"did you mean {' or '.join(near)}?" + (f" Otherwise {own}" if len(known) > _FEW else "")
    raise DLBenchError(f"there is no {kind} {name!r}", where=where, fix=fix)
