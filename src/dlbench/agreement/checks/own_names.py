"""What do tests call, that were asked for under another name?

A variant shows `f1(a)` where the project has `scale(values)`. Its tests call `f1`, by keyword too; here the name and
the keywords become the project's. So do the keywords of calls that only lead to it: `raises(ValueError, f1, a=0)`,
`Net(a=3)` for `__init__`, `net(a=3)` for `forward`. A variable of a test that already has the project's name makes
room.
"""

import ast
import builtins
from collections.abc import Sequence

from dlbench.agreement.variant import Variant

CALLED_BY_CLASS = ("forward", "call", "__call__")
"""Called when the object is, by Python or under frameworks' hooks."""


def use_own_names(statements: Sequence[ast.stmt], variant: Variant) -> list[ast.stmt]:
    *_, owner, own = variant.instance.rpartition("/")[2].split(".")
    shown = {name: project for project, name in variant.parameters.items() if name != project}
    if variant.function == own and not shown:
        return list(statements)
    renamer = _Renamer(own, owner, variant.function, shown)
    return [ast.fix_missing_locations(renamer.visit(one)) for one in statements]


class _Renamer(ast.NodeTransformer):
    def __init__(self, own: str, owner: str, shown: str, parameters: dict[str, str]) -> None:
        self.own, self.owner, self.shown, self.parameters = own, owner, shown, parameters

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if self._leads_there(node):
            for keyword in node.keywords:
                keyword.arg = self.parameters.get(keyword.arg or "", keyword.arg)
        return self.generic_visit(node)

    def _leads_there(self, node: ast.Call) -> bool:
        target = {self.own, self.shown}
        called = _last_name(node.func)
        if called in target or any(_last_name(argument) in target for argument in node.args):
            return True
        if self.own in ("__init__", "__new__"):
            return called == self.owner
        # an object is called by whatever name the test has given it
        return self.own in CALLED_BY_CLASS and called != self.owner and not hasattr(builtins, called)

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

    def visit_arg(self, node: ast.arg) -> ast.AST:
        if node.arg == self.shown:
            node.arg = self.own
        elif node.arg == self.own and self.shown != self.own:
            node.arg = f"{self.own}_"
        return node

    def visit_alias(self, node: ast.alias) -> ast.AST:
        if node.name == self.shown:
            node.name = self.own
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name == self.shown:
            node.name = self.own
        return self.generic_visit(node)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
