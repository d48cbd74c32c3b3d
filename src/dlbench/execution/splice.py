"""How does an answer take the place of the reference, and of nothing else?

Public patchers paste whole answers over a function: they lose helpers, put imports above `from __future__`, and let an
answer's `np` replace the module's. Each of those turns a right answer into a failure, or changes code that was not
asked for. Here the module's text stays as it is but for the target's own lines; what the answer's target needs by name
(its helpers, constants, imports, class members) comes along, and a name that the module or Python has already is
renamed in the answer first, so that no other function sees a difference.

How is a name of the answer changed everywhere it means that thing, and nowhere else?

With libcst's scopes: a parameter, a local variable or a keyword argument of the same spelling stays as it is.
"""

import ast
import builtins
import copy
import re
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst
from libcst.metadata import Access, Assignment, MetadataWrapper, ScopeProvider

from dlbench.dataset.target import Function, Target, dotted_name, find_target, render_signature
from dlbench.execution.answer import Answer, AnswerError, Statement, at, read_answer, render
from dlbench.execution.names import find_imports, find_names
from dlbench.parsing import parse


def rename_globals(module: cst.Module, new_names: dict[str, str]) -> cst.Module:
    """The same module with some of its module-level names spelt otherwise; statements keep their places."""
    if not new_names:
        return module
    wrapper = MetadataWrapper(module, unsafe_skip_copy=False)
    scopes = wrapper.resolve(ScopeProvider)
    scope = next(scope for scope in scopes.values() if scope is not None).globals
    nodes: set[int] = set()
    for name in new_names:
        for assignment in scope[name]:
            if isinstance(assignment, Assignment):
                nodes.add(id(assignment.node))
            for access in assignment.references:
                nodes.add(id(leftmost(access)))
    return wrapper.module.visit(_Renamer(nodes, new_names))


def leftmost(access: Access) -> cst.CSTNode:
    node: cst.CSTNode = access.node
    while isinstance(node, cst.Attribute):
        node = node.value
    return node


class _Renamer(cst.CSTTransformer):
    def __init__(self, nodes: set[int], new_names: dict[str, str]) -> None:
        super().__init__()
        self.nodes = nodes
        self.new_names = new_names

    def _new(self, name: cst.Name) -> cst.Name:
        return name.with_changes(value=self.new_names.get(name.value, name.value))

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return self._new(updated_node) if id(original_node) in self.nodes else updated_node

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        if id(original_node) not in self.nodes:
            return updated_node
        return updated_node.with_changes(name=self._new(updated_node.name))

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        if id(original_node) not in self.nodes:
            return updated_node
        return updated_node.with_changes(name=self._new(updated_node.name))

    def leave_Global(self, original_node: cst.Global, updated_node: cst.Global) -> cst.Global:
        return updated_node.with_changes(
            names=[item.with_changes(name=self._new(item.name)) for item in updated_node.names]
        )

    def leave_Annotation(self, original_node: cst.Annotation, updated_node: cst.Annotation) -> cst.Annotation:
        """Names inside an annotation in quotes are no tree's nodes."""
        text = updated_node.annotation
        if not isinstance(text, cst.SimpleString):
            return updated_node
        value = text.value
        for old, new in self.new_names.items():
            value = re.sub(rf"\b{re.escape(old)}\b", new, value)
        return updated_node.with_changes(annotation=text.with_changes(value=value))

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.Import:
        if id(original_node) not in self.nodes:
            return updated_node
        aliases: list[cst.ImportAlias] = []
        for alias in original_node.names:
            aliases += self._renamed(alias)
        return updated_node.with_changes(names=separate(aliases))

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
        if id(original_node) not in self.nodes or isinstance(original_node.names, cst.ImportStar):
            return updated_node
        aliases: list[cst.ImportAlias] = []
        for alias in original_node.names:
            aliases += self._renamed(alias)
        return updated_node.with_changes(names=separate(aliases))

    def _renamed(self, alias: cst.ImportAlias) -> list[cst.ImportAlias]:
        bound = alias.evaluated_alias or alias.evaluated_name.split(".")[0]
        if bound not in self.new_names:
            return [alias]
        new = cst.AsName(cst.Name(self.new_names[bound]))
        if alias.asname is not None or "." not in alias.evaluated_name:
            return [alias.with_changes(asname=new)]
        # `import a.b` binds `a` and loads `a.b`; renamed it must still do both
        loads = cst.AsName(cst.Name(f"{self.new_names[bound]}_{alias.evaluated_name.replace('.', '_')}"))
        return [cst.ImportAlias(name=cst.Name(bound), asname=new), alias.with_changes(asname=loads)]


