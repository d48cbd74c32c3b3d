"""Integrity snapshot: detect that a candidate replaced something that tests judge by.

A candidate that replaces `torch.allclose`, `pytest.raises` or `builtins.abs` passes any test. Only code that was there
before counts: libraries add names and fill caches honestly.
"""

import builtins
import operator
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .project_data import keep_data

_ROOTS = ("pytest", "_pytest", "pluggy", "unittest", "absl.testing", "hypothesis", "chex._src.asserts")
_EXACT = frozenset({
    "builtins", "operator", "math", "cmath", "functools", "itertools", "collections", "typing", "inspect", "copy",
    "time", "random", "os", "os.path", "re", "string", "numpy", "numpy.testing", "numpy.testing._private.utils",
    "numpy.linalg", "numpy.random", "numpy._core", "numpy._core._methods", "numpy._core.numeric",
    "numpy._core.fromnumeric", "numpy._core.numerictypes", "numpy.ma", "numpy.ma.core", "scipy.stats", "scipy.linalg",
    "torch", "torch.testing", "torch.testing._comparison", "torch.functional", "torch.nn.functional", "torch.linalg",
    "jax", "jax.numpy", "jax.tree_util", "jax.tree", "jax._src.test_util", "jax._src.public_test_util", "chex",
    "tensorflow", "tensorflow.test", "tensorflow.python.framework.test_util", "tensorflow.python.platform.test",
    "keras", "keras.src.testing", "keras.src.testing.test_case", "pandas", "pandas.testing", "pandas._testing",
    "sklearn.utils._testing",
})  # fmt: skip
_MOST_USED = frozenset({
    "builtins", "math", "operator", "functools", "numpy", "numpy.testing", "numpy.testing._private.utils", "torch",
    "torch.testing", "torch.testing._comparison", "torch.Tensor", "jax.numpy", "unittest.case.TestCase", "pytest",
    "_pytest.python.Function", "_pytest.runner", "_pytest.reports.TestReport", "_pytest.raises",
})  # fmt: skip
_REPLACED_BY_LIBRARIES = frozenset({"torch.manual_seed", "typing._collect_parameters"})
"""Importing torch's compiler or keras replaces these; no comparison uses them."""
_STRICT = ("json", "json.encoder", "hmac", "hashlib")
_CLASSES = (
    ("torch", "Tensor"), ("torch.nn", "Module"), ("numpy", "ndarray"), ("pandas", "DataFrame"), ("pandas", "Series"),
)  # fmt: skip
_CODE: tuple[type, ...] = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, type, property, staticmethod, classmethod,
    types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
)  # fmt: skip

FindReplaced = Callable[[bool], list[str]]
"""Lists what was replaced: in the names that most comparisons use (True), or in all."""


def check(find_replaced: FindReplaced, tampered: Callable[[str], None], *, quickly: bool = False) -> None:
    for replaced in find_replaced(quickly):
        tampered(f"{replaced} was replaced")


def take_snapshot(tests: list[str], tree: str, answer: Sequence[str] = ()) -> FindReplaced:
    """Record the tests, the project and what judges them; return a function that lists what was replaced since.
    `answer`: files of the project whose modules may change themselves."""
    kept: list[tuple[str, Mapping[str, Any], list[str], list[Any], int | None, frozenset[str]]] = []
    python = frozenset(dir(builtins))
    files, own, seen = set(tests), set(answer), set[int]()

    def add(name: str, names: Mapping[str, Any], *, strict: bool = False, kind: type | None = None) -> None:
        held = [key for key, value in names.items() if strict or isinstance(value, _CODE)]
        held = [key for key in held if f"{name}.{key}" not in _REPLACED_BY_LIBRARIES]
        # a new name may hide a builtin, or what a class inherits
        hidden = frozenset(dir(kind)) - names.keys() if kind is not None else python if strict else frozenset()
        count = len(names) if strict or kind is not None else None
        kept.append((name, names, held, [names[key] for key in held], count, hidden))

    for name, module in list(sys.modules.items()):
        if not issubclass(type(module), types.ModuleType):  # libraries of cffi only claim to be modules
            continue
        names = types.ModuleType.__getattribute__(module, "__dict__")
        file = names.get("__file__") or ""
        is_judge = any(name == root or name.startswith(root + ".") for root in _ROOTS)
        strict = file in files or name in _STRICT
        if (
            id(names) in seen
            or file in own
            or not (strict or is_judge or name in _EXACT or file.startswith(tree + os.sep))
        ):
            continue
        seen.add(id(names))
        add(name, names, strict=strict)
        for key, value in list(names.items()):
            if isinstance(value, type) and value.__module__ == name and id(value) not in seen and name != "torch":
                seen.add(id(value))
                add(f"{name}.{key}", vars(value), kind=value if file in files or name == "unittest.case" else None)
    for name, key in _CLASSES:
        value = getattr(sys.modules.get(name), key, None)
        if isinstance(value, type) and id(value) not in seen:
            add(f"{name}.{key}", vars(value))
    below = tree + os.sep
    # modules that an answer may change hold what its other modules set
    find_changed = keep_data(lambda file: file.startswith(below) and file not in files) if not own else list[str]
    same = operator.is_
    most_used = [one for one in kept if one[0] in _MOST_USED or one[4] is not None]

    def find_replaced(quickly: bool) -> list[str]:
        found = []
        for name, names, held, values, count, hidden in most_used if quickly else kept:
            try:
                if all(map(same, map(names.__getitem__, held), values)) and count in (None, len(names)):
                    continue
            except KeyError:
                pass
            found += [f"{name}.{key}" for key, value in zip(held, values, strict=True) if names.get(key) is not value]
            if count is not None:
                found += [f"{name}.{key}" for key in names if key not in held and key in hidden]
        return found if quickly else found + find_changed()

    return find_replaced
