"""Render the code around a target that a prompt may show: imports, the skeleton of its class, its neighbours' headers.

It is made from the fetched source at run time and never contains a body: a neighbour's body can hold the answer.
"""

import ast
import re

from dlbench.dataset.target import Function, Target, render_signature


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
