"""Replace the target in an imported module by a placeholder, and the placeholder by a candidate.

The placeholder has the target's header and decorators, and a body that raises. Its function object is given the
candidate's code, so that every alias, decorator, subclass and closure that holds the function sees the candidate. A
candidate's process holds no reference.
"""

import __future__

import ast
import functools
import importlib.machinery
import linecache
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_MARK = "_dlbench_called"
Called = set[tuple[str, int]]
"""Functions that ran while the project was imported, by file and first line."""
Matches = Callable[[types.CodeType], bool]


class NotInPlace(Exception):
    """The candidate cannot be patched in faithfully and must be imported instead."""


class Override:
    """An importer that reads one file with the body of a function replaced by the placeholder's."""

    def __init__(self, path: str, text: str, masked: tuple[int, str]) -> None:
        self.path, self.text, self.masked = path, text, masked

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin != self.path:
            return None
        loader = spec.loader
        assert isinstance(loader, importlib.machinery.SourceFileLoader)
        spec.loader = _Loader(loader.name, loader.path, self)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, override: Override) -> None:
        super().__init__(name, path)
        self.override: Override | None = override

    def get_code(self, fullname: str) -> types.CodeType | None:
        if self.override is None:
            return super().get_code(fullname)
        override, self.override = self.override, None
        return compile(strip_body(override.text, *override.masked), override.path, "exec", dont_inherit=True)


def override_source(path: str, source: str) -> None:
    """Make every import of a file, and tracebacks, take another source.

    Not by an importer: a project may execute its modules again, with loaders of its own choice.
    """
    kind: Any = importlib.machinery.SourceFileLoader
    original = kind.get_code

    def get_code(self: importlib.machinery.SourceFileLoader, fullname: str) -> types.CodeType | None:
        if self.path == path:
            return compile(source, path, "exec", dont_inherit=True)
        return original(self, fullname)  # type: ignore[no-any-return]

    kind.get_code = get_code
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)


