"""Decide from a candidate's code whether it uses more than honest code needs: then its pass must be confirmed.

Ordinary code computes. Of libraries it uses names that the code of the benchmark's projects uses (library_names.txt),
or that its module or the reference uses; of objects, attributes that honest code reads (attribute_names.txt). It reads
no frames, memory, files or computed names, changes attributes of nothing but its own object, and its classes only group
values. Code that does more is unusual. It is still judged, but watched, and a pass counts only if a replay confirms it.
Everything that is not known to be harmless is unusual.
"""

import ast
import re
from collections.abc import Iterable, Iterator

from dlbench.execution.answer_facts import LITERAL, MAKERS, NOBODY, WRAPS, AnswerFacts, Owner, Piece
from dlbench.execution.ordinary_names import ModuleFacts, list_imports
from dlbench.execution.plain_classes import is_literal, is_plain
from dlbench.execution.scopes import (
    Function,
    Scope,
    get_root,
    get_text,
    list_ambiguous,
    list_bound,
    list_imported,
    list_outside,
    list_own_nodes,
    list_stored,
)
from dlbench.execution.shared_objects import list_shared_changes
from dlbench.execution.unusual_names import (
    BUILTINS,
    BY_NAME,
    EVALUATING,
    KEYWORDS,
    SPARSE,
    is_special,
    is_suspicious,
)

_ATOMS = {"int", "float", "str", "bytes", "bool", "list", "tuple", "dict", "set", "frozenset"}
"""Classes of which a pattern matches the object itself, not its attributes."""
_PLACED = MAKERS | {"numpy.ndarray", "numpy.generic", "numpy.void"}
"""Types that are harmless unless they are called: then they take memory and sizes of the caller's choice."""
_FIELD = re.compile(r"\{[^{}:]*[.\[]")
"""A field of a format string that reads an attribute or an item."""
_ARRAYS = "numpy arrays of a file"
"""Without pickles, a candidate may read them where the reference does."""
_IMPLICIT = {"__doc__", "__qualname__", "__module__"}
"""Names that the body of a class binds by itself."""
_UNREAD = {"TypeAlias", "TypeVar", "ParamSpec", "TypeVarTuple", "TemplateStr", "Interpolation"}
"""Syntax newer than the rules here."""


def find_unusual(pieces: list[Piece], module: ModuleFacts, qualname: str) -> set[str]:
    """What the code uses beyond ordinary code, in words."""
    try:
        facts = AnswerFacts(pieces, module, qualname)
        screen = _Screen(facts)
        for piece in pieces:
            screen.read(piece)
        found = screen.found | list_shared_changes([piece.tree for piece in pieces], facts.is_shared)
    except RecursionError:
        return {"code that is nested too deeply to be read"}
    # an object whose attribute is set, as the reference does, could then be a class
    is_set = any(word.startswith(".") and word.endswith(" = ...") for word in found)
    return found | ({f"class {name} as a value" for name in screen.handed_on} if is_set else set())


