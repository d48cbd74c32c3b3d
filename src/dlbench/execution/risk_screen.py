"""Decide from a candidate's code whether its execution must be watched.

Watching what a candidate returns and replaces slows it down. Nearly all answers only name, call, index and compute;
they cannot forge equality or replace what tests judge by, and are not watched. The screen decides how closely to watch,
never the verdict: code that it does not know is watched.
"""

import ast

from dlbench.execution.inside.audit import FORBIDDEN

_NAMES = {
    "eval", "exec", "compile", "__import__", "globals", "vars", "locals", "setattr", "delattr", "open", "breakpoint",
    "memoryview", "__builtins__", "__loader__", "__spec__", "input", "type", "getattr", "hasattr",
}  # fmt: skip
_MODULES = {
    "sys", "os", "gc", "inspect", "ctypes", "_ctypes", "types", "builtins", "importlib", "signal", "_signal",
    "threading", "_thread", "subprocess", "unittest", "pytest", "_pytest", "pluggy", "mock", "testing", "ma",
    "masked", "linecache", "traceback", "atexit", "weakref", "operator", "pickle", "marshal", "code", "codeop",
    "faulthandler", "runpy", "pkgutil", "multiprocessing", "asyncio", "concurrent", "contextvars", "tracemalloc",
    "trace", "pdb", "bdb", "cgitb", "site", "sysconfig", "tokenize", "hypothesis", "absl", "as_strided", "ctypeslib",
    "frombuffer", "from_dlpack", "_C", "overrides", "__future__",
}  # fmt: skip
_DUNDERS = {
    "__init__", "__class__", "__name__", "__call__", "__getitem__", "__setitem__", "__len__", "__iter__", "__enter__",
    "__exit__", "__doc__", "__new__", "__next__", "__contains__", "__neg__", "__add__", "__mul__",
}  # fmt: skip


def find_forbidden(tree: ast.Module) -> list[str]:
    """Names that lead only to the judge or to the values of tests, wherever they are spelt out."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Constant(value=str(name)):
                found += [
                    word for word in FORBIDDEN if word == name or (isinstance(node, ast.Constant) and word in name)
                ]
            case ast.Import(names=names):
                found += [alias.name for alias in names if alias.name.partition(".")[0] in FORBIDDEN]
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in FORBIDDEN:
                found.append(module)
    return found


def needs_watching(tree: ast.Module) -> bool:
    nodes = list(ast.walk(tree))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call) and _is_harmless_call(node)}
    return any(_is_unusual(node) for node in nodes if id(node) not in called)


def _is_harmless_call(call: ast.Call) -> bool:
    """`type(x)`, and attributes by a literal name, which equal the plain attribute access."""
    match call:
        case ast.Call(func=ast.Name(id="type"), args=[_], keywords=[]):
            return True
        case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return not _is_dunder(name) and name not in _MODULES
    return False


def _is_unusual(node: ast.AST) -> bool:
    match node:
        case ast.ClassDef() | ast.Global() | ast.Nonlocal() | ast.Delete():
            return True
        case ast.Import(names=names):
            return any(_is_strange(alias.name) for alias in names)
        case ast.ImportFrom(module=module, names=names):
            return _is_strange(module or "") or any(_is_strange(alias.name) for alias in names)
        case ast.Name(id=name):
            return name in _NAMES or name in _MODULES or _is_dunder(name)
        case ast.Attribute(attr=name, ctx=ast.Load()):
            return name in _MODULES or _is_dunder(name)
        case ast.Attribute(value=value, attr=name):
            return not (isinstance(value, ast.Name) and value.id in {"self", "cls"}) or _is_dunder(name)
        case ast.Constant(value=str(text)):
            return "__" in text or text in _MODULES or text in _NAMES
    return False


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _DUNDERS


def _is_strange(module: str) -> bool:
    return any(part in _MODULES for part in module.split("."))
