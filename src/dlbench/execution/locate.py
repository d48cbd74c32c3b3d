"""Locate the target among the statements of an answer.

The target is found by its exact name; a function of another name is reported, never guessed.

After the whole function models often show a part of it again: the header over `...`, a stub that raises, the changed
lines between "# ... unchanged ...". Taking the last definition would lose the function; taking a whole definition for a
part would judge an earlier draft. So only dots mark an omission, in a comment or as a statement among others, and
only a longer definition precedes what looks like a part.
"""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache

import libcst as cst

from dlbench.dataset.target import Function, dotted_name, is_implementation, write_code
from dlbench.execution.names import find_names
from dlbench.extraction.syntax import returns
from dlbench.parsing import parse

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
Path = tuple[int, ...]
_IsTarget = Callable[[cst.Module, Statement, str], bool]

_OMISSION = re.compile(
    r"#\s*(?:\.{3}|…)\s*(?:$|.*(?:\.{3}|…)\s*$|\(?(?:rest|same|existing|remaining|previous|unchanged)\b)", re.IGNORECASE
)


@lru_cache(maxsize=512)
def render(module: cst.Module, *statements: cst.CSTNode) -> str:
    """The code of some statements of the answer, as they would stand at the margin."""
    return module.with_changes(body=statements, header=(), footer=()).code


def at(module: cst.Module, path: Path) -> Statement:
    """The statement at a path: an index into the module's statements, then into the class's, and so on."""
    node = module.body[path[0]]
    for index in path[1:]:
        node = _class_statements(cst.ensure_type(node, cst.ClassDef))[index]
    return node


def _class_statements(node: cst.ClassDef) -> list[Statement]:
    """`class C: x = 1` on one line holds no function and nothing that a method could need by statement."""
    body = node.body.body if isinstance(node.body, cst.IndentedBlock) else ()
    return [statement for statement in body if isinstance(statement, Statement)]


def walk_classes(module: cst.Module) -> list[tuple[Path, list[str]]]:
    """Every statement inside a class of the answer: its path, and the names of the classes around it."""
    found: list[tuple[Path, list[str]]] = []

    def walk(node: cst.ClassDef, path: Path, chain: list[str]) -> None:
        for index, statement in enumerate(_class_statements(node)):
            found.append(((*path, index), chain))
            if isinstance(statement, cst.ClassDef):
                walk(statement, (*path, index), [*chain, statement.name.value])

    for index, statement in enumerate(module.body):
        if isinstance(statement, cst.ClassDef):
            walk(statement, (index,), [statement.name.value])
    return found


def locate(module: cst.Module, qualname: str) -> Path | None:
    path = _find_method(module, qualname) if "." in qualname else None
    return path or _find_function(module, qualname.rpartition(".")[2])


def _find_function(module: cst.Module, name: str) -> Path | None:
    """The last definition with a body, else one inside a branch, else an assignment of something callable."""
    margin = [(index,) for index in range(len(module.body))]
    tests = (_is_definition, _is_header, _is_branch, _is_assignment)
    return _find_first(module, name, [(margin, is_target) for is_target in tests])


def _find_method(module: cst.Module, qualname: str) -> Path | None:
    """In a class whose place is that of the target's class, or the end of it: `Outer.Inner` or `Inner` alone. Models
    show the class with empty methods, and the method itself beside it: a definition with a body goes first."""
    *classes, name = qualname.split(".")
    places = [path for path, chain in walk_classes(module) if chain == classes[-len(chain) :]]
    margin: list[Path] = [(index,) for index in range(len(module.body))]
    methods = [path for path in margin if _is_method(module, at(module, path))]
    choices = [(sorted([*places, *methods]), _is_definition), (places, _is_assignment)]
    return _find_first(module, name, [*choices, (margin, _is_definition), (places, _is_header)])


def _find_first(module: cst.Module, name: str, choices: Iterable[tuple[Sequence[Path], _IsTarget]]) -> Path | None:
    """The target at the paths of the first choice that has one."""
    for paths, is_target in choices:
        found = [path for path in paths if is_target(module, at(module, path), name)]
        if found:
            return _pick(module, found) if is_target is _is_definition else found[-1]
    return None


def _pick(module: cst.Module, found: Sequence[Path]) -> Path:
    """The last, unless it is only a part and a longer one is whole."""
    texts = {path: render(module, at(module, path)) for path in found}
    functions = {path: parse(text).body[0] for path, text in texts.items()}
    last = found[-1]
    if _is_part(functions[last], texts[last]):
        size = len(write_code(functions[last]))
        for path in reversed(found[:-1]):
            if len(write_code(functions[path])) > size and not _is_part(functions[path], texts[path]):
                return path
    return last


