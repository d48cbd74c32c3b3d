"""Rename the target in a model's tests from the variant's names back to the project's.

Keywords of calls that reach the target indirectly change too: `raises(ValueError, f1, a=0)`, `Net(a=3)` for
`__init__`, `net(a=3)` for `forward`. A variable of a test that already has the project's name gets a new name.
"""

import ast
import builtins
from collections.abc import Sequence

from dlbench.agreement.variants import Variant
from dlbench.dataset.target import Function, last_name

CALLED_BY_CLASS = ("forward", "call", "__call__")
"""Methods that run when the object is called."""


def restore_names(statements: Sequence[ast.stmt], variant: Variant) -> list[ast.stmt]:
    if variant.function == variant.own_name and not variant.own_parameters:
        return list(statements)
    renamer = _Renamer(variant, [node for one in statements for node in ast.walk(one)])
    return [ast.fix_missing_locations(renamer.visit(one)) for one in statements]


class _Renamer(ast.NodeTransformer):
    """`free`: an unused name, for variables that have the project's; `helpers`: functions with such a parameter."""

    def __init__(self, variant: Variant, nodes: list[ast.AST]) -> None:
        self.own, self.owner, self.shown = variant.own_name, variant.owner, variant.function
        self.parameters = variant.own_parameters
        used = {getattr(node, field, None) for node in nodes for field in ("id", "arg", "name")}
        self.free = f"{self.own}_"
        while self.free in used:
            self.free += "_"
        self.helpers = {
            node.name
            for node in nodes
            if isinstance(node, Function)
            and any(isinstance(one, ast.arg) and one.arg == self.own for one in ast.walk(node.args))
        }

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if self._reaches_target(node):
            for keyword in node.keywords:
                keyword.arg = self.parameters.get(keyword.arg or "", keyword.arg)
        elif self.shown != self.own and last_name(node.func) in self.helpers:
            for keyword in node.keywords:
                keyword.arg = self.free if keyword.arg == self.own else keyword.arg
        elif self.shown != self.own and last_name(node.func) == "parametrize" and node.args:
            self._rename_columns(node.args[0])
        return self.generic_visit(node)

    def _rename_columns(self, names: ast.expr) -> None:
        """Rename in the first argument of `parametrize`, whose names are the parameters of the test."""
        for node in ast.walk(names):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                columns = [column.strip() for column in node.value.split(",")]
                if self.own in columns:
                    node.value = ", ".join(self.free if one == self.own else one for one in columns)

    def _reaches_target(self, node: ast.Call) -> bool:
        target = {self.own, self.shown}
        called = last_name(node.func)
        if called in target or any(last_name(argument) in target for argument in node.args):
            return True
        if self.own in ("__init__", "__new__"):
            return called == self.owner
        # an object may have any lower-case name
        is_object = isinstance(node.func, ast.Call) or called[:1].islower()
        return self.own in CALLED_BY_CLASS and is_object and not hasattr(builtins, called)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._rename(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr == self.shown:
            node.attr = self.own
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._rename(node.arg)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal | ast.Global) -> ast.AST:
        node.names = [self._rename(name) for name in node.names]
        return node

    visit_Global = visit_Nonlocal

    def _rename(self, name: str) -> str:
        if name == self.shown:
            return self.own
        return self.free if name == self.own and self.shown != self.own else name

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.alias) -> ast.AST:
        if node.name == self.shown:
            node.name = self.own
        return self.generic_visit(node)

    visit_alias = visit_FunctionDef
