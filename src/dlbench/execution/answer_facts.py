"""Hold what the code of an answer means: its names, its classes, and which names and attributes are ordinary in it."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from dlbench.execution.ordinary_names import ModuleFacts, is_listed, is_listed_module, list_aliases
from dlbench.execution.scopes import Function, get_root, get_text, list_bound_anywhere, list_own_nodes, list_stored
from dlbench.execution.unusual_names import EVALUATING, SPARSE, is_dangerous, is_listed_attribute

WRAPS = "functools.wraps"
LITERAL = {"operator.attrgetter", "operator.methodcaller"}
"""Harmless when called with the names of attributes written out."""
MAKERS = {
    "dataclasses.dataclass", "typing.NamedTuple", "typing.TypedDict", "typing_extensions.TypedDict", "enum.Enum",
    "enum.IntEnum", "enum.Flag", "enum.IntFlag", "enum.StrEnum", "collections.namedtuple", "inspect.signature",
}  # fmt: skip
"""Harmless as a base or decorator of a class, in checks of types, and some in simple calls. In others they make classes
from any names, or evaluate text."""
_DEFERRING = {"dataclasses.field", "collections.defaultdict"}
"""They call what they are given later."""
_READING = {
    "len", "sorted", "list", "tuple", "dict", "set", "frozenset", "sum", "min", "max", "enumerate", "zip", "range",
    "str", "repr", "int", "float", "bool", "any", "all", "isinstance", "np.array", "numpy.array", "re.compile",
    "partial", "functools.partial", "namedtuple", "TypeVar", "logging.getLogger",
}  # fmt: skip
"""They change nothing that they are given."""
_CLOSED = {"test", "tests", "conftest", "testing", "_testing"}
_TO_SPARSE = ("tocs", "tobs", "tocoo", "to_sparse")


class Piece(NamedTuple):
    """A part of an answer as it stands in the module."""

    tree: ast.Module
    is_member: bool = False
    """Whether it stands in a class of the module; then it is parsed inside a block."""


class Owner(NamedTuple):
    """The first parameter of the method around a node."""

    name: str = ""
    is_written: bool = False
    """Whether the answer defines its class."""


NOBODY = Owner()


class AnswerFacts:
    def __init__(self, pieces: list[Piece], module: ModuleFacts, qualname: str) -> None:
        self.module = module
        self.aliases: dict[str, set[str]] = {}
        for name, meaning in [*module.aliases, *(pair for one in pieces for pair in list_aliases(one.tree))]:
            self.aliases.setdefault(name, set()).add(meaning)
        self.holder, _, self.target = qualname.rpartition(".")
        nodes = [node for piece in pieces for node in ast.walk(piece.tree)]
        self.classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        self.methods = {id(part): node for node in self.classes for part in node.body}
        self.defined = {name for piece in pieces if not piece.is_member for name in list_stored(piece.tree)}
        self.members = {name for piece in pieces if piece.is_member for name in list_stored(piece.tree)}
        imported = {one for found in self.aliases.values() for one in found}
        self.uses_tables = any(one.startswith(("pandas", "polars")) for one in imported)
        makes_sparse = any(isinstance(node, ast.Attribute) and node.attr.startswith(_TO_SPARSE) for node in nodes)
        self.uses_sparse = makes_sparse or any(one.startswith("scipy.sparse") for one in imported)
        bound = list_bound_anywhere(nodes)
        self.functions = {name for name, makers in bound.items() if makers == ["function"]}
        self.own_names = {one.name: _list_own_names(one) for one in self.classes if bound[one.name] == ["class"]}
        """What classes of the answer define, and keep on their objects."""
        made = {name: makers[0] for name, makers in bound.items() if len({*makers}) == 1}
        targets = [node for node in nodes if isinstance(node, Function) and node.name == self.target]
        inner = {id(one) for node in targets for one in ast.walk(node)}
        named = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in inner]
        self.names_project = any(isinstance(node.ctx, ast.Load) and self.is_shared(node.id) for node in named)
        """Whether it names objects of the project outside the target."""
        self.objects = {name: maker for name, maker in made.items() if maker in self.own_names}
        """Names of objects of these classes."""
        self.texts = _list_texts(nodes, bound, module.taken - self.defined)
        read = [node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)]
        written = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        matched = [name for node in nodes if isinstance(node, ast.MatchClass) for name in node.kwd_attrs]
        self.read_attributes = {*read, *matched, *(part for text in written for part in re.findall(r"\w+", text))}
        """Names behind a dot that is no assignment, keywords of patterns, and words in texts."""

    def is_shared(self, chain: str) -> bool:
        """Whether it may be an object of the project that outlives the call."""
        name, _, rest = chain.partition(".")
        if name in self.defined:
            return False
        meanings = [f"{one}.{rest}" if rest else one for one in self.aliases.get(name, ())]
        if not meanings:
            return name in self.module.stored
        return any(self.module.is_internal(one) and not self.is_module(one) for one in meanings)

    def is_ordinary_attribute(self, name: str, owner: Owner = NOBODY, cls: str = "") -> bool:
        """Whether honest code may read it from any object, or from its own object or from a class of the answer."""
        if is_dangerous(name) or (self.uses_sparse and name in SPARSE and name not in self.module.attributes):
            return False
        if is_listed_attribute(name) or name in EVALUATING or self.module.has_attribute(name):
            return True
        if owner.name:
            return owner.is_written or name in self.members
        return name in (self.members if cls == self.holder.rpartition(".")[2] else self.own_names.get(cls, ()))

    def find_texts(self, node: ast.expr, local: frozenset[str]) -> list[str]:
        """The texts that a value may be, if all of them are written out. `local`: names of the functions around."""
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.Name(id=name) if name in local | self.defined and not name.startswith("__"):
                return self.texts.get(name, [])
        return []

    def find_class(self, node: ast.expr) -> str:
        """The class of the answer that a value is made by, or is."""
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in self.own_names:
                return name
            case ast.Name(id=name):
                return name if name in self.own_names else self.objects.get(name, "")
        return ""

    def is_method_of(self, name: str, part: str) -> bool:
        """Whether it is a method of a class that the answer defines, which takes its object as the first argument."""
        found = [one for one in self.classes if one.name == name and name in self.defined]
        functions = [one for cls in found for one in cls.body if isinstance(one, Function) and one.name == part]
        return any(one.args.args and one.args.args[0].arg != "cls" and not one.decorator_list for one in functions)

    def is_module(self, chain: str) -> bool:
        is_imported = chain in self.module.imported and "." not in chain
        return is_listed_module(chain) or is_imported or self.module.is_module(chain)

    def is_ordinary_name(self, chain: str) -> bool:
        if is_listed(chain, self.module.libraries):
            return True
        inside = self.module.skip_module(chain)
        if any(part in _CLOSED for part in chain.split(".")) or any(map(is_dangerous, inside)):
            return False
        if chain in self.module.chains or chain in self.module.imported:
            return True
        whole, _, attr = chain.rpartition(".")
        is_attribute = is_listed(whole, self.module.libraries) or not self.module.is_module(whole)
        if is_attribute and not self.is_ordinary_attribute(attr):
            return False
        # an attribute of something that is no module
        return self.module.defines(chain) or is_listed(whole, self.module.libraries)

    def is_ordinary_import(self, name: str) -> bool:
        is_module = is_listed_module(name) or self.module.is_module(name)
        return is_module or name in self.module.imported | LITERAL | MAKERS | {WRAPS} or self.is_ordinary_name(name)

    def list_called_at_import(self, tree: ast.Module) -> Iterator[str]:
        """Functions of the project, and of the answer if it names the project's objects, that run before there is a
        copy of the project's data to compare with."""
        pending: list[ast.Module | ast.ClassDef] = [tree]
        nodes: list[ast.AST] = []
        while pending:
            own = [*list_own_nodes(pending.pop())]
            nodes += own
            pending += [one for one in own if isinstance(one, ast.ClassDef)]
        for node in nodes:
            match node:
                case ast.Call(func=function) if not self.find_meanings(function) & _DEFERRING:
                    handed = [*node.args, *(word.value for word in node.keywords)]
                    parts = [one for part in handed for one in ast.walk(part)]
                    if get_text(function) not in _READING and any(map(self._is_data, parts)):
                        yield get_text(function)
                    called = [function, *(one for one in handed if isinstance(one, ast.Lambda) or self._is_own(one))]
                case ast.FunctionDef(decorator_list=called) | ast.ClassDef(decorator_list=called):
                    pass
                case _:
                    continue
            for one in called:
                text = get_text(one)
                is_project = self.is_shared(text) and text.rpartition(".")[2][:1].islower()
                if is_project or (self.names_project and (isinstance(one, ast.Lambda) or self._is_own(one))):
                    yield text

    def _is_data(self, node: ast.AST) -> bool:
        """Whether it names an object of the project that its module does not define as a function or class."""
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or not self.is_shared(node.id):
            return False
        return node.id not in self.module.defined and (node.id.isupper() or not node.id[:1].isupper())

    def _is_own(self, node: ast.expr) -> bool:
        root = get_root(node)
        return root is not None and root.id in self.functions | self.own_names.keys()

    def find_meanings(self, node: ast.expr, local: frozenset[str] = frozenset()) -> set[str]:
        """What a dotted name may stand for."""
        text = get_text(node)
        name, _, rest = text.partition(".")
        if name in local | self.defined | self.members:
            return {"..."}
        return {f"{one}.{rest}" if rest else one for one in self.aliases.get(name, set())} or {text}

    def is_written(self, node: ast.expr, local: frozenset[str], attr: str) -> bool:
        """Whether it is a function or a name that is written out, for methods that take either."""
        match node:
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
                return all(self.is_written(part, local, attr) for part in parts)
            case ast.Name(id=name):
                # `transform` takes data, too
                return name not in local or attr == "transform" or name in self.functions
        return isinstance(node, ast.Constant | ast.Lambda | ast.Attribute) or (
            attr == "transform" and not isinstance(node, ast.BinOp | ast.JoinedStr)
        )


