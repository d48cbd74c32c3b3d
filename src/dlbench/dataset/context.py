"""What of its surroundings may a prompt show?

The imports of the module and, for a method, the skeleton of its class: headers, class attributes and the names of the
attributes that `__init__` sets. Made from the fetched source at run time, never stored, and never a body: a neighbour's
body can hold the answer.
"""

import ast

from dlbench.dataset.target import Function, find_target, render_signature


def render_context(source: str, qualname: str) -> str:
    tree = ast.parse(source)
    imports = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    parts = ["\n".join(imports)] if imports else []
    target = find_target(source, qualname)
    parts += [_skeleton(node, target.node.name) for node in target.classes]
    return "\n\n\n".join(parts)


def _skeleton(node: ast.ClassDef, target: str) -> str:
    bases = ", ".join([ast.unparse(base) for base in node.bases] + [ast.unparse(word) for word in node.keywords])
    lines = [f"class {node.name}({bases}):" if bases else f"class {node.name}:"]
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
    stores = [
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    ]
    return list(dict.fromkeys(stores))
