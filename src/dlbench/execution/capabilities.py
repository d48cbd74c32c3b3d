"""Decide from a candidate's code whether it uses more than honest code needs: then its pass must be confirmed.

Ordinary code computes. Of libraries it uses names that the code of the benchmark's projects uses (library_names.txt),
or that its module or the reference uses. It reads no frames, memory, files or computed names, changes attributes of
nothing but its own object, and its classes only group values. Code that does more is unusual. It is still judged, but
watched, and a pass counts only if a replay confirms it. Everything that is not known to be harmless is unusual.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

_HARMLESS_MODULES = {
    "__future__", "array", "base64", "bisect", "calendar", "cmath", "collections", "csv", "datetime", "decimal",
    "fractions", "hashlib", "heapq", "itertools", "json", "math", "numbers", "random", "re", "secrets", "statistics",
    "struct", "textwrap", "time", "unicodedata", "uuid", "zlib",
}  # fmt: skip
"""All public names of these modules are ordinary."""
_BUILTINS = {
    "eval", "exec", "compile", "globals", "locals", "vars", "setattr", "delattr", "open", "breakpoint", "memoryview",
    "input", "help", "exit", "quit", "dir", "type", "getattr", "hasattr", "__import__",
}  # fmt: skip
_DANGEROUS = {
    "sys", "os", "gc", "inspect", "builtins", "importlib", "ctypes", "subprocess", "threading", "marshal", "pickle",
    "linecache", "traceback", "faulthandler", "unittest", "pytest", "pluggy", "multiprocessing", "copyreg", "weakref",
    "atexit", "socket", "asyncio", "concurrent", "contextvars", "hypothesis", "types", "testing", "overrides", "mock",
    "f_back", "f_locals", "f_globals", "f_builtins", "f_code", "f_trace", "tb_frame", "tb_next", "gi_frame", "gi_code",
    "gi_yieldfrom", "cr_frame", "cr_code", "cr_await", "cr_origin", "ag_frame", "ag_code", "ag_await", "cell_contents",
    "currentframe", "walk_tb", "walk_stack", "mro", "handlers",
    "as_strided", "frombuffer", "from_dlpack", "ctypeslib", "data_ptr", "untyped_storage", "storage", "set_", "memmap",
    "get_type_hints", "make_dataclass", "format", "format_map", "load", "to_pickle", "read_pickle", "register",
    "update_wrapper", "masked", "masked_array", "MaskedArray",
}  # fmt: skip
"""Attributes that lead to the judge, to memory, or to code and classes from text: unusual on any object."""
_KEYWORDS = {
    "refcheck", "allow_pickle", "metaclass", "eval_str", "usemask", "assigned", "updated", "resolvers", "local_dict",
    "global_dict", "expr", "override_repr", "strides",
}  # fmt: skip
_HARMLESS = {
    "__init__", "__name__", "__call__", "__getitem__", "__len__", "__iter__", "__doc__", "__next__", "__contains__",
    "__neg__", "__add__", "__mul__", "__qualname__", "__version__", "__post_init__", "__new__", "__module__",
    "__slots__",
}  # fmt: skip
_LITERAL = {"operator.attrgetter", "operator.methodcaller"}
"""Harmless when called with the names of attributes written out."""
_PLAIN_BASES = {"object", "Exception", "ValueError", "NamedTuple", "Enum", "Module", "Function", "ABC", "Protocol"}
_PLAIN_METHODS = {
    "__init__", "__call__", "__post_init__", "__repr__", "__str__", "__len__", "__iter__", "__next__", "__getitem__",
    "__setitem__", "__enter__", "__exit__",
}  # fmt: skip
_SETTABLE = {"data", "grad", "requires_grad", "weight", "bias", "writeable"}
"""Attributes that honest code sets on tensors, arrays and layers that it is given."""
_CLOSED = {"test", "tests", "conftest", "testing", "_testing"}
_FIELD = re.compile(r"\{[^{}:]*[.\[]")
"""A field of a format string that reads an attribute or an item."""
_DUNDER = re.compile(r"__\w+__")

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Scope = _Function | ast.Lambda | _Comprehension


@cache
def _load_names() -> tuple[frozenset[str], frozenset[str]]:
    """The names of libraries that are ordinary, and the modules that hold them."""
    text = Path(__file__).with_name("library_names.txt").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    modules = {".".join(line[0].split(".")[:count]) for line in lines for count in range(1, line[0].count(".") + 2)}
    return frozenset(f"{module}.{name}" for module, *names in lines for name in names), frozenset(modules)


class ModuleFacts:
    """What the module of a target uses, read once for all its candidates."""

    def __init__(self, tree: ast.Module, name: str) -> None:
        self.package = name.partition(".")[0]
        self.imported = {name for name, _ in _imports(tree)}
        self.aliases = [*_aliases(tree)]
        meanings: dict[str, set[str]] = {}
        for bound, meaning in self.aliases:
            meanings.setdefault(bound, set()).add(meaning)
        self.chains = set(_chains(tree, meanings))
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        self.own_attributes = {
            node.attr for node in nodes if isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
        }


def find_unusual(pieces: list[ast.Module], module: ModuleFacts, qualname: str) -> set[str]:
    """What the code uses beyond ordinary code, in words."""
    screen = _Screen(pieces, module, qualname)
    try:
        for piece in pieces:
            # a method is parsed inside a block
            is_target = "." in qualname and isinstance(piece.body[0], ast.If)
            screen.visit(piece, frozenset(), _NOBODY, is_target=is_target)
    except RecursionError:
        return {"code that is nested too deeply to be read"}
    return screen.found


class _Owner(NamedTuple):
    """The first parameter of the method around a node."""

    name: str = ""
    is_written: bool = False
    """Whether the answer defines its class."""


_NOBODY = _Owner()


class _Screen:
    def __init__(self, pieces: list[ast.Module], module: ModuleFacts, qualname: str) -> None:
        self.module = module
        self.aliases: dict[str, set[str]] = {}
        for bound, meaning in [*module.aliases, *(pair for piece in pieces for pair in _aliases(piece))]:
            self.aliases.setdefault(bound, set()).add(meaning)
        self.holder, _, self.target = qualname.rpartition(".")
        classes = [node for piece in pieces for node in ast.walk(piece) if isinstance(node, ast.ClassDef)]
        self.methods = {id(part): node for node in classes for part in node.body}
        self.defined = {name for piece in pieces for name in _stored(piece)}
        self.found: set[str] = set()
        self.skipped: set[int] = set()

    def visit(self, node: ast.AST, local: frozenset[str], owner: _Owner, *, is_target: bool = False) -> None:
        """`local`: names that functions around the node bind; they hold values, not modules or builtins. `is_target`:
        whether this piece holds a method that is the target."""
        if id(node) not in self.skipped:
            self.found.update(self._inspect(node, local, owner))
        inner, inner_owner = local, owner
        outside: list[ast.AST] = []
        if isinstance(node, _Scope):
            outside = _evaluated_outside(node)
            bound = self._bind(node, local)
            inner_owner = _NOBODY if owner.name in bound else owner
            is_written = id(node) in self.methods
            if isinstance(node, _Function) and node.args.args and (is_written or (is_target and not local)):
                first = node.args.args[0].arg
                inner_owner = _Owner(first, is_written) if first not in _stored(node) else _NOBODY
            inner = local | bound
        for child in outside:
            self.visit(child, local, owner)
        for child in ast.iter_child_nodes(node):
            if all(child is not one for one in outside):
                self.visit(child, inner, inner_owner, is_target=is_target)

    def _bind(self, scope: _Scope, local: frozenset[str]) -> set[str]:
        """The names that a scope binds to values. One that is assigned a name of a library stays that name."""
        bound = _bound(scope)
        for node in _own_nodes(scope):
            match node:
                case ast.Assign(targets=targets, value=value):
                    names = [target for target in targets if isinstance(target, ast.Name)]
                case ast.AnnAssign(target=ast.Name() as name, value=value) | ast.NamedExpr(target=name, value=value):
                    names = [name]
                case _:
                    continue
            root = _root(value) if isinstance(value, ast.Name | ast.Attribute) else None
            if value is not None and root is not None and root.id not in local | bound and root.id in self.aliases:
                rest = _text(value).partition(".")[2]
                for name in names:
                    meanings = {f"{one}.{rest}" if rest else one for one in self.aliases[root.id]}
                    self.aliases.setdefault(name.id, set()).update(meanings)
                    bound.discard(name.id)
        return bound

    def _is_builtin(self, name: str, local: frozenset[str]) -> bool:
        return name not in local and name not in self.defined and name not in self.aliases

    def _inspect(self, node: ast.AST, local: frozenset[str], owner: _Owner) -> Iterator[str]:
        match node:
            case ast.ClassDef(name=name):
                if not _is_plain(node):
                    yield f"class {name}"
            case ast.Global(names=names):
                yield from (f"global {name}" for name in names)
            case ast.Import() | ast.ImportFrom():
                for name, is_star in _imports(node):
                    if is_star or not self._is_ordinary_import(name):
                        yield f"import {name}"
            case ast.Compare(left=left, comparators=others):
                self._skip_types([left, *others], local)
            case ast.FormattedValue(value=value):
                self._skip_types([value], local)
            case ast.Attribute(value=value, attr="__name__" | "__qualname__", ctx=ast.Load()):
                self._skip_types([value], local)
                yield from self._check_chain(node, local)
            case ast.Call():
                yield from self._check_call(node, local, owner)
            case ast.keyword(arg=str(name)) if name in _KEYWORDS:
                yield f"{name}="
            case ast.Constant(value=str(text)) if _DUNDER.fullmatch(text) and text not in _HARMLESS | {"__main__"}:
                yield repr(text)
            case ast.With() | ast.AsyncWith() if any(
                isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node)
            ):
                yield "yield inside with"
            case ast.Name(id=name) if name not in local:
                yield from self._check_name(name)
            case ast.Attribute(ctx=ast.Load()):
                yield from self._check_chain(node, local)
            case ast.Attribute(value=value, attr=attr):
                yield from self._check_store(value, attr, local, owner)
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value):
                root = _root(value)
                if root is not None and root.id not in local:
                    yield f"{_text(value)}[...] = ..."
            case ast.MatchClass(kwd_attrs=names):
                yield from (f".{name}" for name in names if _is_dangerous(name))

    def _check_call(self, node: ast.Call, local: frozenset[str], owner: _Owner) -> Iterator[str]:
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "str" | "repr" as name), args=arguments):
                if self._is_builtin(name, local):
                    self._skip_types(arguments, local)
            case ast.Call(func=ast.Name(id="getattr" | "hasattr" as name), args=[_, ast.Constant(value=str(attr)), *_]):
                if self._is_builtin(name, local):
                    self.skipped.add(id(node.func))
                if _is_dangerous(attr):
                    yield f".{attr}"
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")):
                if not _FIELD.search(text):
                    self.skipped.add(id(node.func))
            case ast.Call(func=ast.Attribute(attr="eval" | "query" as name)) if node.args or node.keywords:
                yield f".{name}(...)"
        function = node.func
        if isinstance(function, ast.Name | ast.Attribute) and (root := _root(function)) is not None:
            rest = _text(function).partition(".")[2]
            for one in self.aliases.get(root.id, set()) if root.id not in local else ():
                meaning = f"{one}.{rest}" if rest else one
                written = [part.value for part in node.args if isinstance(part, ast.Constant)]
                if meaning in _LITERAL and len(written) == len(node.args) and not node.keywords:
                    self.skipped.update((id(function), id(root)))
                    yield from (
                        f".{part}" for name in written[:1] for part in str(name).split(".") if _is_dangerous(part)
                    )
                if (meaning == "functools.wraps" or meaning.startswith("enum.")) and len(node.args) > 1:
                    yield f"{meaning}(...)"
        # `type(self)(...)` makes an object of the own class; of another value it could be `type` itself
        match function:
            case ast.Call(args=[ast.Name(id=argument)]) | ast.Attribute(value=ast.Name(id=argument)):
                if argument == owner.name and _is_type(function):
                    self._skip_types([function], local)

    def _check_store(self, value: ast.expr, attr: str, local: frozenset[str], owner: _Owner) -> Iterator[str]:
        root = _root(value)
        is_own = isinstance(value, ast.Name) and value.id == owner.name
        if root is not None and root.id not in local:
            yield f"{_text(value)}.{attr} = ..."
        # an object of the project keeps what its class keeps already; one of the answer's classes, whatever it likes
        elif _is_special(attr) or (
            attr not in _SETTABLE and not (is_own and (owner.is_written or attr in self.module.own_attributes))
        ):
            yield f".{attr} = ..."

    def _check_name(self, name: str) -> Iterator[str]:
        # an import elsewhere in the answer does not make it another name here
        if name not in self.defined and (name in _BUILTINS or _is_special(name)):
            yield name
        for meaning in self.aliases.get(name, ()):
            if meaning in _load_names()[1] or (meaning in self.module.imported and "." not in meaning):
                yield f"{meaning} as a value"
            elif not self._is_ordinary_name(meaning):
                yield meaning

    def _check_chain(self, node: ast.Attribute, local: frozenset[str]) -> Iterator[str]:
        """Check `a.b.c` as a whole."""
        parts, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            if id(inner) not in self.skipped:
                parts.insert(0, inner.attr)
            self.skipped.add(id(inner))
            inner = inner.value
        if not isinstance(inner, ast.Name) or inner.id in local:
            yield from (f".{part}" for part in parts if _is_dangerous(part))
            return
        self.skipped.add(id(inner))
        is_own_class = inner.id == self.holder.rpartition(".")[2] and self.target in parts
        if is_own_class or any(self._is_method_of(inner.id, part) for part in parts):
            yield f"{inner.id}.{'.'.join(parts)}"  # a method called with an object of the caller's choice
        if inner.id not in self.aliases:
            yield from self._check_name(inner.id)
            yield from (f".{part}" for part in parts if _is_dangerous(part))
        for meaning in self.aliases.get(inner.id, ()):
            chain = ".".join([meaning, *parts])
            if chain in _load_names()[1] or not self._is_ordinary_name(chain):
                yield chain

    def _is_method_of(self, name: str, part: str) -> bool:
        """Whether it is a method of a class that the answer defines, which takes its object as the first argument."""
        found = [one for one in self.methods.values() if one.name == name and name in self.defined]
        functions = [one for cls in found for one in cls.body if isinstance(one, _Function) and one.name == part]
        return any(one.args.args and one.args.args[0].arg != "cls" and not one.decorator_list for one in functions)

    def _is_internal(self, name: str) -> bool:
        return name.startswith(".") or name.partition(".")[0] == self.module.package

    def _is_ordinary_name(self, chain: str) -> bool:
        names, _ = _load_names()
        parts = chain.split(".")
        if self._is_internal(chain):
            return not any(part in _CLOSED or _is_dangerous(part) for part in parts)
        if any(".".join(parts[:count]) in names for count in range(2, len(parts) + 1)):
            start = next(count for count in range(2, len(parts) + 1) if ".".join(parts[:count]) in names)
            return not any(map(_is_dangerous, parts[start:]))
        if any(map(_is_dangerous, parts)) or any(part.startswith("_") for part in parts[:-1]):
            return False
        is_used = chain in self.module.chains or chain in self.module.imported
        return is_used or (parts[0] in _HARMLESS_MODULES and not parts[-1].startswith("_"))

    def _is_ordinary_import(self, name: str) -> bool:
        modules = _load_names()[1]
        return name in self.module.imported or name in modules or name in _LITERAL or self._is_ordinary_name(name)

    def _skip_types(self, nodes: list[ast.expr], local: frozenset[str]) -> None:
        """Allow `type(x)` and `x.__class__` where they are only compared, named, or called on the own object."""
        for node in nodes:
            if isinstance(node, ast.Tuple | ast.List):
                self._skip_types(node.elts, local)
            elif isinstance(node, ast.Call) and _is_type(node) and self._is_builtin("type", local):
                self.skipped.add(id(node.func))
            elif isinstance(node, ast.Attribute) and _is_type(node):
                self.skipped.add(id(node))


def _is_plain(node: ast.ClassDef) -> bool:
    """A class that only groups values and methods: nothing in it decides what its objects are equal to. Its objects are
    looked for in what the candidate returns."""
    if node.keywords or not all(_text(base).rpartition(".")[2] in _PLAIN_BASES for base in node.bases):
        return False
    for statement in node.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if name.startswith("__") and name not in _PLAIN_METHODS:
                    return False
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if name.startswith("__") and name != "__slots__":
                    return False
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:
                return False
    return True


def _is_type(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[_], keywords=[]):
            return True
        case ast.Attribute(value=value, attr="__class__"):
            return not _is_type(value)
    return False


def _is_dangerous(name: str) -> bool:
    return name in _DANGEROUS or _is_special(name)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _HARMLESS


def _evaluated_outside(scope: _Scope) -> list[ast.AST]:
    """The parts of a scope that Python evaluates in the scope around it."""
    if isinstance(scope, _Comprehension):
        return [scope.generators[0].iter]
    listed = [*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs, scope.args.vararg, scope.args.kwarg]
    found: list[ast.AST | None] = [*scope.args.defaults, *scope.args.kw_defaults]
    found += [argument.annotation for argument in listed if argument is not None]
    if not isinstance(scope, ast.Lambda):
        found += [*scope.decorator_list, scope.returns]
    return [node for node in found if node is not None]


def _chains(tree: ast.AST, aliases: dict[str, set[str]]) -> Iterator[str]:
    """What a module uses of its imports, as dotted names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(root := _root(node), ast.Name):
            yield from (f"{meaning}.{_text(node).partition('.')[2]}" for meaning in aliases.get(root.id, ()))


