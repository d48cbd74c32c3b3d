"""Find the function that a qualified name means in a source text, and render the code around it for a prompt.

Taking "the first symbol of that name" would judge the wrong function, so a name that is missing, or defined in two
branches, is an error and never a guess. The text of a method is indented, and dedenting it line by line would change
multi-line strings in it. So indented text is parsed as the body of a block. The context of a prompt is made from the
fetched source at run time and never contains a body: a neighbour's body can hold the answer.
"""

import ast
import copy
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from dlbench.errors import DLBenchError
from dlbench.parsing import parse, unparse

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.Module | ast.ClassDef


class TargetError(LookupError):
    """The qualified name does not name exactly one function of the source."""


@dataclass(frozen=True)
class Target:
    """A function in its source: whole lines, decorators included. Lines count from 1, both ends included."""

    node: Function
    first: int
    last: int
    indent: str
    text: str
    outermost: int
    """The first line of the top-level statement that contains the target."""
    classes: tuple[ast.ClassDef, ...] = ()
    """The classes around it, outermost first."""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def docstring(self) -> str | None:
        return ast.get_docstring(self.node)


def find_target(source: str, qualname: str, tree: ast.Module | None = None) -> Target:
    """`tree`: the parsed source, for callers that look up many functions of one file."""
    tree = parse(source) if tree is None else tree
    *classes, name = qualname.split(".")
    scope: Scope = tree
    around: list[ast.ClassDef] = []
    for class_name in classes:
        found = _find(scope, class_name, qualname, want_class=True)
        assert isinstance(found, ast.ClassDef)
        scope = found
        around.append(found)
    function = _find(scope, name, qualname, want_class=False)
    assert isinstance(function, Function)
    outermost = next(top for top in tree.body if first_line(top) <= function.lineno <= (top.end_lineno or 0))
    # str.splitlines also breaks at form feeds and the like, where the parser does not.
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first, last = first_line(function), function.end_lineno or function.lineno
    indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
    text = "\n".join(lines[first - 1 : last])
    return Target(function, first, last, indent, text, first_line(outermost), tuple(around))


def walk_scope(scope: Scope) -> Iterator[tuple[ast.stmt, int]]:
    """The statements of a scope, each with the id of its block; branches are entered, inner scopes are not."""
    blocks: list[list[ast.stmt]] = [scope.body]
    while blocks:
        block = blocks.pop(0)
        for statement in block:
            yield statement, id(block)
            if isinstance(statement, ast.If | ast.For | ast.While | ast.With | ast.Try):
                blocks += [statement.body, getattr(statement, "orelse", []), getattr(statement, "finalbody", [])]
                blocks += [handler.body for handler in getattr(statement, "handlers", [])]


def _is_class(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.ClassDef) and node.name == name


def is_implementation(node: ast.stmt, name: str) -> bool:
    """Whether the statement defines the function itself, not something that shares its name."""
    if not isinstance(node, Function) or node.name != name:
        return False
    decorators = {dotted_name(decorator).split(".")[-1] for decorator in node.decorator_list}
    return not decorators & {"overload", "setter", "deleter", "getter", "register"}


def last_name(node: ast.expr) -> str:
    """`c` of `a.b.c` and of `c`; empty for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def root_name(node: ast.AST) -> str:
    """`a` of `a.b.c` and of `a`; empty for anything else."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def dotted_name(expression: ast.expr) -> str:
    """`a.b.c` of `a.b.c`, `a.b.c(…)` and `a.b.c[…]`; empty where there is no such name."""
    match expression:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{dotted_name(value)}.{attribute}"
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return dotted_name(inner)
    return ""


def _find(scope: Scope, name: str, qualname: str, *, want_class: bool) -> ast.stmt:
    matches = _is_class if want_class else is_implementation
    found = [(node, block) for node, block in walk_scope(scope) if matches(node, name)]
    if not found:
        kind = "class" if want_class else "function"
        raise TargetError(f"there is no {kind} {name!r} where {qualname!r} should be")
    if len({block for _, block in found}) > 1:
        raise TargetError(f"{name!r} of {qualname!r} is defined in more than one branch")
    return found[-1][0]  # in one block Python keeps the last definition


def first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def render_signature(function: Function, *, decorators: bool = True) -> str:
    """The normalised header: what a prompt shows and a stub begins with."""
    header = copy.copy(function)
    header.body = [ast.Pass()]
    if not decorators:
        header.decorator_list = []
    return ast.unparse(header).removesuffix("pass").rstrip()


