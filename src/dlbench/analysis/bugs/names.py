"""Find names that a candidate uses and nothing defines, without running it.

Library paths are looked up in the project's own environment because another version of a library may differ. Only
libraries that the project's modules import are imported for the lookup, and no candidate code runs.
"""

import ast
import builtins
import json
import subprocess
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache

from dlbench.dataset.target import dotted_name, parse_statements
from dlbench.errors import DLBenchError
from dlbench.execution.names import find_names
from dlbench.parsing import parse
from dlbench.workspace import Prepared

_BUILTINS = frozenset(dir(builtins)) | {"__class__", "__file__", "__name__"}
_LOOKUP_SECONDS = 180
_LOOKUP = """
import importlib, importlib.util, json, sys
request = json.load(sys.stdin)
missing = []
for path in request["paths"]:
    top, *rest = path.split(".")
    try:
        if importlib.util.find_spec(top) is None:
            missing.append(path)
            continue
        if top not in request["importable"]:
            continue
        here, name = importlib.import_module(top), top
        for part in rest:
            name += "." + part
            if not hasattr(here, part):
                importlib.import_module(name)
            here = getattr(here, part)
            if not isinstance(here, type(sys)):
                break
    except (ImportError, AttributeError):
        missing.append(path)
    except Exception:
        pass
print(json.dumps(missing))
"""


@dataclass(frozen=True)
class Names:
    undefined: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    """The undefined names that are called or look like a class."""
    unknown_of_self: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    """Library paths such as `numpy.foo` that the candidate uses and the module does not."""


@dataclass(frozen=True)
class ModuleNames:
    bound: frozenset[str]
    imports: dict[str, str]
    """By name, the path it stands for."""
    words: frozenset[str]
    """Every name and attribute in the module."""
    used: frozenset[str]
    """Library paths that the module uses and that therefore exist."""


@lru_cache(maxsize=4096)
def parse_candidate(code: str | None) -> ast.Module | None:
    if code is None:
        return None
    try:
        tree = ast.Module(parse_statements(code), [])
        find_names(ast.unparse(tree))
    except (DLBenchError, SyntaxError):  # Python rejects a duplicate parameter only after parsing
        return None
    except RecursionError:  # too deep; `collect` reports it
        pass
    return tree


@lru_cache(maxsize=8192)  # needed once for the lookup in environments and once per failure
def find_candidate_names(code: str, source: str) -> Names:
    """`source`: the module of the target."""
    tree = parse_candidate(code)
    if tree is None:
        return Names()
    module, found = read_module(source), find_names(ast.unparse(tree))
    nodes = list(ast.walk(tree))
    undefined = found.used - found.bound - module.bound - _BUILTINS
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    owners = {node.value.id for node in attributes if isinstance(node.value, ast.Name)}
    of_self = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "self"}
    stored = {node.attr for node in attributes if isinstance(node.ctx, ast.Store)}
    own_imports = read_imports(nodes)
    paths = _find_paths(tree, module.imports | own_imports) | set(own_imports.values())
    return Names(
        undefined=tuple(sorted(undefined)),
        called=tuple(sorted(name for name in undefined if name in called or (name[:1].isupper() and name in owners))),
        unknown_of_self=tuple(sorted(of_self - stored - module.words)),
        wanted=tuple(sorted(paths - module.used - set(module.imports.values()))),
    )


@lru_cache(maxsize=256)
def read_module(source: str) -> ModuleNames:
    tree = parse(source)
    imports = read_imports(tree.body)
    words = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                words.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                words.add(name)
    bound = find_names(source).bound | set(imports)
    return ModuleNames(frozenset(bound), imports, frozenset(words), frozenset(_find_paths(tree, imports)))


def read_imports(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Absolute imports only: imports from the own package cannot be looked up without running it."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                found[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def _find_paths(tree: ast.AST, imports: dict[str, str]) -> set[str]:
    """`np.linalg.norm` as `numpy.linalg.norm`, for every imported name."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            root, _, rest = dotted_name(node).partition(".")
            if root in imports and _is_dotted(node):
                found.add(f"{imports[root]}.{rest}")
    return found


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def find_missing(prepared: Prepared, paths: Collection[str], importable: Collection[str]) -> frozenset[str] | None:
    """The paths that the project's environment lacks; None if the environment could not be queried."""
    if not paths:
        return frozenset()
    try:
        done = subprocess.run(
            [prepared.python, "-I", "-c", _LOOKUP],
            input=json.dumps({"paths": sorted(paths), "importable": sorted(importable)}),
            cwd=prepared.tree,
            capture_output=True,
            text=True,
            timeout=_LOOKUP_SECONDS,
            check=True,
        )
        return frozenset(json.loads(done.stdout.strip().split("\n")[-1]))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