def separate(aliases: list[cst.ImportAlias]) -> list[cst.ImportAlias]:
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    *others, last = aliases
    return [*(alias.with_changes(comma=comma) for alias in others), last.with_changes(comma=cst.MaybeSentinel.DEFAULT)]


class LazyAnnotations(cst.CSTTransformer):
    """Puts annotations in quotes: what `from __future__ import annotations` means, for the answer's code alone."""

    def leave_Annotation(self, original_node: cst.Annotation, updated_node: cst.Annotation) -> cst.Annotation:
        if isinstance(updated_node.annotation, cst.SimpleString):
            return updated_node
        text = cst.Module([]).code_for_node(updated_node.annotation)
        return updated_node.with_changes(annotation=cst.SimpleString(repr(" ".join(text.split()))))


PREFIX = "_dlbench_"
_one_at_a_time = threading.Lock()
"""How deep calls may go is set for the whole process: an end of one deep answer would end the interpreter over another
that is deep just then."""


@dataclass(frozen=True)
class Spliced:
    """The module with the answer in it, and which of the answer's names are spelt otherwise there."""

    source: str
    renamed: dict[str, str]
    before: str
    """What the answer brings along at the module's level, in front of the target or its outermost class."""
    before_line: int
    target: str
    """The target as it stands in the module, decorators and all."""
    line: int
    """Where the target begins."""
    others: str
    """What else came in: names of a star import, members of the class, statements after the target."""
    ranges: list[tuple[int, int]]
    """The lines of the module that are the answer's."""


def splice(source: str, qualname: str, code: str, *, module: str = "", is_package: bool = False) -> Spliced:
    """Raises AnswerError when the code cannot take the target's place. `module` is the source's own dotted name."""
    with _one_at_a_time:
        try:
            return _splice(source, qualname, code, module, is_package)
        except RecursionError:
            return _with_room(lambda: _splice(source, qualname, code, module, is_package))


def _with_room(work: Callable[[], Spliced]) -> Spliced:
    """Long chains that models repeat themselves into are legal Python, and deeper than the usual stack."""
    limit, size = sys.getrecursionlimit(), threading.stack_size(512 << 20)
    sys.setrecursionlimit(200_000)
    try:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(work).result()
    except RecursionError:
        raise AnswerError("syntax_error", "the code is nested too deeply") from None
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)


def _splice(source: str, qualname: str, code: str, module: str, is_package: bool) -> Spliced:
    ground = _survey(source, qualname, module, is_package)
    target = ground.target
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = read_answer(code, qualname, ground.signature)
            spliced = _assemble(ground.source, target, answer, ground.surroundings)
            _compile(spliced, target)
    except SyntaxError as error:
        raise AnswerError("syntax_error", f"{type(error).__name__}: {error.msg} (line {error.lineno})") from None
    return spliced


@dataclass(frozen=True)
class _Ground:
    """What does not depend on the answer."""

    source: str
    target: Target
    signature: str
    surroundings: "_Surroundings"


@lru_cache(maxsize=64)
def _survey(source: str, qualname: str, module: str, is_package: bool) -> _Ground:
    source = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    target = find_target(source, qualname)
    signature = render_signature(target.node, decorators=False)
    return _Ground(source, target, signature, _Surroundings(source, target, module, is_package))


def _compile(spliced: Spliced, target: Target) -> None:
    """Only what is new, where it can stand alone: the rest of the module compiled before, and it may be long."""
    headers = write_headers(target)
    if headers is None or spliced.others:
        compile(spliced.source, "<answer>", "exec", dont_inherit=True)
        return
    for piece in ("\n".join([*headers, spliced.target]), spliced.before):
        compile(piece, "<answer>", "exec", dont_inherit=True)