def write_headers(target: Target) -> list[str] | None:
    """The bare classes around the target, one line each; None where something else is around it too."""
    depth, width = len(target.classes), len(target.indent)
    offsets = [place * width // depth for place in range(depth)]
    if (not depth and width) or offsets != [cls.col_offset for cls in target.classes]:
        return None
    return [f"{target.indent[:offset]}class {cls.name}:" for offset, cls in zip(offsets, target.classes, strict=True)]


def without_docstring(target: Target) -> str:
    """The target's lines without its docstring, which our prompt replaces; all lines if it is the whole body."""
    first = target.node.body[0]
    lines = target.text.split("\n")
    start, end = first.lineno - target.first, (first.end_lineno or first.lineno) - target.first
    alone = len(target.node.body) > 1 and target.node.body[1].lineno > (first.end_lineno or first.lineno)
    if target.docstring is None or not alone or lines[start][: first.col_offset].strip():
        return target.text
    return "\n".join(lines[:start] + lines[end + 1 :])


def parse_function(segment: str) -> Function:
    """The one function in the text, with decorators; raises DLBenchError if the text holds anything else.

    Lines count from 1, in indented text from 2.
    """
    match parse_statements(segment):
        case [ast.FunctionDef() | ast.AsyncFunctionDef() as function]:
            return function
    raise _not_a_function("the text is not one function", segment)


def parse_statements(segment: str) -> list[ast.stmt]:
    """The statements of the text; lines count as in `parse_function`."""
    try:
        if not is_indented(segment):
            return parse(segment).body
        block, *after = parse(f"if True:\n{segment}").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _not_a_function(f"the text does not parse: {error}", segment) from None
    assert isinstance(block, ast.If)
    return [*block.body, *block.orelse, *after]


def is_indented(segment: str) -> bool:
    """Whether the first line of code is indented."""
    first = next((line for line in segment.split("\n") if line.strip() and not line.lstrip().startswith("#")), "")
    return first[:1].isspace()


def find_body(function: Function) -> list[ast.stmt]:
    """The function's statements without the docstring."""
    return function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body


def is_prose(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Whether the node is a statement that is only a string, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def walk_code(node: ast.AST) -> list[ast.AST]:
    """A node and everything below it, parents first: `ast.walk` without contexts and operators.

    Those are half of all nodes, and walking dominates the time for twenty thousand functions.
    """
    found = [node]
    for each in found:
        for field in each._fields:
            value = getattr(each, field, None)
            if isinstance(value, list):
                found.extend([item for item in value if isinstance(item, ast.AST)])
            elif isinstance(value, ast.AST) and value._fields:
                found.append(value)
    return found


def write_code(tree: ast.AST) -> str:
    """The code without comments and layout, for measuring and comparing."""
    try:
        return unparse(tree)
    except ValueError:  # before Python 3.12, an f-string's braces cannot contain a backslash
        return unparse(_Escaping().visit(copy.deepcopy(tree)))


class _Escaping(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, str):
            node.value = ascii(node.value).replace("\\", "/")
        return node


def _not_a_function(what: str, segment: str) -> DLBenchError:
    first = segment.lstrip().split("\n")[0].strip()[:80]
    return DLBenchError(what, where=first, fix="pass the whole lines of one function or method")


def join_context(*parts: str) -> str:
    return "\n\n\n".join(part for part in parts if part)


def render_imports(module: ast.Module) -> str:
    return "\n".join(ast.unparse(node) for node in module.body if isinstance(node, ast.Import | ast.ImportFrom))


def render_skeleton(target: Target) -> str:
    """The classes around a method, outermost first; nothing for a function."""
    return join_context(*(_skeleton(node, target.node.name) for node in target.classes))


def render_neighbours(module: ast.Module, qualname: str) -> tuple[str, ...]:
    """The module's other functions and classes, one text each: headers only, in the module's order."""
    own = qualname.split(".", 1)[0]
    return tuple(
        _header(node) for node in module.body if isinstance(node, Function | ast.ClassDef) and node.name != own
    )


def _header(node: Function | ast.ClassDef) -> str:
    if isinstance(node, Function):
        return f"{render_signature(node)} ..."
    methods = [inner for inner in node.body if isinstance(inner, Function)]
    if not methods:
        return f"{_class_line(node)} ..."
    lines = [line for method in methods for line in f"{render_signature(method)} ...".splitlines()]
    return "\n".join([_class_line(node), *(f"    {line}" for line in lines)])


def _class_line(node: ast.ClassDef) -> str:
    bases = ", ".join([ast.unparse(base) for base in node.bases] + [ast.unparse(word) for word in node.keywords])
    return f"class {node.name}({bases}):" if bases else f"class {node.name}:"


def _skeleton(node: ast.ClassDef, target: str) -> str:
    lines = [_class_line(node)]
    for statement in node.body:
        if isinstance(statement, Function):
            lines += [f"    {line}" for line in render_signature(statement).splitlines()]
            lines[-1] += "  # the one to write" if statement.name == target else " ..."
            if statement.name == "__init__" and target != "__init__":
                lines += [f"        # sets self.{name}" for name in _attributes(statement)]
        elif isinstance(statement, ast.AnnAssign | ast.Assign):
            lines.append(f"    {ast.unparse(statement)}")
    return "\n".join(lines)


def _attributes(function: Function) -> list[str]:
    names: dict[str, None] = {}
    for node in ast.walk(function):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store(), value=ast.Name(id="self")):
                names[name] = None
    return list(names)


def fenced(code: str, language: str = "python") -> str:
    """The code in a fence that is longer than any inside it: a fence in a docstring must not end the block."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{code.rstrip()}\n{mark}"