def _is_part(node: ast.stmt, text: str) -> bool:
    """A function that only raises NotImplementedError, or that leaves lines out and marks it. `text`: its code."""
    if not isinstance(node, Function):
        return False
    match [part for part in node.body if not _is_constant(part)]:
        case [ast.Raise(exc=ast.expr() as error)] if dotted_name(error) == "NotImplementedError":
            return True
    return _has_omission_comment(node, text) or _has_gap(node)


def _has_omission_comment(function: Function, text: str) -> bool:
    """Only comments of the body count: those above the header are about something else."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return False
    comments = [one for one in tokens if one.type == tokenize.COMMENT and one.start[0] > function.lineno]
    return any(_OMISSION.match(one.string) for one in comments)


def _has_gap(function: Function) -> bool:
    """Dots among the statements of a block of the function, but not of a function or class in it."""
    pending: list[ast.AST] = [function]
    while pending:
        for _, value in ast.iter_fields(pending.pop()):
            children = [child for child in value if isinstance(child, ast.AST)] if isinstance(value, list) else []
            block = [child for child in children if isinstance(child, ast.stmt)]
            values = [part.value for part in block if isinstance(part, ast.Expr)]
            if len(block) > 1 and any(isinstance(one, ast.Constant) and one.value is ... for one in values):
                return True
            pending += [child for child in children if not isinstance(child, Function | ast.ClassDef)]
    return False


def _is_constant(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


def _parse_function(module: cst.Module, statement: Statement) -> Function | None:
    node = parse(render(module, statement)).body[0] if isinstance(statement, cst.FunctionDef) else None
    return node if isinstance(node, Function) else None


def _is_header(module: cst.Module, statement: Statement, name: str) -> bool:
    """A definition of the name, with a body or without."""
    function = _parse_function(module, statement)
    return function is not None and is_implementation(function, name)


def _is_definition(module: cst.Module, statement: Statement, name: str) -> bool:
    """A definition of the name with more than a docstring, `pass` and `...`."""
    function = _parse_function(module, statement)
    if function is None or not is_implementation(function, name):
        return False
    return not all(isinstance(part, ast.Pass) or _is_constant(part) for part in function.body)


def _is_branch(module: cst.Module, statement: Statement, name: str) -> bool:
    """`try: import fast; def f … except ImportError: def f …` defines the name in either branch."""
    if not isinstance(statement, cst.If | cst.Try) or is_main_block(statement):
        return False
    code = render(module, statement)
    inner = [node for node in ast.walk(parse(code)) if isinstance(node, Function) and node.name == name]
    return bool(inner) and name in find_names(code).bound


def is_main_block(statement: cst.CSTNode) -> bool:
    """`if __name__ == "__main__":` belongs to a script, not to the function."""
    return isinstance(statement, cst.If) and "__name__" in cst.Module([]).code_for_node(statement.test)


def _is_assignment(module: cst.Module, statement: Statement, name: str) -> bool:
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    node = parse(render(module, statement)).body[0]
    return (
        isinstance(node, ast.Assign)
        and not isinstance(node.value, ast.Constant)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    )


def _is_method(module: cst.Module, statement: Statement) -> bool:
    """A function outside any class that is written as a method."""
    function = _parse_function(module, statement)
    if function is None:
        return False
    first = [parameter.arg for parameter in [*function.args.posonlyargs, *function.args.args][:1]]
    kinds = {dotted_name(decorator) for decorator in function.decorator_list}
    return first in (["self"], ["cls"]) or bool(kinds & {"staticmethod", "classmethod", "property"})


def is_body(module: cst.Module, header: str) -> bool:
    """A bare body has `return` or `yield` outside any function, or defines nothing and works on the parameters."""
    tree = parse(module.code)
    if returns(tree):
        return True
    if any(isinstance(node, Function | ast.ClassDef) for node in tree.body):
        return False
    arguments = [node.arg for node in ast.walk(parse(f"{header} pass")) if isinstance(node, ast.arg)]
    names = find_names(module.code)
    return bool(names.used & set(arguments) - names.bound)


def wrap_body(module: cst.Module, header: str) -> cst.Module:
    function = cst.ensure_type(cst.parse_module(f"{header}\n    pass\n").body[0], cst.FunctionDef)
    function = function.with_changes(body=cst.IndentedBlock(body=module.body))
    return module.with_changes(body=[function], header=())


def explain_missing(module: cst.Module, qualname: str) -> str:
    tree = parse(module.code)
    names = [node.name for node in ast.walk(tree) if isinstance(node, Function | ast.ClassDef)]
    near = get_close_matches(qualname.rpartition(".")[2], names, n=3, cutoff=0.6)
    listed = f"; it defines {', '.join(near or names[:5])}" if names else ""
    return f"the answer does not define {qualname!r}{listed}"