def strip_body(text: str, line: int, name: str, *, closes: bool = True) -> ast.Module:
    """Parse the module and replace the body of the function whose `def` is on a line by the placeholder's. `closes`: a
    method gets a closure cell for its class, which a candidate may need."""
    tree = ast.parse(text)
    for node, inside in _functions(tree, inside=False):
        if node.lineno == line and node.name == name:
            placeholder = f"import sys\nsys.{_MARK} = True\nraise NotImplementedError\n"
            placeholder += "yield\n" if yields(node) else ""
            placeholder += "__class__\n" if inside and closes else ""
            body = ast.parse(placeholder)
            for inner in ast.walk(body):
                ast.copy_location(inner, node.body[0])
            node.body = body.body
            return tree
    raise NotInPlace(f"there is no function {name} at line {line}")


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(tree: ast.AST, *, inside: bool) -> Iterator[tuple[_Function, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Function):
            yield node, inside
        else:
            yield from _functions(node, inside=inside or isinstance(node, ast.ClassDef))


def yields(function: _Function) -> bool:
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, _Function | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(node)
    return False


def find_placeholder(module: str, qualname: str) -> types.FunctionType:
    """The function object of the placeholder, beneath any decorators."""
    if hasattr(sys, _MARK):
        raise NotInPlace("it is called while modules are imported or tests collected")
    if module not in sys.modules:
        importlib.import_module(module)
    return _find_only(module, qualname, lambda code: _MARK in code.co_names)


def install_placeholder(module: str, qualname: str, path: str, text: str, line: int, called: Called) -> None:
    """Replace the code of the imported reference by the placeholder's."""
    name = qualname.rpartition(".")[2]

    def is_reference(code: types.CodeType) -> bool:
        if (code.co_filename, code.co_name) != (path, name):
            return False
        first, last = _span(text, code.co_firstlineno)  # with or without decorators
        return first < line <= last

    function = _find_only(module, qualname, is_reference)
    if (path, function.__code__.co_firstlineno) in called:
        raise NotInPlace("it is called while modules are imported")
    closes = "__class__" in function.__code__.co_freevars
    code = compile(strip_body(text, line, name, closes=closes), path, "exec", dont_inherit=True)
    for part in qualname.split("."):
        inner = [one for one in code.co_consts if isinstance(one, types.CodeType) and one.co_name == part]
        # of several definitions of a name, the one with the mark is the one that the module kept
        code = next((one for one in inner if _holds_mark(one)), inner[-1])
    if len(code.co_freevars) != len(function.__code__.co_freevars) or _MARK not in code.co_names:
        raise NotInPlace("it closes over other names than its class")
    function.__code__ = code
    _describe(function, None)


def _holds_mark(code: types.CodeType) -> bool:
    inner = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return _MARK in code.co_names or any(map(_holds_mark, inner))


def find_functions(module: str, qualname: str, matches: Matches) -> list[types.FunctionType]:
    """The functions of that name whose code matches, beneath any decorators; the outermost first."""
    holder: Any = sys.modules[module]
    for part in qualname.split(".")[:-1]:
        holder = vars(holder).get(part)
        if not isinstance(holder, type):
            raise NotInPlace(f"{part} is not a class")
    thing = vars(holder).get(qualname.rpartition(".")[2])
    found = {id(function): function for function in _unwrap(thing, matches, set())}
    if not found:
        raise NotInPlace("no function stands for it")
    return list(found.values())


def _find_only(module: str, qualname: str, matches: Matches) -> types.FunctionType:
    found = find_functions(module, qualname, matches)
    if len(found) != 1:
        raise NotInPlace(f"{len(found)} functions stand for it")
    (function,) = found
    # one reference by the function, one by this call; the collector does not list referrers of frozen objects
    if sys.getrefcount(function.__code__) > 2:
        raise NotInPlace("something else holds its code")
    return function


def _unwrap(thing: Any, matches: Matches, seen: set[int]) -> Iterator[types.FunctionType]:  # noqa: ANN401 - any decorator
    if thing is None or id(thing) in seen or len(seen) > 200:
        return
    seen.add(id(thing))
    if isinstance(thing, types.FunctionType):
        if matches(thing.__code__):
            yield thing
        for cell in thing.__closure__ or ():
            try:
                inner = cell.cell_contents
            except ValueError:
                continue
            if callable(inner) and not isinstance(inner, type):
                yield from _unwrap(inner, matches, seen)
    names = ("__func__", "__wrapped__", "fget", "fset", "fdel", "func", "python_function")
    for inner in [getattr(thing, name, None) for name in names]:
        if callable(inner) and not isinstance(inner, type):
            yield from _unwrap(inner, matches, seen)


def patch_function(function: types.FunctionType, names: dict[str, Any], patch: dict[str, Any]) -> None:
    """Give the function the candidate's code; raise what the candidate's own statements raise."""
    flags = sum(getattr(__future__, name).compiler_flag for name in set(patch["future"]))
    filename = patch["filename"]
    linecache.cache[filename] = (len(patch["source"]), None, patch["source"].splitlines(keepends=True), filename)
    if patch["helpers"]:
        text = "\n" * (patch["helpers_line"] - 1) + patch["helpers"]
        exec(compile(text, filename, "exec", flags, dont_inherit=True), names)
    text = "\n" * (patch["line"] - 1 - len(patch["classes"])) + patch["target"]
    tree = ast.parse(text)
    ((node, _),) = _functions(tree, inside=False)
    if "__class__" in function.__code__.co_freevars:  # the cell exists whether the candidate uses it or not
        unreached = ast.If(ast.Constant(0), [ast.Expr(ast.Name("__class__", ast.Load()))], [])
        node.body.append(ast.fix_missing_locations(ast.copy_location(unreached, node.body[-1])))
    code = compile(tree, filename, "exec", flags, dont_inherit=True)
    for name in [*patch["classes"], node.name]:
        code = next(part for part in code.co_consts if isinstance(part, types.CodeType) and part.co_name == name)
    if len(code.co_freevars) != len(function.__code__.co_freevars):
        raise NotInPlace("it closes over other names than its class")
    function.__code__ = code.replace(co_qualname=function.__qualname__)
    _describe(function, ast.get_docstring(node, clean=False))
    if patch["signature"] is not None:
        _change_signature(function, patch["signature"], names)


def _describe(function: types.FunctionType, docstring: str | None) -> None:
    """Set the docstring, also where a decorator copied it."""
    old, function.__doc__ = function.__doc__, docstring
    holder: Any = sys.modules[function.__module__]
    for part in function.__qualname__.split("."):
        holder = vars(holder).get(part) if hasattr(holder, "__dict__") else None
    while isinstance(holder, types.FunctionType | functools.partial) and holder is not function:
        if holder.__doc__ == old:
            holder.__doc__ = docstring
        holder = getattr(holder, "__wrapped__", None)


def _change_signature(function: types.FunctionType, signature: dict[str, Any], names: dict[str, Any]) -> None:
    """Set defaults (literals, or the reference's for the same parameter) and annotations."""
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    values = dict(zip(reversed(signature["positional"]), reversed(function.__defaults__ or ()), strict=False))
    values |= function.__kwdefaults__ or {}

    def value_of(name: str) -> Any:  # noqa: ANN401 - any default
        literal = signature["defaults"][name]
        return values[name] if literal is None else ast.literal_eval(literal)

    function.__defaults__ = tuple(value_of(name) for name in positional if name in signature["defaults"]) or None
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    function.__kwdefaults__ = {name: value_of(name) for name in keywords if name in signature["defaults"]} or None
    texts = signature["annotations"].items()
    annotations = {name: text if signature["lazy"] else eval(text, names) for name, text in texts}
    function.__annotations__.clear()
    function.__annotations__.update(annotations)


def hide_source(path: str, text: str, function: types.FunctionType) -> None:
    """Blank the lines of the reference in the cached source of the module."""
    lines = text.splitlines(keepends=True)
    for number in range(*_span(text, function.__code__.co_firstlineno)):
        lines[number] = "\n"
    linecache.cache[path] = (len(text), None, lines, path)


def _span(text: str, first: int) -> tuple[int, int]:
    """The line numbers, from 0, of the function that begins at a line."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _Function):
            begins = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if begins == first:
                return begins - 1, node.end_lineno or begins
    return 0, 0
