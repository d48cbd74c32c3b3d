"""The same work in other words: how another author would have written it.

A planted bug that stands in the reference letter by letter is found by comparing letters, which no model's answer lets
anybody do. None of these rewritings changes what the code does; which of them are done is drawn.
"""

import ast
import copy
import random

from dlbench.analysis.bugs.planting.naming import rename_locals
from dlbench.dataset.target import Function

_TURNED = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}


def reword(function: Function, chance: random.Random) -> Function:
    """A third stays as it is, a third gets other names, a third is written anew."""
    level = chance.randrange(3)
    if level == 0:
        return function
    made = rename_locals(function)
    if level == 1:
        return made
    for rewriter in (_Returning, _Expanding, _Turning, _Exchanging, _Looping, _Hoisting):
        if chance.random() < 0.6:
            made = ast.fix_missing_locations(rewriter().visit(copy.deepcopy(made)))
    return made


class _Returning(ast.NodeTransformer):
    """`return f(x)` by way of a variable."""

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        if not isinstance(node.value, ast.Call | ast.BinOp | ast.Subscript):
            return node
        return [ast.Assign([ast.Name("output", ast.Store())], node.value), ast.Return(ast.Name("output", ast.Load()))]

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node


class _Expanding(ast.NodeTransformer):
    """`x += 1` as `x = x + 1`, for numbers, where it is the same."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if isinstance(node.target, ast.Name) and isinstance(node.value, ast.Constant):
            return ast.Assign([node.target], ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value))
        return node


class _Turning(ast.NodeTransformer):
    """`a < b` as `b > a`."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
            return ast.Compare(node.comparators[0], [_TURNED[type(node.ops[0])]()], [node.left])
        return node


class _Exchanging(ast.NodeTransformer):
    """`if a: x else: y` as `if not a: y else: x`."""

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if node.orelse and not (len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)):
            return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)
        return node


class _Looping(ast.NodeTransformer):
    """`x = [f(y) for y in z]` as a loop."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.ListComp(elt=element, generators=[ast.comprehension(ifs=[], is_async=0) as each]),
            ) if not any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node.value)):
                append = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
                loop = ast.For(each.target, each.iter, [ast.Expr(ast.Call(append, [element], []))], [])
                return [ast.Assign([ast.Name(name, ast.Store())], ast.List([], ast.Load())), loop]
        return node


class _Hoisting(ast.NodeTransformer):
    """`x = f(g(y))` in two steps."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        match node.value:
            case (
                ast.Call(func=ast.Name() | ast.Attribute(value=ast.Name()), args=[ast.Call() as inner, *rest]) as outer
            ):
                step = ast.Assign([ast.Name("part", ast.Store())], inner)
                outer.args = [ast.Name("part", ast.Load()), *rest]
                return [step, node]
        return node
