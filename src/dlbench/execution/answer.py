"""Where in an answer's code is the target, and what of the rest does it need?

An answer may be the bare function, a whole file, a class around the method or only a body; it may bring helpers and end
in usage examples. The target is taken by its exact name. Of the rest comes along what the target needs, followed name
by name; examples, tests and restated context are left behind. A function of another name is reported, never guessed.

Is a definition in an answer the function itself, or does it only point at one?

After the whole function models often show a part of it again: the header over `...`, a stub that raises, the changed
lines between "# ... unchanged ...". Whoever takes the last definition of an answer for the answer loses the function.
Whoever takes a whole one for a part judges an earlier draft: so only dots say that something is left out, in a comment
or as a statement among others, and only a longer definition goes before what looks like a part.
"""

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache

import libcst as cst

from dlbench.dataset.target import Function, dotted_name, is_implementation
from dlbench.execution.names import Names, find_attributes, find_changed, find_names
from dlbench.parsing import parse

_DOTS = re.compile(
    r"#\s*(?:\.{3}|…)\s*(?:$|.*(?:\.{3}|…)\s*$|\(?(?:rest|same|existing|remaining|previous|unchanged)\b)", re.IGNORECASE
)


def is_empty(function: Function) -> bool:
    """Nothing but a docstring, `pass` and `...`."""
    return all(isinstance(part, ast.Pass) or _is_constant(part) for part in function.body)


def is_excerpt(function: Function, text: str) -> bool:
    """Only raises NotImplementedError, or leaves lines out and says so. `text`: that which was parsed."""
    said = [part for part in function.body if not _is_constant(part)]
    if len(said) == 1 and isinstance(said[0], ast.Raise) and _names_not_implemented(said[0]):
        return True
    return _says_so(function, text) or any(_has_gap(block) for block in _blocks(function))


def _says_so(function: Function, text: str) -> bool:
    """In a comment of the body: what stands above the header is about something else, and a string is no comment."""
    try:
        found = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return False
    comments = [one for one in found if one.type == tokenize.COMMENT and one.start[0] > function.lineno]
    return any(_DOTS.match(one.string) for one in comments)


def _blocks(function: Function) -> list[list[ast.stmt]]:
    """The function's own block and those inside it, but not those of functions and classes in it."""
    found: list[list[ast.stmt]] = []
    pending: list[ast.AST] = [function]
    while pending:
        node = pending.pop()
        for _, value in ast.iter_fields(node):
            children = [child for child in value if isinstance(child, ast.AST)] if isinstance(value, list) else []
            statements = [child for child in children if isinstance(child, ast.stmt)]
            found.append(statements)
            pending += [child for child in children if not isinstance(child, Function | ast.ClassDef)]
    return found


def _has_gap(block: list[ast.stmt]) -> bool:
    return len(block) > 1 and any(
        isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and part.value.value is ...
        for part in block
    )