def write_headers(target: Target) -> list[str] | None:
    """The bare classes around the target, one line each; None where something else is around it, too."""
    depth, width = len(target.classes), len(target.indent)
    offsets = [place * width // depth for place in range(depth)]
    if (not depth and width) or offsets != [cls.col_offset for cls in target.classes]:
        return None
    return [f"{target.indent[:offset]}class {cls.name}:" for offset, cls in zip(offsets, target.classes, strict=True)]


def _assemble(source: str, target: Target, answer: Answer, surroundings: "_Surroundings") -> Spliced:
    brought = _leave_known(answer, surroundings)
    stars = _spell_out_stars(answer, brought, surroundings)
    body = list(answer.module.body)
    for index, names in brought.items():
        body[index] = _prune(answer, body[index], names)
    answer.module = answer.module.with_changes(body=body)
    renamed = _choose_names(answer, brought, surroundings) | _find_aliases(answer, surroundings)
    tree = rename_globals(answer.module, renamed)
    if answer.lazy_annotations and not surroundings.lazy_annotations:
        tree = cst.ensure_type(tree.visit(LazyAnnotations()), cst.Module)
    before = render(tree, *(_bare(_defer_annotations(tree.body[index])) for index in brought)).strip("\n")
    members = [at(tree, path) for path in answer.members if _is_new_member(answer, path, surroundings)]
    after = [tree.body[index] for index in answer.after]
    lines = source.split("\n")
    # each piece with the lines that are the answer's own
    pieces = [
        ("", "\n".join(lines[: target.outermost - 1])),
        ("others", "\n".join(stars)),
        ("before", before),
        ("", "\n".join(lines[target.outermost - 1 : target.first - 1])),
        ("others", "\n".join(_render_inside(tree, node, target.indent) for node in members)),
        ("target", _render_inside(tree, _decorate(at(tree, answer.target), target.node), target.indent)),
        ("others", "\n".join(_render_inside(tree, node, target.indent) for node in after)),
        ("", "\n".join(lines[target.last :])),
    ]
    is_empty = [target.outermost == 1, not stars, not before, target.outermost == target.first, not members]
    is_empty += [False, not after, target.last >= len(lines)]
    return _join([piece for piece, empty in zip(pieces, is_empty, strict=True) if not empty], renamed)


def _join(pieces: list[tuple[str, str]], renamed: dict[str, str]) -> Spliced:
    line = 1
    ranges: dict[str, list[tuple[int, int]]] = {"before": [], "others": [], "target": []}
    texts = {"before": "", "others": "", "target": ""}
    for kind, text in pieces:
        count = text.count("\n") + 1
        if kind:
            ranges[kind].append((line, line + count - 1))
            texts[kind] += text
        line += count
    source = "\n".join(text for _, text in pieces)
    lines = {kind: places[0][0] if places else 1 for kind, places in ranges.items()}
    everything = [place for places in ranges.values() for place in places]
    return Spliced(source, renamed, **texts, before_line=lines["before"], line=lines["target"], ranges=everything)


class _Surroundings:
    """What the splicer must know of the module: its names, its imports, and the members of the target's class."""

    def __init__(self, source: str, target: Target, module: str, is_package: bool) -> None:
        self.tree = parse(source)
        names = find_names(source)
        self.bound = names.bound
        self.taken = names.bound | names.used | set(dir(builtins))
        self.module = module
        self.package = module if is_package else module.rpartition(".")[0]
        self.imports = find_imports(self.tree, self.package)
        self.lazy_annotations = any(
            isinstance(node, ast.ImportFrom)
            and node.module == "__future__"
            and any(alias.name == "annotations" for alias in node.names)
            for node in self.tree.body
        )
        classes = {node.name for node in self.tree.body if isinstance(node, ast.ClassDef)}
        imported = {name for name, (_, attribute) in self.imports.items() if attribute[:1].isupper()}
        self.classes = classes | imported
        self.is_starred = "__all__" not in names.bound
        self.definitions = {_normal(node) for node in self.tree.body if isinstance(node, _DEFINITIONS)}
        body = target.classes[-1].body if target.classes else []
        self.members = find_names(ast.unparse(ast.Module(body, []))).bound


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


def _is_new_member(answer: Answer, path: tuple[int, ...], surroundings: _Surroundings) -> bool:
    """Not what the class has already, nor a header that stands for what it inherits."""
    code = render(answer.module, at(answer.module, path))
    return not find_names(code).bound & surroundings.members and not _is_placeholder(parse(code).body[0])


def _uses(answer: Answer) -> frozenset[str]:
    """Every module-level name that the target, or what comes along with it, looks up."""
    pieces = [answer.target, *answer.members, *((index,) for index in [*answer.before, *answer.after])]
    return frozenset().union(*(find_names(render(answer.module, at(answer.module, path))).used for path in pieces))


def _leave_known(answer: Answer, surroundings: _Surroundings) -> dict[int, frozenset[str]]:
    """The statements to bring, each with the names wanted of it, but for what the module has in the same sense."""
    wanted = _uses(answer)
    own: set[str] = set()
    for index in answer.before:
        own |= {name for name in answer.names[index].bound if not _is_known(answer, index, name, surroundings)}
    # a name that the module has, but that the answer also makes anew, is the answer's own everywhere
    return {
        index: names & own
        for index in answer.before
        if (names := answer.names[index].bound & wanted) & own or not names
    }


def _is_known(answer: Answer, index: int, name: str, surroundings: _Surroundings) -> bool:
    """Does the module hold this very thing under this very name?"""
    tree = parse(render(answer.module, answer.module.body[index]))
    if name in _find_own_imports(tree, surroundings):
        return True
    if name not in surroundings.bound:
        return False
    imported = find_imports(tree, surroundings.package).get(name)
    if imported is not None:
        return surroundings.imports.get(name) == imported
    node = tree.body[0]
    # a class restated as context, even loosely, is the module's: another of its name would fail every isinstance
    if _is_placeholder(node) or (isinstance(node, ast.ClassDef) and name in surroundings.classes):
        return True
    return isinstance(node, _DEFINITIONS) and _normal(node) in surroundings.definitions


def _find_own_imports(tree: ast.Module, surroundings: _Surroundings) -> dict[str, str]:
    """What is imported from the very module it goes into: the name it gets there, and the name it has here."""
    imports = find_imports(tree, surroundings.package)
    return {
        name: attribute
        for name, (source, attribute) in imports.items()
        if source == surroundings.module and attribute in surroundings.bound
    }


def _find_aliases(answer: Answer, surroundings: _Surroundings) -> dict[str, str]:
    tree = parse(render(answer.module, *(answer.module.body[index] for index in answer.before)))
    return {alias: name for alias, name in _find_own_imports(tree, surroundings).items() if alias != name}


def _is_placeholder(node: ast.stmt) -> bool:
    """A restated header without a body of its own: it stands for what the module has."""
    match node:
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body) | ast.ClassDef(body=body):
            return all(map(_is_placeholder, body))
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(value=ast.Constant(value=value)) | ast.AnnAssign(value=ast.Constant(value=value)):
            return value is ...
        case ast.Raise(exc=ast.expr() as error):
            return dotted_name(error) == "NotImplementedError"
    return False