def _list_texts(nodes: list[ast.AST], bound: dict[str, list[str]], taken: set[str]) -> dict[str, list[str]]:
    """Names that nothing but texts written out is ever bound to, with these texts. `taken`: names of the module."""
    found: dict[str, list[list[ast.expr]]] = {}
    iterated = _list_iterated(nodes, bound)  # in other scopes than its own, such a name must mean nothing else
    lists = {name: node for name, node in iterated.items() if name not in taken and not name.startswith("__")}
    for node in nodes:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                found.setdefault(name, []).append([value])
            case (
                ast.For(target=ast.Name(id=name), iter=values)
                | ast.comprehension(target=ast.Name(id=name), iter=values)
            ):
                chosen = lists.get(values.id) if isinstance(values, ast.Name) else values
                found.setdefault(name, []).append(chosen.elts if isinstance(chosen, ast.Tuple | ast.List) else [values])
    texts: dict[str, list[str]] = {}
    for name, every in found.items():
        constants = [one.value for part in every for one in part if isinstance(one, ast.Constant)]
        written = [value for value in constants if isinstance(value, str)]
        if len(every) == len(bound[name]) and len(written) == sum(map(len, every)):
            texts[name] = written
    return texts


def _list_iterated(nodes: list[ast.AST], bound: dict[str, list[str]]) -> dict[str, ast.expr]:
    """Lists under a name that the answer binds once and only loops over, so that nothing can change them."""
    loops = {id(node.iter) for node in nodes if isinstance(node, ast.For | ast.comprehension)}
    used = {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in loops
    }
    return {
        name.id: node.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(name := node.targets[0], ast.Name)
        if len(node.targets) == len(bound[name.id]) == 1 and name.id not in used
    }


def _list_own_names(node: ast.ClassDef) -> set[str]:
    stores = [one for one in ast.walk(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)]
    return list_stored(node) | {one.attr for one in stores if not one.attr.startswith("__")}
