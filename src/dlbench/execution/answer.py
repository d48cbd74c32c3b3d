"""Where in an answer's code is the target, and what of the rest does it need?

An answer may be the bare function, a whole file, a class around the method or only a body; it may bring helpers and end
in usage examples. The target is taken by its exact name. Of the rest comes along what the target needs, followed name
by name; examples, tests and restated context are left behind. A function of another name is reported, never guessed.
"""

import ast
import warnings
from dataclasses import dataclass, field
from difflib import get_close_matches

import libcst as cst

from dlbench.dataset.target import Function, is_implementation
from dlbench.execution.names import Names, find_attributes, find_changed, find_names

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
            ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise AnswerError("syntax_error", f"{type(error).__name__}: {error}") from None
    except (RecursionError, MemoryError):
        raise AnswerError("syntax_error", "the code is nested too deeply to be parsed") from None
    module = cst.parse_module(text)
    if not indented:
        return module
    block = cst.ensure_type(cst.ensure_type(module.body[0], cst.If).body, cst.IndentedBlock)
    # statements that follow at the margin belong to the answer too
    return module.with_changes(body=[*block.body, *module.body[1:]])


def read_answer(code: str, qualname: str, header: str) -> Answer:
    module = parse_answer(code)
    path = _find_method(module, qualname) if "." in qualname else None
    path = path or _find_function(module, qualname.rpartition(".")[2])
    if path is None and _is_body(module):
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
    found = [(index,) for index, statement in enumerate(module.body) if _defines(module, statement, name)]
    return found[-1] if found else None


def _defines(module: cst.Module, statement: cst.CSTNode, name: str) -> bool:
    """Does the statement give the name its function: by a definition, or by an assignment of something callable?"""
    if isinstance(statement, cst.FunctionDef) and statement.name.value == name:
        parsed = ast.parse(render(module, statement)).body[0]
        return is_implementation(parsed, name)
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        small = statement.body[0]
        if isinstance(small, cst.Assign) and not isinstance(small.value, cst.BaseNumber | cst.BaseString):
            return any(isinstance(to.target, cst.Name) and to.target.value == name for to in small.targets)
    return False


def _find_method(module: cst.Module, qualname: str) -> Path | None:
    """In a class whose place is that of the target's class, or the end of it: `Outer.Inner` or `Inner` alone."""
    *wanted, name = qualname.split(".")
    found: list[Path] = []

    def search(statements: list[Statement], chain: list[str], path: Path) -> None:
        for index, statement in enumerate(statements):
            here = (*path, index)
            if isinstance(statement, cst.ClassDef):
                search(class_statements(statement), [*chain, statement.name.value], here)
            elif chain and chain == wanted[-len(chain) :] and _defines(module, statement, name):
                found.append(here)

    search(list(module.body), [], ())
    return found[-1] if found else None


def _is_body(module: cst.Module) -> bool:
    """A bare body says `return` or `yield` outside any function."""
    pending: list[ast.AST] = list(ast.parse(module.code).body)
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
    tree = ast.parse(module.code)
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
    members = _other_members(answer) if len(answer.target) > 1 else {}
    needed: set[int] = set()
    while pieces:
        piece = pieces.pop()
        used = find_names(piece).used
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
    if not outer:
        answer.after = [
            index
            for index, statement in enumerate(module.body)
            if index > answer.target[0]
            and index not in needed
            and not _is_left_behind(statement)
            and (name in find_changed(render(module, statement)) and isinstance(statement, cst.SimpleStatementLine))
        ]


def _is_left_behind(statement: cst.CSTNode) -> bool:
    """`if __name__ == "__main__":` is a script's, not the function's."""
    return isinstance(statement, cst.If) and "__name__" in cst.Module([]).code_for_node(statement.test)


def _other_members(answer: Answer) -> dict[str, list[Path]]:
    """What the answer's class holds beside the target, by name."""
    node = cst.ensure_type(at(answer.module, answer.target[:-1]), cst.ClassDef)
    members: dict[str, list[Path]] = {}
    for index, statement in enumerate(class_statements(node)):
        path = (*answer.target[:-1], index)
        if path != answer.target:
            for name in find_names(render(answer.module, statement)).bound:
                members.setdefault(name, []).append(path)
    return members


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
        if index != answer.target[0]
        and not _is_left_behind(statement)
        and not isinstance(statement, cst.FunctionDef | cst.ClassDef)
        and find_changed(render(answer.module, statement)) & made
    }


def _is_import(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and all(
        isinstance(small, cst.Import | cst.ImportFrom) for small in statement.body
    )
