"""Put an answer in the place of the reference, and change nothing else.

Pasting a whole answer over a function loses helpers, puts imports above `from __future__`, and lets an answer's `np`
replace the module's. Each of those fails a right answer or changes code outside the target. Here only the target's own
lines change. What it needs by name comes along, and a name that the module or Python already has is renamed in the
answer first, so that no other function sees a difference.
"""

import ast
import builtins
import copy
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst

from dlbench.dataset.target import Function, Target, dotted_name, find_target, render_signature, write_headers
from dlbench.execution.answer import Answer, AnswerError, read_answer
from dlbench.execution.locate import Statement, at, render
from dlbench.execution.names import find_future, find_imports, find_members, find_names, find_uses
from dlbench.execution.renaming import LazyAnnotations, bound_name, rename_globals, separate
from dlbench.extraction.syntax import is_placeholder
from dlbench.parsing import dump, parse, unparse

PREFIX = "_dlbench_"
_one_at_a_time = threading.Lock()
"""The recursion limit holds for the whole process: resetting it after one deep answer would crash the interpreter over
another that is deep at that moment."""


@dataclass(frozen=True)
class Spliced:
    """The module with the answer in it, and the new names of what was renamed."""

    source: str
    renamed: dict[str, str]
    before: str
    """What the answer brings along at module level, in front of the target or its outermost class."""
    before_line: int
    target: str
    """The target as it stands in the module, with its decorators."""
    line: int
    """The target's first line."""
    others: str
    """Everything else from the answer: names of a star import, members of the class, statements after the target."""
    ranges: list[tuple[int, int]]
    """The lines of the module that are the answer's."""


def splice(source: str, qualname: str, code: str, *, module: str = "", is_package: bool = False) -> Spliced:
    """Raises AnswerError when the code cannot take the target's place. `module` is the source's own dotted name."""
    with _one_at_a_time:
        try:
            return _splice(source, qualname, code, module, is_package)
        except RecursionError:
            return _with_deep_stack(lambda: _splice(source, qualname, code, module, is_package))


def _with_deep_stack(work: Callable[[], Spliced]) -> Spliced:
    """Long chains in which models repeat themselves are legal Python, and deeper than the usual stack."""
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
    surroundings = _survey(source, qualname, module, is_package)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spliced = _assemble(read_answer(code, qualname, surroundings.signature), surroundings)
            _compile(spliced, surroundings.target)
    except SyntaxError as error:
        raise AnswerError("syntax_error", f"{type(error).__name__}: {error.msg} (line {error.lineno})") from None
    return spliced


def _compile(spliced: Spliced, target: Target) -> None:
    """Compile only the new code where it can stand alone: the rest of the module compiled before, and may be long."""
    headers = write_headers(target)
    if headers is None or spliced.others:
        compile(spliced.source, "<answer>", "exec", dont_inherit=True)
        return
    for piece in ("\n".join([*headers, spliced.target]), spliced.before):
        compile(piece, "<answer>", "exec", dont_inherit=True)


def _assemble(answer: Answer, surroundings: "_Surroundings") -> Spliced:
    target, lines = surroundings.target, surroundings.source.split("\n")
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
    before = _strip(render(tree, *(_bare(_defer_annotations(tree.body[index])) for index in brought)))
    members = [at(tree, path) for path in answer.members if _is_new_member(answer, path, surroundings)]
    after = [tree.body[index] for index in answer.after]
    pieces = [  # the kind of each piece; "" is the module's own text
        ("", lines[: target.outermost - 1]),
        ("others", stars),
        ("before", [before] if before else []),
        ("", lines[target.outermost - 1 : target.first - 1]),
        ("others", [_render_inside(tree, node, target.indent) for node in members]),
        ("target", [_render_inside(tree, _decorate(at(tree, answer.target), target.node), target.indent)]),
        ("others", [_render_inside(tree, node, target.indent) for node in after]),
        ("", lines[target.last :]),
    ]
    return _join([(kind, "\n".join(texts)) for kind, texts in pieces if texts], renamed)


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
    """The module around the target: its names, its imports, and the members of the target's class."""

    def __init__(self, source: str, qualname: str, module: str, is_package: bool) -> None:
        self.source = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        self.target = find_target(self.source, qualname)
        self.signature = render_signature(self.target.node, decorators=False)
        tree = parse(self.source)
        names = find_names(self.source)
        self.bound = names.bound
        self.taken = names.bound | names.used | set(dir(builtins))
        self.module = module
        self.package = module if is_package else module.rpartition(".")[0]
        self.imports = find_imports(tree, self.package)
        self.lazy_annotations = "annotations" in find_future(tree)
        classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
        imported = {name for name, (_, attribute) in self.imports.items() if attribute[:1].isupper()}
        self.classes = classes | imported
        self.definitions = {_normal(node) for node in tree.body if isinstance(node, _DEFINITIONS)}
        self.members = find_members(self.target)