def _imports(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Dotted names that are imported, each with whether all names below it are."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, False) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                start = "." * level + (module or "")
                for alias in names:
                    yield (start, True) if alias.name == "*" else (f"{start}.{alias.name}", False)


def _aliases(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that imports bind, with what they stand for."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    yield bound, alias.name if alias.asname else bound
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    yield alias.asname or alias.name, f"{'.' * level}{module or ''}.{alias.name}"


def _bound(scope: _Scope) -> set[str]:
    """Names that a function or comprehension binds, other than by imports and for its module."""
    free: set[str] = set()
    imported: set[str] = set()
    for node in _own_nodes(scope):
        if isinstance(node, ast.Global | ast.Nonlocal):
            free.update(node.names)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imported.update(name for name, _ in _aliases(node))
    arguments: set[str] = set()
    if not isinstance(scope, _Comprehension):
        every = scope.args
        listed = [*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg]
        arguments = {argument.arg for argument in listed if argument is not None}
    return (arguments | _stored(scope)) - free - imported


def _stored(scope: _Scope | ast.Module) -> set[str]:
    found: set[str] = set()
    for node in _own_nodes(scope):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
    return found


def _own_nodes(scope: _Scope | ast.Module) -> Iterator[ast.AST]:
    """The nodes of a scope without those of scopes inside it."""
    pending: list[ast.AST] = list(ast.iter_child_nodes(scope))
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _Scope | ast.ClassDef):
            pending += ast.iter_child_nodes(node)


def _root(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _text(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "...", *parts])
