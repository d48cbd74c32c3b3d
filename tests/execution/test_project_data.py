"""Data of the project that a candidate changed is found; what honest code leaves behind is not."""

import sys
import types
from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np
import pytest

from dlbench.execution.inside.project_data import keep_data


class Style(NamedTuple):
    limit: float = 1e-6


class Base:
    limit = 1e-6
    count = 0


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    module = types.ModuleType("toy_data")
    kind = type("Kind", (Base,), {"__module__": "toy_data", "limit": 1e-6, "count": 0})
    module.__dict__.update(__file__="/tree/toy_data.py", Kind=kind, STEPS=[1, [2, 3]], OFFSETS=np.ones(3), LIMIT=1e-6)
    module.__dict__.update(TABLE={"tolerance": 1e-6, "sizes": [1], "use": len}, count=3, has_warned=False, made=None)
    inner = type("Inner", (), {"__module__": "toy_data", "__qualname__": "Kind.Inner", "limit": 1e-6})
    fine = type("Fine", (kind,), {"__module__": "toy_data"})
    kind.Inner, kind.__init__ = inner, lambda self: setattr(self, "limit", 1e-6)  # type: ignore[attr-defined,misc]
    module.__dict__.update(Fine=fine, CURRENT=ContextVar("current", default=1e-6), OPTIONS=kind(), STYLE=Style())
    module.__dict__.update(EPSILON=np.float64(1e-6), DEEP={"a": {"b": {"c": {"limit": 1e-6}}}})
    monkeypatch.setitem(sys.modules, "toy_data", module)
    return module


CHANGES: dict[str, Callable[[types.ModuleType], object]] = {
    "TABLE": lambda toy: toy.TABLE.update(tolerance=1e9),
    "TABLE without a key": lambda toy: toy.TABLE.pop("use"),
    "TABLE with another function": lambda toy: toy.TABLE.update(use=abs),
    "TABLE below": lambda toy: toy.TABLE["sizes"].clear(),
    "STEPS": lambda toy: toy.STEPS.clear(),
    "STEPS below": lambda toy: toy.STEPS[1].reverse(),
    "STEPS with larger numbers": lambda toy: toy.STEPS.__setitem__(0, 9),
    "OFFSETS": lambda toy: toy.OFFSETS.fill(0),
    "OFFSETS of another kind": lambda toy: setattr(toy, "OFFSETS", [1.0, 1.0, 1.0]),
    "LIMIT": lambda toy: setattr(toy, "LIMIT", 1e9),
    "LIMIT that is gone": lambda toy: delattr(toy, "LIMIT"),
    "Kind.limit": lambda toy: setattr(toy.Kind, "limit", 1e9),
    "count": lambda toy: setattr(toy, "count", 0),
    "Kind.Inner.limit": lambda toy: setattr(toy.Kind.Inner, "limit", 1e9),
    "Fine.limit": lambda toy: setattr(toy.Fine, "limit", 1e9),
    "CURRENT": lambda toy: toy.CURRENT.set(1e9),
    "OPTIONS": lambda toy: setattr(toy.OPTIONS, "limit", 1e9),
    "STYLE": lambda toy: setattr(toy, "STYLE", Style(1e9)),
    "EPSILON": lambda toy: setattr(toy, "EPSILON", np.float64(1e9)),
    "DEEP": lambda toy: toy.DEEP["a"]["b"]["c"].update(limit=1e9),
}


@pytest.mark.parametrize("name", CHANGES)
def test_change_is_found(name: str, toy: types.ModuleType):
    find_changed = keep_data(lambda file: file.startswith("/tree/"))
    assert find_changed() == []
    CHANGES[name](toy)
    assert find_changed() == [f"toy_data.{name.partition(' ')[0]}"]


def test_what_caches_counts_and_flags_hold_is_no_change(toy: types.ModuleType):
    find_changed = keep_data(lambda file: file.startswith("/tree/"))
    toy.TABLE["new"], toy.count, toy.has_warned, toy.made, toy.Kind.count = 1, 4, True, object(), 1
    toy.STEPS.append(4)
    toy.TABLE["sizes"].append(2)
    toy.STEPS[1] = list(toy.STEPS[1])
    assert find_changed() == []


def test_data_of_other_modules_is_not_kept(toy: types.ModuleType):
    find_changed = keep_data(lambda file: file.startswith("/elsewhere/"))
    toy.STEPS.clear()
    assert find_changed() == []
