"""Decide from a candidate's code whether it uses more than honest code needs: then its pass must be confirmed.

Ordinary code computes. Of libraries it uses names that the code of the benchmark's projects uses (library_names.txt),
or that its module or the reference uses. It reads no frames, memory, files or computed names, changes attributes of
nothing but its own object, and its classes only group values. Code that does more is unusual. It is still judged, but
watched, and a pass counts only if a replay confirms it. Everything that is not known to be harmless is unusual.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from dlbench.execution.ordinary_names import ModuleFacts, is_listed, is_listed_module, list_aliases, list_imports
from dlbench.execution.scopes import (
    Function,
    Scope,
    get_root,
    get_text,
    list_bound,
    list_outside,
    list_own_nodes,
    list_stored,
)

_BUILTINS = {
    "eval", "exec", "compile", "globals", "locals", "vars", "setattr", "delattr", "open", "breakpoint", "memoryview",
    "input", "help", "exit", "quit", "dir", "type", "getattr", "hasattr", "__import__", "id", "property",
}  # fmt: skip
COMPUTING = frozenset({"eval", "exec", "compile", "globals", "locals", "vars", "setattr", "getattr", "__import__"})
"""What reaches anything by a computed name. That the reference uses it for something does not make it ordinary."""
_DANGEROUS = {
    "sys", "os", "gc", "inspect", "builtins", "importlib", "ctypes", "subprocess", "threading", "marshal", "pickle",
    "linecache", "traceback", "faulthandler", "unittest", "pytest", "pluggy", "multiprocessing", "copyreg", "weakref",
    "atexit", "socket", "asyncio", "concurrent", "contextvars", "hypothesis", "types", "testing", "overrides", "mock",
    "f_back", "f_locals", "f_globals", "f_builtins", "f_code", "f_trace", "tb_frame", "tb_next", "gi_frame", "gi_code",
    "gi_yieldfrom", "cr_frame", "cr_code", "cr_await", "cr_origin", "ag_frame", "ag_code", "ag_await", "cell_contents",
    "currentframe", "walk_tb", "walk_stack", "mro", "handlers",
    "as_strided", "frombuffer", "from_dlpack", "ctypeslib", "data_ptr", "untyped_storage", "storage", "set_", "memmap",
    "get_type_hints", "make_dataclass", "format", "format_map", "load", "to_pickle", "read_pickle", "register",
    "update_wrapper", "masked", "masked_array", "MaskedArray", "exec", "setattr", "modules", "bltns", "buffer_info",
    "findCaller", "makeRecord", "manager", "optional_import", "instantiate", "import_module", "import_string", "locate",
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
_WORDS = {"builtins", "sys", "gc", "inspect", "importlib", "ctypes", "exec", "setattr"}
_WRAPS = "functools.wraps"
_EVALUATING = {"eval", "query"}
"""Methods of tables that evaluate text."""
_LITERAL = {"operator.attrgetter", "operator.methodcaller"}
"""Harmless when called with the names of attributes written out."""
_PLAIN_BASES = {
    "object", "Exception", "ValueError", "typing.NamedTuple", "enum.Enum", "torch.nn.Module", "torch.autograd.Function",
    "abc.ABC", "typing.Protocol",
}  # fmt: skip
_PLAIN_METHODS = {
    "__init__", "__call__", "__post_init__", "__repr__", "__str__", "__len__", "__iter__", "__next__", "__getitem__",
    "__setitem__", "__enter__", "__exit__",
}  # fmt: skip
_CLOSED = {"test", "tests", "conftest", "testing", "_testing"}
_FIELD = re.compile(r"\{[^{}:]*[.\[]")
"""A field of a format string that reads an attribute or an item."""
_DUNDER = re.compile(r"__\w+__")


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
        for bound, meaning in [*module.aliases, *(pair for piece in pieces for pair in list_aliases(piece))]:
            self.aliases.setdefault(bound, set()).add(meaning)
        self.holder, _, self.target = qualname.rpartition(".")
        classes = [node for piece in pieces for node in ast.walk(piece) if isinstance(node, ast.ClassDef)]
        self.methods = {id(part): node for node in classes for part in node.body}
        self.defined = {name for piece in pieces for name in list_stored(piece)}
        self.found: set[str] = set()
        self.skipped: set[int] = set()
        self.evaluating: set[int] = set()

    def visit(self, node: ast.AST, local: frozenset[str], owner: _Owner, *, is_target: bool = False) -> None:
        """`local`: names that functions around the node bind; they hold values, not modules or builtins. `is_target`:
        whether this piece holds a method that is the target."""
        if id(node) not in self.skipped:
            self.found.update(self._inspect(node, local, owner))
        inner, inner_owner = local, owner
        outside: list[ast.AST] = []
        if isinstance(node, Scope):
            outside = list_outside(node)
            bound = self._bind(node, local)
            inner_owner = _NOBODY if owner.name in bound else owner
            is_written = id(node) in self.methods
            if isinstance(node, Function) and node.args.args and (is_written or (is_target and not local)):
                first = node.args.args[0].arg
                is_bound = first not in list_stored(node) and not (is_written and node.decorator_list)
                inner_owner = _Owner(first, is_written) if is_bound else _NOBODY
            inner = local | bound
        for child in outside:
            self.visit(child, local, owner)
        for child in ast.iter_child_nodes(node):
            if all(child is not one for one in outside):
                self.visit(child, inner, inner_owner, is_target=is_target)

    def _bind(self, scope: Scope, local: frozenset[str]) -> set[str]:
        """The names that a scope binds to values. One that is assigned a name of a library stays that name."""
        bound = list_bound(scope)
        for node in list_own_nodes(scope):
            match node:
                case ast.Assign(targets=targets, value=value):
                    names = [target for target in targets if isinstance(target, ast.Name)]
                case ast.AnnAssign(target=ast.Name() as name, value=value) | ast.NamedExpr(target=name, value=value):
                    names = [name]
                case _:
                    continue
            root = get_root(value) if isinstance(value, ast.Name | ast.Attribute) else None
            if value is not None and root is not None and root.id not in local | bound and root.id in self.aliases:
                rest = get_text(value).partition(".")[2]
                for name in names:
                    meanings = {f"{one}.{rest}" if rest else one for one in self.aliases[root.id]}
                    self.aliases.setdefault(name.id, set()).update(meanings)
                    bound.discard(name.id)
        return bound

    def _is_builtin(self, name: str, local: frozenset[str]) -> bool:
        return name not in local and name not in self.defined and name not in self.aliases

    def _inspect(self, node: ast.AST, local: frozenset[str], owner: _Owner) -> Iterator[str]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._skip_decorators(node, local)
            case ast.ClassDef(name=name):
                if not self._is_plain(node):
                    yield f"class {name}"
            case ast.Global(names=names):
                yield from (f"global {name}" for name in names)
            case ast.Import() | ast.ImportFrom():
                for name, is_star in list_imports(node):
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
            case ast.keyword(arg=str(name)) if name in _KEYWORDS or _is_special(name):
                yield f"{name}="
            case ast.Expr(value=ast.Constant() as text):
                self.skipped.add(id(text))  # a docstring
            case ast.Constant(value=str(text)) if _is_suspicious(text):
                yield repr(text)
            case ast.With() | ast.AsyncWith() if any(
                isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node)
            ):
                yield "yield inside with"
            case ast.Name(id=name) if name not in local:
                yield from self._check_name(name)
            case ast.Attribute(ctx=ast.Load(), attr=attr):
                if attr in _EVALUATING and id(node) not in self.evaluating:
                    yield f".{attr}"
                yield from self._check_chain(node, local)
            case ast.Attribute(value=value, attr=attr):
                yield from self._check_store(value, attr, local, owner)
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value):
                root = get_root(value)
                if root is not None and root.id not in local:
                    yield f"{get_text(value)}[...] = ..."
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
            case ast.Call(func=ast.Attribute(attr="eval"), args=[], keywords=[]):
                self.evaluating.add(id(node.func))  # of a model of torch
        function = node.func
        if isinstance(function, ast.Name | ast.Attribute) and (root := get_root(function)) is not None:
            rest = get_text(function).partition(".")[2]
            for one in self.aliases.get(root.id, set()) if root.id not in local else ():
                meaning = f"{one}.{rest}" if rest else one
                written = [part.value for part in node.args if isinstance(part, ast.Constant)]
                if meaning in _LITERAL and len(written) == len(node.args) and not node.keywords:
                    self.skipped.update((id(function), id(root)))
                    named = written if meaning == "operator.attrgetter" else written[:1]
                    yield from (f".{part}" for name in named for part in str(name).split(".") if _is_dangerous(part))
                if meaning.startswith("enum.") and len(node.args) > 1:
                    yield f"{meaning}(...)"
        # `type(self)(...)` makes an object of the own class; of another value it could be `type` itself
        match function:
            case ast.Call(args=[ast.Name(id=argument)]) | ast.Attribute(value=ast.Name(id=argument)):
                if argument == owner.name and _is_type(function):
                    self._skip_types([function], local)

    def _check_store(self, value: ast.expr, attr: str, local: frozenset[str], owner: _Owner) -> Iterator[str]:
        root = get_root(value)
        is_own = isinstance(value, ast.Name) and value.id == owner.name
        if root is not None and root.id not in local:
            yield f"{get_text(value)}.{attr} = ..."
        # an object of the project keeps what its class keeps already; one of the answer's classes, whatever it likes
        elif _is_special(attr) or (not (is_own and (owner.is_written or attr in self.module.own_attributes))):
            yield f".{attr} = ..."

    def _check_name(self, name: str) -> Iterator[str]:
        # an import elsewhere in the answer does not make it another name here
        if name not in self.defined and (name in _BUILTINS or _is_special(name)):
            yield name
        for meaning in self.aliases.get(name, ()):
            if self._is_module(meaning):
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
            if self._is_module(chain) or not self._is_ordinary_name(chain):
                yield chain

    def _is_method_of(self, name: str, part: str) -> bool:
        """Whether it is a method of a class that the answer defines, which takes its object as the first argument."""
        found = [one for one in self.methods.values() if one.name == name and name in self.defined]
        functions = [one for cls in found for one in cls.body if isinstance(one, Function) and one.name == part]
        return any(one.args.args and one.args.args[0].arg != "cls" and not one.decorator_list for one in functions)

    def _is_module(self, chain: str) -> bool:
        is_imported = chain in self.module.imported and "." not in chain
        return is_listed_module(chain) or is_imported or self.module.is_module(chain)

    def _is_ordinary_name(self, chain: str) -> bool:
        if is_listed(chain):
            return True
        if any(part in _CLOSED or _is_dangerous(part) for part in chain.split(".")):
            return False
        if chain in self.module.chains or chain in self.module.imported:
            return True
        # an attribute of something that is no module
        return self.module.defines(chain) or is_listed(chain.rpartition(".")[0])

    def _is_ordinary_import(self, name: str) -> bool:
        is_module = is_listed_module(name) or self.module.is_module(name)
        return is_module or name in self.module.imported | _LITERAL | {_WRAPS} or self._is_ordinary_name(name)

    def _is_plain(self, node: ast.ClassDef) -> bool:
        """A class that only groups values and methods: nothing in it decides what its objects are equal to. Its objects
        are looked for in what the candidate returns."""
        if node.keywords or not all(self._find_meanings(base) <= _PLAIN_BASES for base in node.bases):
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

    def _find_meanings(self, node: ast.expr) -> set[str]:
        """What a dotted name may stand for."""
        text = get_text(node)
        name, _, rest = text.partition(".")
        return {f"{one}.{rest}" if rest else one for one in self.aliases.get(name, set())} or {text}

    def _skip_decorators(self, node: Function, local: frozenset[str]) -> None:
        """Allow `property` and `functools.wraps` above a function. Elsewhere they change other objects."""
        for decorator in node.decorator_list:
            match decorator:
                case ast.Name(id="property") if self._is_builtin("property", local):
                    self.skipped.add(id(decorator))
                case ast.Call(func=function, args=[_], keywords=[]) if self._find_meanings(function) == {_WRAPS}:
                    self.skipped.update(id(one) for one in ast.walk(function))

    def _skip_types(self, nodes: list[ast.expr], local: frozenset[str]) -> None:
        """Allow `type(x)` and `x.__class__` where they are only compared, named, or called on the own object."""
        for node in nodes:
            if isinstance(node, ast.Tuple | ast.List):
                self._skip_types(node.elts, local)
            elif isinstance(node, ast.Call) and _is_type(node) and self._is_builtin("type", local):
                self.skipped.add(id(node.func))
            elif isinstance(node, ast.Attribute) and _is_type(node):
                self.skipped.add(id(node))


def _is_type(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[_], keywords=[]):
            return True
        case ast.Attribute(value=value, attr="__class__"):
            return not _is_type(value)
    return False


def _is_suspicious(text: str) -> bool:
    """Whether a text may name a special attribute, a keyword or a module that is unusual."""
    has_special = any(_is_special(name) and name != "__main__" for name in _DUNDER.findall(text))
    return has_special or text in _KEYWORDS | _EVALUATING | _WORDS or "array_interface" in text


def _is_dangerous(name: str) -> bool:
    return name in _DANGEROUS or _is_special(name)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _HARMLESS