class _Screen:
    def __init__(self, facts: AnswerFacts) -> None:
        self.facts = facts
        self.module = facts.module
        self.aliases = facts.aliases
        self.found: set[str] = set()
        self.skipped: set[int] = set()
        self.placed: set[int] = set()
        """Names of types where they are harmless: as bases and decorators, in annotations and checks of types."""
        self.called: set[int] = set()
        self.handed_on: set[str] = set()
        """Classes that are values."""

    def read(self, piece: Piece) -> None:
        tree = piece.tree
        if piece.is_member:
            block = tree.body[0]
            for node in block.body if isinstance(block, ast.If) else ():
                is_target = isinstance(node, Function) and node.name == self.facts.target
                if not is_target and not self.module.may_bring(node, self.facts.holder):
                    self.found.add(f"member {getattr(node, 'name', type(node).__name__)}")
        else:  # after `del`, a name has the meaning that it had before
            changed = (list_stored(tree) - {self.facts.target}) & self.module.taken
            self.found.update(f"{name} = ... in the module" for name in changed)
        self.found.update(f"{name} while the module is imported" for name in self.facts.list_called_at_import(tree))
        scopes = [node for node in ast.walk(tree) if isinstance(node, Scope | ast.ClassDef | ast.Module)]
        self.found.update(f"{name} with two meanings" for scope in scopes for name in list_ambiguous(scope))
        self.visit(tree, frozenset(), NOBODY, is_target=piece.is_member)

    def visit(self, node: ast.AST, local: frozenset[str], owner: Owner, *, is_target: bool = False) -> None:
        """`local`: names that functions around the node bind; they hold values, not modules or builtins. `is_target`:
        whether this piece stands in the class of a method that is the target."""
        if id(node) not in self.skipped:
            self.found.update(self._inspect(node, local, owner))
        inner, inner_owner = local, owner
        outside: list[ast.AST] = []
        if isinstance(node, Scope):
            outside = list_outside(node)
            bound = self._bind(node, local)
            imported = list_imported(node)
            inner_owner = NOBODY if owner.name in bound | imported else owner
            is_written = id(node) in self.facts.methods
            if isinstance(node, Function) and node.args.args and (is_written or (is_target and not local)):
                inner_owner = Owner(node.args.args[0].arg, is_written) if self._has_owner(node) else NOBODY
            inner = (local | bound) - imported
        elif isinstance(node, ast.ClassDef):
            outside = list_outside(node)
            inner = (
                local - list_stored(node) - list_imported(node)
            )  # Python looks for them in the module, not in the functions around
        for child in outside:
            self.visit(child, local, owner)
        for child in ast.iter_child_nodes(node):
            if all(child is not one for one in outside):
                self.visit(child, inner, inner_owner, is_target=is_target)

    def _has_owner(self, node: Function) -> bool:
        """Whether Python passes the object itself as the first argument."""
        kinds = [get_text(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list]
        is_bound = not any(one.partition(".")[0] in {*self.facts.defined, "staticmethod", "..."} for one in kinds)
        if id(node) in self.facts.methods:
            # the body of its class could call it with any object
            used = [one for one in list_own_nodes(self.facts.methods[id(node)]) if isinstance(one, ast.Name)]
            is_bound = not kinds and all(one.id != node.name for one in used)
        name = node.args.args[0].arg
        rebound = [one for one in ast.walk(node) if isinstance(one, ast.Nonlocal) and name in one.names]
        return is_bound and name not in list_stored(node) and not rebound and node.name != "__new__"

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
        return name not in local | self.facts.defined | self.facts.members and name not in self.aliases

    def _inspect(self, node: ast.AST, local: frozenset[str], owner: Owner) -> Iterator[str]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._skip_decorators(node, local)
                listed = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                self._place([one.annotation for one in listed] + [node.returns])
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=owner.name), attr=attr)], value=value):
                # only the project's code will use the type, as it does with that of the reference
                if attr in self.module.kept_types - self.facts.read_attributes:
                    self._skip_types([value.body, value.orelse] if isinstance(value, ast.IfExp) else [value], local)
            case ast.AnnAssign(annotation=annotation):
                self._place([annotation])
            case ast.ClassDef(name=name):
                if is_special(name) or name in _IMPLICIT:
                    yield name
                self._place([*node.bases, *node.decorator_list])
                self._place([one.func for one in node.decorator_list if isinstance(one, ast.Call) and not one.args])
                if not is_plain(node, [self.facts.find_meanings(base, local) for base in node.bases]):
                    yield f"class {name}"
            case ast.Global(names=names):
                yield from (f"global {name}" for name in names)
            case ast.Import() | ast.ImportFrom():
                for name, is_star in list_imports(node):
                    if is_star or not self.facts.is_ordinary_import(name):
                        yield f"import {name}"
                yield from (f"{one.asname} = ..." for one in node.names if one.asname and is_special(one.asname))
            case ast.Compare(left=left, comparators=others):
                self._skip_types([left, *others], local)
            case ast.FormattedValue(value=value):
                self._skip_types([value], local)
            case ast.Attribute(value=value, attr="__name__" | "__qualname__", ctx=ast.Load()):
                self._skip_types([value], local)
                yield from self._check_chain(node, local, owner)
            case ast.Call():
                yield from self._check_call(node, local, owner)
            case ast.keyword(arg=str(name)) if name in KEYWORDS or is_special(name):
                yield f"{name}="
            case ast.keyword(arg=None, value=ast.Dict(keys=keys)) if not all(map(is_literal, filter(None, keys))):
                yield "computed keywords"
            case ast.Expr(value=ast.Constant() as text):
                self.skipped.add(id(text))  # a docstring
            case ast.Constant(value=str(text)) if is_suspicious(text):
                yield repr(text)
            case ast.With() | ast.AsyncWith() if any(
                isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node)
            ):
                yield "yield inside with"
            case ast.Try() | ast.TryStar() if any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node)):
                yield "yield inside try"  # what follows runs when nobody needs the generator any more
            case ast.Name(id=name, ctx=context):
                is_own = name.startswith("__") and not name.endswith("__")  # in a class it stands for another name
                is_implicit = name in _IMPLICIT or (name == "__name__" and not isinstance(context, ast.Load))
                if is_own or is_implicit or (name != "__slots__" and is_special(name)):
                    yield name
                elif name not in local and isinstance(context, ast.Load):
                    yield from self._check_name(node)
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) if is_special(
                name
            ):
                yield f"{name} = ..."
            case ast.Attribute(ctx=ast.Load()):
                yield from self._check_chain(node, local, owner)
            case ast.Attribute(value=value, attr=attr):
                yield from self._check_store(value, attr, local, owner)
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value):
                root = get_root(value)
                is_sparse = isinstance(value, ast.Attribute) and value.attr in SPARSE
                if is_sparse or (root is not None and root.id not in local):
                    yield f"{get_text(value)}[...] = ..."
            case ast.MatchClass(patterns=[_, *_], cls=ast.expr() as kind) if not (
                isinstance(kind, ast.Name) and kind.id in _ATOMS and self._is_builtin(kind.id, local)
            ):
                yield f"{get_text(kind)}(...) in a pattern"  # the class names the attributes that are read
            case ast.MatchClass(kwd_attrs=names):
                yield from (
                    f".{name}" for name in names if name in EVALUATING or not self.facts.is_ordinary_attribute(name)
                )
            case ast.AST() if type(node).__name__ in _UNREAD:
                yield type(node).__name__

    def _check_call(self, node: ast.Call, local: frozenset[str], owner: Owner) -> Iterator[str]:
        function = node.func
        self.called.add(id(function))
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "str" | "repr" as name), args=arguments):
                if self._is_builtin(name, local):
                    self._skip_types(arguments, local)
                    self._place(arguments)
            case ast.Call(func=ast.Name(id="getattr" | "hasattr" as name), args=[_, attr, *_]):
                names = self.facts.find_texts(attr, local)
                if names and self._is_builtin(name, local):
                    self.skipped.add(id(function))
                yield from (f".{one}" for one in names if not self.facts.is_ordinary_attribute(one))
            case ast.Call(func=ast.Attribute(value=text, attr="format")) if texts := self.facts.find_texts(text, local):
                if not any(map(_FIELD.search, texts)):
                    self.skipped.add(id(function))
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in BY_NAME and self.facts.uses_tables:
                if not all(self.facts.is_written(one, local, attr) for one in _list_called(node)):
                    yield f".{attr}(...) of a computed name"
            case ast.Call(func=ast.Attribute(attr="eval"), args=[], keywords=[]):
                self.placed.add(id(function))  # of a model of torch
            case ast.Call(func=ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super"), args=named))):
                match named:
                    case [] | [ast.Name(), ast.Name(id=owner.name)]:
                        self.placed.add(id(function))
            case ast.Call(func=ast.Attribute(attr="__init__"), args=[ast.Name(id=first), *_]) if first == owner.name:
                self.placed.add(id(function))
        if isinstance(function, ast.Name | ast.Attribute) and (root := get_root(function)) is not None:
            rest = get_text(function).partition(".")[2]
            for one in self.aliases.get(root.id, set()) if root.id not in local else ():
                meaning = f"{one}.{rest}" if rest else one
                written = [part.value for part in node.args if isinstance(part, ast.Constant)]
                if meaning in LITERAL and len(written) == len(node.args) and not node.keywords:
                    self.skipped.update((id(function), id(root)))
                    names = [str(name) for name in (written if meaning == "operator.attrgetter" else written[:1])]
                    parts = [part for name in names for part in name.split(".")]
                    yield from (f".{part}" for part in parts if not self.facts.is_ordinary_attribute(part))
                keywords = {word.arg for word in node.keywords}
                match node:
                    case ast.Call(args=[_], keywords=[ast.keyword("allow_pickle", ast.Constant(False)) as word]) if (
                        meaning == "numpy.load"
                    ):
                        self.skipped.update((id(function), id(root), id(word)))
                        yield _ARRAYS
                if meaning == "collections.namedtuple" and all(map(is_literal, node.args)) and keywords <= {"defaults"}:
                    self._place([function])
                if meaning == "inspect.signature" and len(node.args) == 1 and not keywords:
                    self._place([function])
        # `type(self)(...)` makes an object of the own class; of another value it could be `type` itself
        match function:
            case ast.Call(args=[ast.Name(id=argument)]) | ast.Attribute(value=ast.Name(id=argument)):
                if argument == owner.name != "cls" and _is_type(function):
                    self._skip_types([function], local)

    def _check_store(self, value: ast.expr, attr: str, local: frozenset[str], owner: Owner) -> Iterator[str]:
        root = get_root(value)
        is_own = isinstance(value, ast.Name) and value.id == owner.name
        if root is not None and root.id not in local:
            yield f"{get_text(value)}.{attr} = ..."
        # an object of the project keeps what its class keeps already; one of the answer's classes, whatever it likes
        elif is_special(attr) or (not (is_own and (owner.is_written or attr in self.module.own_attributes))):
            yield f".{attr} = ..."

    def _check_name(self, node: ast.Name) -> Iterator[str]:
        # a definition or an import elsewhere in the answer does not make it another name here
        if node.id in BUILTINS:
            yield node.id
        if node.id in self.module.classes:
            self._note_class(node, node.id)
        for meaning in self.aliases.get(node.id, ()):
            if self.facts.is_module(meaning):
                yield f"{meaning} as a value"
                continue
            self._note_class(node, meaning)
            if not self.facts.is_ordinary_name(meaning) or (meaning in _PLACED and id(node) not in self.placed):
                yield meaning

    def _note_class(self, node: ast.expr, meaning: str) -> None:
        if meaning.rpartition(".")[2][:1].isupper() and id(node) not in self.placed | self.called:
            self.handed_on.add(meaning)

    def _check_chain(self, node: ast.Attribute, local: frozenset[str], owner: Owner) -> Iterator[str]:
        """Check `a.b.c` as a whole."""
        is_set = (
            isinstance(node.value, ast.Name) and node.value.id == owner.name and node.attr in self.module.set_attributes
        )
        if node.attr in EVALUATING and id(node) not in self.placed and not is_set:
            yield f".{node.attr}"
        is_call_allowed = node.attr == "__init__" and id(node) in self.placed
        parts, inner = [] if is_call_allowed else [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            if id(inner) not in self.skipped:
                parts.insert(0, inner.attr)
            self.skipped.add(id(inner))
            inner = inner.value
        if not isinstance(inner, ast.Name) or inner.id in local:
            is_own = isinstance(inner, ast.Name) and inner.id == owner.name
            holder = self.facts.find_class(inner)
            for part in parts:
                if not self.facts.is_ordinary_attribute(part, owner if is_own else NOBODY, holder):
                    yield f".{part}"
                is_own, holder = False, ""
            return
        self.skipped.add(id(inner))
        if not parts:
            yield from self._check_name(inner)
            return
        is_own_class = inner.id == self.facts.holder.rpartition(".")[2] and self.facts.target in parts
        if is_own_class or any(self.facts.is_method_of(inner.id, part) for part in parts):
            yield f"{inner.id}.{'.'.join(parts)}"  # a method called with an object of the caller's choice
        if inner.id not in self.aliases:
            yield from self._check_name(inner)
            yield from (f".{part}" for part in parts if not self.facts.is_ordinary_attribute(part, cls=inner.id))
        for meaning in self.aliases.get(inner.id, ()):
            chain = ".".join([meaning, *parts])
            self._note_class(node, chain)
            is_maker = chain in _PLACED and id(node) not in self.placed
            if self.facts.is_module(chain) or not self.facts.is_ordinary_name(chain) or is_maker:
                yield chain

    def _place(self, nodes: Iterable[ast.expr | None]) -> None:
        for node in nodes:
            if isinstance(node, ast.Name | ast.Attribute):
                self.placed.add(id(node))
            elif isinstance(node, ast.Tuple | ast.List | ast.BinOp | ast.Subscript):
                self._place([one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)])

    def _skip_decorators(self, node: Function, local: frozenset[str]) -> None:
        """Allow `property` and `functools.wraps` above a function. Elsewhere they change other objects."""
        for decorator in node.decorator_list:
            match decorator:
                case ast.Name(id="property") if self._is_builtin("property", local):
                    self.skipped.add(id(decorator))
                case ast.Call(func=function, args=[_], keywords=[]) if (
                    # another decorator below it could return anything, which would get another name
                    len(node.decorator_list) == 1 and self.facts.find_meanings(function, local) == {WRAPS}
                ):
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


def _list_called(node: ast.Call) -> list[ast.expr]:
    """The arguments of a call of a table's method that it may call by name."""
    if node.args:
        return node.args[:1]
    # one of `name=(column, method)`
    named = [word.value.elts[-1] for word in node.keywords if isinstance(word.value, ast.Tuple) and word.value.elts]
    return [*named, *(word.value for word in node.keywords if word.arg in {"func", "arg", None})]


def _is_type(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[_], keywords=[]):
            return True
        case ast.Attribute(value=value, attr="__class__"):
            return not _is_type(value)
    return False
