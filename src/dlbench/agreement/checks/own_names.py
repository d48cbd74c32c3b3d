"""What do tests call, that were asked for under another name?

A variant shows `f1(a)` where the project has `scale(values)`. Its tests call `f1`, by keyword too; here the name and
the keywords become the project's. A variable of a test that already has the project's name makes room.
"""

import ast
from collections.abc import Sequence

from dlbench.agreement.variant import Variant


def use_own_names(statements: Sequence[ast.stmt], variant: Variant) -> list[ast.stmt]:
    own = variant.instance.rpartition(".")[2]
    shown = {name: project for project, name in variant.parameters.items() if name != project}
    if variant.function == own and not shown:
        return list(statements)
    return [ast.fix_missing_locations(_Renamer(own, variant.function, shown).visit(one)) for one in statements]


class _Renamer(ast.NodeTransformer):
    def __init__(self, own: str, shown: str, parameters: dict[str, str]) -> None:
        self.own, self.shown, self.parameters = own, shown, parameters

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in {self.own, self.shown}:
            for keyword in node.keywords:
                keyword.arg = self.parameters.get(keyword.arg or "", keyword.arg)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == self.shown:
            node.id = self.own
        elif node.id == self.own and self.shown != self.own:
            node.id = f"{self.own}_"
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr == self.shown:
            node.attr = self.own
        return self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> ast.AST:
        if node.name == self.shown:
            node.name = self.own
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name == self.shown:
            node.name = self.own
        return self.generic_visit(node)
