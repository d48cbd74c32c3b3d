"""Read an answer's code: the target, and the statements that the target needs.

An answer may be the bare function, a whole file, a class around the method or only a body, with helpers and examples.
What the target needs comes along, followed name by name; examples, tests and restated context are left behind.
"""

import ast
import unicodedata
import warnings
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from keyword import iskeyword

import libcst as cst

from dlbench.execution.locate import (
    Path,
    Statement,
    at,
    explain_missing,
    is_body,
    is_main_block,
    locate,
    render,
    walk_classes,
    wrap_body,
)
from dlbench.execution.names import Names, find_attributes, find_changed, find_future, find_names, find_uses
from dlbench.parsing import parse, unparse


class AnswerError(Exception):
    """The code cannot take the target's place; `status` is the resulting verdict."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


@dataclass
class Answer:
    """The answer's statements, the path to the target among them, and those that must come along, in order."""

    module: cst.Module
    target: Path
    lazy_annotations: bool
    stars: list[str]
    """The beginnings of its star imports, up to the star."""
    names: list[Names]
    """Of each statement."""
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    members: list[Path] = field(default_factory=list)

    def render(self, *statements: cst.CSTNode) -> str:
        return render(self.module, *statements)


def read_answer(code: str, qualname: str, header: str) -> Answer:
    module = parse_answer(code)
    path = locate(module, qualname)
    if path is None and is_body(module, header):
        module, path = wrap_body(module, header), (0,)
    if path is None:
        raise AnswerError("missing_target", explain_missing(module, qualname))
    tree = parse(module.code)
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]
    stars = [f"from {'.' * node.level}{node.module or ''} import " for node in imports]
    names = [find_names(render(module, statement)) for statement in module.body]
    answer = Answer(module, path, "annotations" in find_future(tree), stars, names)
    _follow(answer, qualname)
    return answer


def parse_answer(code: str) -> cst.Module:
    """The code as a tree; if all of it is indented (a method cut out of its class), it is moved to the margin."""
    code = code.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    first = next((line for line in code.split("\n") if line.strip() and not line.lstrip().startswith("#")), "")
    indented = first[:1] in {" ", "\t"}
    text = f"if True:\n{code}\n" if indented else code
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = parse(text)
    except (SyntaxError, ValueError) as error:
        raise AnswerError("syntax_error", f"{type(error).__name__}: {error}") from None
    except (RecursionError, MemoryError):
        raise AnswerError("syntax_error", "the code is nested too deeply to be parsed") from None
    try:
        module = cst.parse_module(text)
    except cst.ParserSyntaxError:  # libcst rejects some mixtures of tabs and spaces; comments are lost then
        module = cst.parse_module(unparse(tree))
    if not text.isascii():
        module = cst.ensure_type(module.visit(_NormalNames()), cst.Module)
    if not indented:
        return module
    block = cst.ensure_type(cst.ensure_type(module.body[0], cst.If).body, cst.IndentedBlock)
    # Statements that follow at the margin belong to the answer too.
    return module.with_changes(body=[*block.body, *module.body[1:]])


class _NormalNames(cst.CSTTransformer):
    """Spells identifiers as Python understands them: it reads the full-width `ｆ` as `f` (NFKC)."""  # noqa: RUF002

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        name = unicodedata.normalize("NFKC", updated_node.value)
        return updated_node if iskeyword(name) else updated_node.with_changes(value=name)


def _follow(answer: Answer, qualname: str) -> None:
    """Collect everything that the target needs, until nothing new turns up."""
    module, name = answer.module, qualname.rpartition(".")[2]
    *outer, _ = qualname.split(".")
    own = set(outer) | ({name} if not outer else set())  # these names mean the module's own, with the answer inside
    pieces = [answer.render(at(module, answer.target))]
    others = [index for index in range(len(module.body)) if index != answer.target[0]]
    bound_by = _group_by_name(answer, [(index,) for index in others if not is_main_block(module.body[index])])
    if not outer:
        following = range(answer.target[0] + 1, len(module.body))
        answer.after = [index for index in following if _completes(answer, index, name)]
        pieces += [answer.render(module.body[index]) for index in answer.after]
    in_classes = [path for path, chain in walk_classes(module) if chain == outer[-len(chain) :]]
    members = _group_by_name(answer, [path for path in in_classes if path != answer.target])
    # the answer may give methods and constants of the class beside a bare method, without the class
    at_margin = _group_by_name(answer, [(index,) for index in others if outer and _is_member(module.body[index])])
    needed: set[int] = set()
    while pieces:
        piece = pieces.pop()
        used = find_uses(piece)
        own_attributes = find_attributes(piece, of={"self", "cls", *outer})
        for member in sorted(own_attributes & at_margin.keys() - members.keys()):
            members[member] = at_margin.pop(member)
        for member in sorted((find_attributes(piece) | used) & members.keys()):
            for path in members.pop(member):
                answer.members.append(path)
                pieces.append(answer.render(at(module, path)))
        new = {index for word in used - own for (index,) in bound_by.get(word, [])} - needed
        if not pieces and not new:
            new = _changing(answer, needed) - needed
        needed |= new
        pieces += [answer.render(module.body[index]) for index in sorted(new)]
    answer.before = sorted(needed)
    answer.members.sort()


def _completes(answer: Answer, index: int, name: str) -> bool:
    """`f.cache = {}` and `f = decorate(f)` after the definition are part of it; `f = f(3)` is an example."""
    statement = answer.module.body[index]
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    code = answer.render(statement)
    node = parse(code).body[0]
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and name in find_names(code).bound:
        arguments = [argument.id for argument in node.value.args if isinstance(argument, ast.Name)]
        return name in arguments and name not in find_names(unparse(node.value.func)).used
    return not isinstance(node, ast.Expr) and name in find_changed(code)


def _group_by_name(answer: Answer, paths: Iterable[Path]) -> dict[str, list[Path]]:
    """The statements that bind each name."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in paths:
        for name in find_names(answer.render(at(answer.module, path))).bound:
            found[name].append(path)
    return found


def _is_member(statement: Statement) -> bool:
    return isinstance(statement, cst.FunctionDef | cst.SimpleStatementLine) and not _is_import(statement)


def _changing(answer: Answer, needed: set[int]) -> set[int]:
    """Statements that fill what a needed statement made: a table filled by a loop is nothing without the loop."""
    body = answer.module.body
    made = {name for index in needed if not _is_import(body[index]) for name in answer.names[index].bound}
    return {
        index
        for index, statement in enumerate(body)
        if index != answer.target[0] and not is_main_block(statement) and _changes(answer, statement) & made
    }


def _changes(answer: Answer, statement: Statement) -> frozenset[str]:
    if not isinstance(statement, cst.FunctionDef | cst.ClassDef):
        return find_changed(answer.render(statement))
    code = "\n".join(answer.render(cst.SimpleStatementLine([cst.Expr(one.decorator)])) for one in statement.decorators)
    used = find_names(code).used
    filled = {
        name
        for other in answer.module.body
        if isinstance(other, cst.FunctionDef) and other.name.value in used
        for name in find_changed(answer.render(other))
    }
    # a base class may list its subclasses
    bases = find_names("\n".join(answer.render(one.value) for one in getattr(statement, "bases", ()))).used
    # `@helper.register` adds to the helper, and `@register("x")` to the table that a `register` of the answer fills.
    return frozenset(filled | bases | (used if ".register" in code else set()))


def _is_import(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and all(
        isinstance(small, cst.Import | cst.ImportFrom) for small in statement.body
    )