_survey = lru_cache(maxsize=64)(_Surroundings)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


def _is_new_member(answer: Answer, path: tuple[int, ...], surroundings: _Surroundings) -> bool:
    """Neither a member that the class has already, nor a header that stands for an inherited one."""
    code = answer.render(at(answer.module, path))
    return not find_names(code).bound & surroundings.members and not is_placeholder(parse(code).body[0])


def _uses(answer: Answer) -> frozenset[str]:
    """Every module-level name that the target, or what comes along with it, looks up."""
    pieces = [answer.target, *answer.members, *((index,) for index in [*answer.before, *answer.after])]
    return frozenset().union(*(find_uses(answer.render(at(answer.module, path))) for path in pieces))


def _leave_known(answer: Answer, surroundings: _Surroundings) -> dict[int, frozenset[str]]:
    """The statements to bring, each with the names needed of it, except what the module has in the same sense."""
    needed = _uses(answer)
    own: set[str] = set()
    for index in answer.before:
        own |= {name for name in answer.names[index].bound if not _is_known(answer, index, name, surroundings)}
    # A name that the module has, but that the answer also defines anew, is the answer's own everywhere.
    return {
        index: names & own
        for index in answer.before
        if (names := answer.names[index].bound & needed) & own or not names
    }


def _is_known(answer: Answer, index: int, name: str, surroundings: _Surroundings) -> bool:
    """Whether the module holds the same thing under the same name."""
    tree = parse(answer.render(answer.module.body[index]))
    if name in _find_own_imports(tree, surroundings):
        return True
    if name not in surroundings.bound:
        return False
    imported = find_imports(tree, surroundings.package).get(name)
    if imported is not None:
        return surroundings.imports.get(name) == imported
    node = tree.body[0]
    # A class restated as context, even loosely, is the module's: another class would fail every isinstance check.
    if is_placeholder(node) or (isinstance(node, ast.ClassDef) and name in surroundings.classes):
        return True
    return isinstance(node, _DEFINITIONS) and _normal(node) in surroundings.definitions


def _find_own_imports(tree: ast.Module, surroundings: _Surroundings) -> dict[str, str]:
    """Names that the answer imports from the module it goes into: the name in the answer, the name in the module."""
    imports = find_imports(tree, surroundings.package)
    return {
        name: attribute
        for name, (source, attribute) in imports.items()
        if source == surroundings.module and attribute in surroundings.bound
    }


def _find_aliases(answer: Answer, surroundings: _Surroundings) -> dict[str, str]:
    tree = parse(answer.render(*(answer.module.body[index] for index in answer.before)))
    return {alias: name for alias, name in _find_own_imports(tree, surroundings).items() if alias != name}