def _is_constant(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


def _names_not_implemented(part: ast.Raise) -> bool:
    raised = part.exc.func if isinstance(part.exc, ast.Call) else part.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
Path = tuple[int, ...]


class AnswerError(Exception):
    """The code cannot take the target's place; `status` is the verdict that this means."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass
class Answer:
    """The answer's statements, the path to the target among them, and those that must come along, in order."""

    module: cst.Module
    target: Path
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    members: list[Path] = field(default_factory=list)
    lazy_annotations: bool = False
    stars: list[str] = field(default_factory=list)
    names: dict[int, Names] = field(default_factory=dict)


def parse_answer(code: str) -> cst.Module:
    """The code as a tree; an indented whole (a method cut out of its class) is taken as if it stood at the margin."""
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
    module = _as_written(text, tree)
    if not indented:
        return module
    block = cst.ensure_type(cst.ensure_type(module.body[0], cst.If).body, cst.IndentedBlock)
    # statements that follow at the margin belong to the answer too
    return module.with_changes(body=[*block.body, *module.body[1:]])


def _as_written(text: str, tree: ast.Module) -> cst.Module:
    """With comments and spacing, where libcst takes the text: some tabs among spaces are Python's alone."""
    try:
        return cst.parse_module(text)
    except cst.ParserSyntaxError:
        return cst.parse_module(ast.unparse(tree))


def read_answer(code: str, qualname: str, header: str) -> Answer:
    module = parse_answer(code)
    path = _find_method(module, qualname) if "." in qualname else None
    path = path or _find_function(module, qualname.rpartition(".")[2])
    if path is None and _is_body(module, header):
        module, path = _wrap_body(module, header), (0,)
    if path is None:
        raise AnswerError("missing_target", _explain_missing(module, qualname))
    answer = Answer(module, path)
    for index, statement in enumerate(module.body):
        answer.names[index] = find_names(render(module, statement))
        answer.stars += _stars(statement)
        answer.lazy_annotations |= _has_lazy_annotations(statement)
    _follow(answer, qualname)
    return answer


@lru_cache(maxsize=512)
def render(module: cst.Module, *statements: cst.CSTNode) -> str:
    """The code of some statements of the answer, as they would stand at the margin."""
    return module.with_changes(body=statements, header=(), footer=()).code


def at(module: cst.Module, path: Path) -> Statement:
    """The statement at a path: an index into the module's statements, then into the class's, and so on."""
    node = module.body[path[0]]
    for index in path[1:]:
        node = class_statements(cst.ensure_type(node, cst.ClassDef))[index]
    return node


def class_statements(node: cst.ClassDef) -> list[Statement]:
    """`class C: x = 1` on one line holds no function and nothing that a method could need by statement."""
    body = node.body.body if isinstance(node.body, cst.IndentedBlock) else ()
    return [statement for statement in body if isinstance(statement, Statement)]


def _find_function(module: cst.Module, name: str) -> Path | None:
    """The last definition with a body, else one inside a branch, else an assignment of something callable."""
    for is_target in (_is_definition, _is_header, _is_branch, _is_assignment):
        found = [(index,) for index, statement in enumerate(module.body) if is_target(module, statement, name)]
        if found:
            return _pick(module, found) if is_target is _is_definition else found[-1]
    return None


def _pick(module: cst.Module, found: Sequence[Path]) -> Path:
    """The last, unless that is only a part, and there is a longer one which is not."""
    texts = {path: render(module, at(module, path)) for path in found}
    functions = {path: parse(text).body[0] for path, text in texts.items()}
    last = found[-1]
    if _is_part(functions[last], texts[last]):
        size = len(ast.unparse(functions[last]))
        for path in reversed(found[:-1]):
            if len(ast.unparse(functions[path])) > size and not _is_part(functions[path], texts[path]):
                return path
    return last


def _is_part(node: ast.stmt, text: str) -> bool:
    return isinstance(node, Function) and is_excerpt(node, text)


def _is_header(module: cst.Module, statement: cst.CSTNode, name: str) -> bool:
    """A definition of the name, with a body or without."""
    if not isinstance(statement, cst.FunctionDef) or statement.name.value != name:
        return False
    return is_implementation(parse(render(module, statement)).body[0], name)


def _is_definition(module: cst.Module, statement: cst.CSTNode, name: str) -> bool:
    if not _is_header(module, statement, name):
        return False
    function = parse(render(module, statement)).body[0]
    assert isinstance(function, Function)
    return not is_empty(function)


def _is_branch(module: cst.Module, statement: cst.CSTNode, name: str) -> bool:
    """`try: import fast; def f … except ImportError: def f …` gives the name its function whichever way it goes."""
    if not isinstance(statement, cst.If | cst.Try) or _is_left_behind(statement):
        return False
    tree = parse(render(module, statement))
    inner = [node for node in ast.walk(tree) if isinstance(node, Function) and node.name == name]
    return bool(inner) and name in find_names(ast.unparse(tree)).bound


def _is_assignment(module: cst.Module, statement: cst.CSTNode, name: str) -> bool:
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    node = parse(render(module, statement)).body[0]
    return (
        isinstance(node, ast.Assign)
        and not isinstance(node.value, ast.Constant)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    )


def _find_method(module: cst.Module, qualname: str) -> Path | None:
    """In a class whose place is that of the target's class, or the end of it: `Outer.Inner` or `Inner` alone.

    Models show the class with its methods empty, and the method itself beside it: what has a body goes first.
    """
    *wanted, name = qualname.split(".")
    places = [path for path, chain in _walk_classes(module) if chain == wanted[-len(chain) :]]
    margin: list[Path] = [(index,) for index in range(len(module.body))]
    methods = [path for path in margin if _is_method(module, at(module, path))]
    for paths, is_target in (
        (sorted([*places, *methods]), _is_definition),
        (places, _is_assignment),
        (margin, _is_definition),
        (places, _is_header),
    ):
        found = [path for path in paths if is_target(module, at(module, path), name)]
        if found:
            return _pick(module, found) if is_target is _is_definition else found[-1]
    return None


def _is_method(module: cst.Module, statement: cst.CSTNode) -> bool:
    """A function outside of any class that is written as a method."""
    if not isinstance(statement, cst.FunctionDef):
        return False
    function = parse(render(module, statement)).body[0]
    assert isinstance(function, Function)
    first = [parameter.arg for parameter in [*function.args.posonlyargs, *function.args.args][:1]]
    kinds = {dotted_name(decorator) for decorator in function.decorator_list}
    return first in (["self"], ["cls"]) or bool(kinds & {"staticmethod", "classmethod", "property"})


def _walk_classes(module: cst.Module) -> list[tuple[Path, list[str]]]:
    """Every statement inside a class of the answer: its path, and the names of the classes around it."""
    found: list[tuple[Path, list[str]]] = []

    def walk(node: cst.ClassDef, path: Path, chain: list[str]) -> None:
        for index, statement in enumerate(class_statements(node)):
            found.append(((*path, index), chain))
            if isinstance(statement, cst.ClassDef):
                walk(statement, (*path, index), [*chain, statement.name.value])

    for index, statement in enumerate(module.body):
        if isinstance(statement, cst.ClassDef):
            walk(statement, (index,), [statement.name.value])
    return found


def _is_body(module: cst.Module, header: str) -> bool:
    """A bare body says `return` or `yield` outside any function, or defines nothing and works on the parameters."""
    tree = parse(module.code)
    function = parse(f"{header} pass").body[0]
    assert isinstance(function, Function)
    parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    if not any(isinstance(node, Function | ast.ClassDef) for node in tree.body):
        names = find_names(module.code) if not _returns(tree) else Names(frozenset(), frozenset())
        if names.used & parameters - names.bound:
            return True
    return _returns(tree)


def _returns(tree: ast.Module) -> bool:
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))
    return False