def _normal(node: ast.stmt) -> str:
    """The same text for definitions that differ in spacing, comments and docstring only."""
    if isinstance(node, Function | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
        node = copy.copy(node)
        node.body = node.body[1:]
    return ast.dump(node)


def _spell_out_stars(answer: Answer, brought: dict[int, frozenset[str]], surroundings: _Surroundings) -> list[str]:
    """`from x import *` would rebind anything: only the names that nothing else explains are taken from it."""
    if not answer.stars:
        return []
    explained = surroundings.taken.union(*(answer.names[index].bound for index in brought))
    lines: list[str] = []
    for name in sorted(_uses(answer) - explained):
        imports = [re.sub(r"\bNAME$", name, star) for star in answer.stars]
        depth = ""
        for line in reversed(imports):  # the last star import wins
            lines += [f"{depth}try:", f"{depth}    {line}", f"{depth}except ImportError:"]
            depth += "    "
        lines.append(f"{depth}pass")
    return lines


def _prune(answer: Answer, statement: Statement, names: frozenset[str]) -> Statement:
    """Of a line of imports, or of several statements on one line, only those that bind a wanted name."""
    if not isinstance(statement, cst.SimpleStatementLine) or not names:
        return statement
    small = [pruned for part in statement.body if (pruned := _prune_small(answer, part, names)) is not None]
    return statement.with_changes(body=small)


def _prune_small(answer: Answer, part: cst.BaseSmallStatement, names: frozenset[str]) -> cst.BaseSmallStatement | None:
    if isinstance(part, cst.Import | cst.ImportFrom) and not isinstance(part.names, cst.ImportStar):
        kept = [alias for alias in part.names if (alias.evaluated_alias or alias.evaluated_name.split(".")[0]) in names]
        return part.with_changes(names=separate(kept)) if kept else None
    code = render(answer.module, cst.SimpleStatementLine([part]))
    return part if find_names(code).bound & names else None


def _choose_names(answer: Answer, brought: dict[int, frozenset[str]], surroundings: _Surroundings) -> dict[str, str]:
    """New spellings for what would otherwise change a name of the module, of Python, or of a star import elsewhere."""
    renamed: dict[str, str] = {}
    taken = surroundings.taken.union(*(names.bound | names.used for names in answer.names.values()))
    for index in brought:
        code = render(answer.module, answer.module.body[index])
        imports = find_imports(parse(code), surroundings.package)
        for name in sorted(find_names(code).bound):
            is_exported = surroundings.is_starred and not name.startswith("_") and name not in imports
            if name in surroundings.taken or is_exported:
                new = PREFIX + name
                while new in taken:
                    new += "_"
                renamed[name] = new
    return renamed


def _decorate(node: Statement, reference: Function) -> Statement:
    """The reference's decorators stay around the answer's function; the answer's own come in, innermost."""
    if not isinstance(node, cst.FunctionDef):
        return node
    own = list(node.decorators)
    names = [_kind(_last_name(decorator.decorator)) for decorator in own]
    decorators: list[cst.Decorator] = []
    for given in reference.decorator_list:
        name = _kind(dotted_name(given).rpartition(".")[2])
        theirs = cst.Decorator(cst.parse_expression(ast.unparse(given)))
        if name and name in names:
            mine = own.pop(names.index(name))
            names.remove(name)
            spelt = [_last_name(one.decorator) + _arguments(one.decorator) for one in (mine, theirs)]
            theirs = theirs if spelt[0] == spelt[1] else mine  # spelt otherwise it is the answer's word
        decorators.append(theirs)
    return node.with_changes(decorators=[*decorators, *own])


def _kind(name: str) -> str:
    """Two properties around one function would be one too many."""
    return "property" if name == "cached_property" else name


def _last_name(expression: cst.BaseExpression) -> str:
    return dotted_name(_parse(expression)).rpartition(".")[2]


def _arguments(expression: cst.BaseExpression) -> str:
    node = _parse(expression)
    return (
        ast.dump(ast.Tuple([*node.args, *(word.value for word in node.keywords)])) if isinstance(node, ast.Call) else ""
    )


def _parse(expression: cst.BaseExpression) -> ast.expr:
    return parse(cst.Module([]).code_for_node(expression).strip(), mode="eval").body


def _defer_annotations(node: Statement) -> Statement:
    """A helper stands above the target, perhaps above what its annotations name."""
    return (
        cst.ensure_type(node.visit(LazyAnnotations()), cst.FunctionDef) if isinstance(node, cst.FunctionDef) else node
    )


def _bare(node: Statement) -> Statement:
    return node.with_changes(leading_lines=())


def _render_inside(module: cst.Module, node: Statement, indent: str) -> str:
    """The statement's text at an indentation; what stands inside a string of several lines is not moved."""
    node = _bare(node)
    if not indent:
        return render(module, node).strip("\n")
    block = cst.IndentedBlock(body=[node], indent=indent)
    wrapped = cst.If(test=cst.Name("True"), body=block)
    return render(module, wrapped).split("\n", 1)[1].rstrip("\n")