def _normal(node: ast.stmt) -> str:
    """A text that is equal for definitions which differ only in spacing, comments and docstring."""
    if isinstance(node, Function | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
        node = copy.copy(node)
        node.body = node.body[1:]
    return dump(node)


def _spell_out_stars(answer: Answer, brought: dict[int, frozenset[str]], surroundings: _Surroundings) -> list[str]:
    """`from x import *` would rebind anything: only names that nothing else explains are taken from it."""
    if not answer.stars:
        return []
    explained = surroundings.taken.union(*(answer.names[index].bound for index in brought))
    lines: list[str] = []
    for name in sorted(_uses(answer) - explained):
        depth = ""
        for star in reversed(answer.stars):  # the last star import wins
            lines += [f"{depth}try:", f"{depth}    {star}{name}", f"{depth}except ImportError:"]
            depth += "    "
        lines.append(f"{depth}pass")
    return lines


def _prune(answer: Answer, statement: Statement, names: frozenset[str]) -> Statement:
    """Of a line of imports, or of several statements on one line, only those that bind one of the names."""
    if not isinstance(statement, cst.SimpleStatementLine) or not names:
        return statement
    small = [pruned for part in statement.body if (pruned := _prune_small(answer, part, names)) is not None]
    return statement.with_changes(body=small)


def _prune_small(answer: Answer, part: cst.BaseSmallStatement, names: frozenset[str]) -> cst.BaseSmallStatement | None:
    if isinstance(part, cst.Import | cst.ImportFrom) and not isinstance(part.names, cst.ImportStar):
        kept = [alias for alias in part.names if bound_name(alias) in names]
        return part.with_changes(names=separate(kept)) if kept else None
    code = answer.render(cst.SimpleStatementLine([part]))
    return part if find_names(code).bound & names else None


def _choose_names(answer: Answer, brought: dict[int, frozenset[str]], surroundings: _Surroundings) -> dict[str, str]:
    """New names for what would otherwise change a name of the module or of Python; a free name stays as it is."""
    renamed: dict[str, str] = {}
    taken = surroundings.taken.union(*(names.bound | names.used for names in answer.names))
    for index in brought:
        for name in sorted(find_names(answer.render(answer.module.body[index])).bound & surroundings.taken):
            new = PREFIX + name
            while new in taken:
                new += "_"
            renamed[name] = new
    return renamed


def _decorate(node: Statement, reference: Function) -> Statement:
    """The reference's decorators stay around the answer's function; the answer's own come in, innermost."""
    if not isinstance(node, cst.FunctionDef):
        return node
    texts = [cst.Module([]).code_for_node(one.decorator).strip() for one in node.decorators]
    own = {one: parse(text, mode="eval").body for one, text in zip(node.decorators, texts, strict=True)}
    decorators: list[cst.Decorator] = []
    for expression in reference.decorator_list:
        decorator = cst.Decorator(cst.parse_expression(unparse(expression)))
        kind = _kind(expression)
        restated = next((one for one in own if kind and _kind(own[one]) == kind), None)
        # with other arguments the answer's counts
        if restated is not None and _spell(own.pop(restated)) != _spell(expression):
            decorator = restated
        decorators.append(decorator)
    return node.with_changes(decorators=[*decorators, *own])


def _kind(decorator: ast.expr) -> str:
    """A cached property replaces a property: two around one function would be one too many."""
    name = dotted_name(decorator).rpartition(".")[2]
    return "property" if name == "cached_property" else name


def _spell(decorator: ast.expr) -> str:
    name = dotted_name(decorator).rpartition(".")[2]
    if not isinstance(decorator, ast.Call):
        return name
    return name + dump(ast.Tuple([*decorator.args, *(word.value for word in decorator.keywords)]))


def _defer_annotations(node: Statement) -> Statement:
    """A helper stands above the target, perhaps above the classes in its annotations."""
    return cst.ensure_type(node.visit(LazyAnnotations()), type(node)) if isinstance(node, cst.FunctionDef) else node


def _bare(node: Statement) -> Statement:
    return node.with_changes(leading_lines=())


def _render_inside(module: cst.Module, node: Statement, indent: str) -> str:
    """The statement's text at an indentation; the inside of a multi-line string is not moved."""
    node = _bare(node)
    if not indent:
        return _strip(render(module, node))
    block = cst.IndentedBlock(body=[node], indent=indent)
    wrapped = cst.If(test=cst.Name("True"), body=block)
    return _strip(render(module, wrapped).split("\n", 1)[1])


def _strip(text: str) -> str:
    """Without empty lines around it. After a backslash at the end they keep the next statement apart."""
    text = text.strip("\n")
    return f"{text}\n\n" if text.endswith("\\") else text