def _wrap_body(module: cst.Module, header: str) -> cst.Module:
    function = cst.ensure_type(cst.parse_module(f"{header}\n    pass\n").body[0], cst.FunctionDef)
    function = function.with_changes(body=cst.IndentedBlock(body=module.body))
    return module.with_changes(body=[function], header=())


def _explain_missing(module: cst.Module, qualname: str) -> str:
    tree = parse(module.code)
    names = [node.name for node in ast.walk(tree) if isinstance(node, Function | ast.ClassDef)]
    near = get_close_matches(qualname.rpartition(".")[2], names, n=3, cutoff=0.6)
    seen = f"; it defines {', '.join(near or names[:5])}" if names else ""
    return f"the answer does not define {qualname!r}{seen}"


def _stars(statement: cst.CSTNode) -> list[str]:
    if not isinstance(statement, cst.SimpleStatementLine):
        return []
    return [
        cst.Module([]).code_for_node(small.with_changes(names=[cst.ImportAlias(cst.Name("NAME"))]))
        for small in statement.body
        if isinstance(small, cst.ImportFrom) and isinstance(small.names, cst.ImportStar)
    ]


def _has_lazy_annotations(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and any(
        isinstance(small, cst.ImportFrom)
        and isinstance(small.module, cst.Name)
        and small.module.value == "__future__"
        and not isinstance(small.names, cst.ImportStar)
        and any(alias.evaluated_name == "annotations" for alias in small.names)
        for small in statement.body
    )


def _follow(answer: Answer, qualname: str) -> None:
    """From the target to everything it needs, until nothing new turns up."""
    module, name = answer.module, qualname.rpartition(".")[2]
    *outer, _ = qualname.split(".")
    own = set(outer) | ({name} if not outer else set())  # these names mean the module's own, with the answer inside
    pieces = [render(module, at(module, answer.target))]
    bound_by: dict[str, list[int]] = {}
    for index, names in answer.names.items():
        if index != answer.target[0] and not _is_left_behind(module.body[index]):
            for bound in names.bound:
                bound_by.setdefault(bound, []).append(index)
    if not outer:
        answer.after = [
            index for index in range(answer.target[0] + 1, len(module.body)) if _finishes(answer, index, name)
        ]
        pieces += [render(module, module.body[index]) for index in answer.after]
    members = _other_members(answer, outer)
    at_margin = _members_at_margin(answer) if outer else {}
    needed: set[int] = set()
    while pieces:
        piece = pieces.pop()
        used = find_names(piece).used
        own_attributes = find_attributes(piece, of={"self", "cls", *outer})
        for member in sorted(own_attributes & at_margin.keys() - members.keys()):
            members[member] = at_margin.pop(member)
        for member in sorted((find_attributes(piece) | used) & members.keys()):
            for path in members.pop(member):
                answer.members.append(path)
                pieces.append(render(module, at(module, path)))
        for index in sorted({index for word in used - own for index in bound_by.get(word, [])} - needed):
            needed.add(index)
            pieces.append(render(module, module.body[index]))
        if not pieces:
            for index in _changing(answer, needed) - needed:
                needed.add(index)
                pieces.append(render(module, module.body[index]))
    answer.before = sorted(needed)
    answer.members.sort()


def _finishes(answer: Answer, index: int, name: str) -> bool:
    """`f.cache = {}` and `f = decorate(f)` after the definition are part of it; `f = f(3)` is an example."""
    statement = answer.module.body[index]
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    code = render(answer.module, statement)
    node = parse(code).body[0]
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and name in find_names(code).bound:
        arguments = [argument.id for argument in node.value.args if isinstance(argument, ast.Name)]
        return name in arguments and name not in find_names(ast.unparse(node.value.func)).used
    return not isinstance(node, ast.Expr) and name in find_changed(code)


def _is_left_behind(statement: cst.CSTNode) -> bool:
    """`if __name__ == "__main__":` is a script's, not the function's."""
    return isinstance(statement, cst.If) and "__name__" in cst.Module([]).code_for_node(statement.test)


def _other_members(answer: Answer, outer: list[str]) -> dict[str, list[Path]]:
    """What the answer's classes of the target's place hold beside the target, by name."""
    members: dict[str, list[Path]] = {}
    for path, chain in _walk_classes(answer.module):
        if outer and chain == outer[-len(chain) :] and path != answer.target:
            for name in find_names(render(answer.module, at(answer.module, path))).bound:
                members.setdefault(name, []).append(path)
    return members


def _members_at_margin(answer: Answer) -> dict[str, list[Path]]:
    """Methods and constants of the class that the answer gives without the class, beside a bare method."""
    found: dict[str, list[Path]] = {}
    for index, statement in enumerate(answer.module.body):
        is_member = isinstance(statement, cst.FunctionDef | cst.SimpleStatementLine) and not _is_import(statement)
        if is_member and (index,) != answer.target:
            for name in answer.names[index].bound:
                found.setdefault(name, []).append((index,))
    return found


def _changing(answer: Answer, needed: set[int]) -> set[int]:
    """Statements that fill what a needed statement made: a table filled by a loop is nothing without the loop."""
    made = {
        name
        for index in needed
        if not isinstance(answer.module.body[index], cst.SimpleStatementLine)
        or not _is_import(answer.module.body[index])
        for name in answer.names[index].bound
    }
    return {
        index
        for index, statement in enumerate(answer.module.body)
        if index != answer.target[0] and not _is_left_behind(statement) and _changes(answer, statement) & made
    }


def _changes(answer: Answer, statement: Statement) -> frozenset[str]:
    if not isinstance(statement, cst.FunctionDef | cst.ClassDef):
        return find_changed(render(answer.module, statement))
    code = "\n".join(
        render(answer.module, cst.SimpleStatementLine([cst.Expr(one.decorator)])) for one in statement.decorators
    )
    used = find_names(code).used
    filled = {
        name
        for other in answer.module.body
        if isinstance(other, cst.FunctionDef) and other.name.value in used
        for name in find_changed(render(answer.module, other))
    }
    # `@helper.register` adds to the helper, and `@register("x")` to the table that a `register` of the answer fills.
    return frozenset(filled | (used if ".register" in code else set()))


def _is_import(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and all(
        isinstance(small, cst.Import | cst.ImportFrom) for small in statement.body
    )
