"""Rewrite a function without changing its behaviour, as another author would have written it.

An injected bug that differs from the reference by one token is easy to find by comparison; a model's answer is never
that close. Which rewrites are applied is drawn at random.
"""

import ast
import copy
import random

from bug_injection.names import rename_locals
from dlbench.dataset.target import Function

_FLIPPED = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}


def rewrite(function: Function, rng: random.Random) -> Function:
    """One third is unchanged, one third gets new local names, one third is rewritten."""
    level = rng.randrange(3)
    if level == 0:
        return function
    made = rename_locals(function)
    if level == 1:
        return made
    for rewriter in (_AssignReturn, _ExpandAugmented, _FlipComparison, _SwapBranches, _UnrollComprehension, _SplitCall):
        if rng.random() < 0.6:
            made = ast.fix_missing_locations(rewriter().visit(copy.deepcopy(made)))
    return made


class _AssignReturn(ast.NodeTransformer):
    """`return f(x)` as assignment and return."""

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        if not isinstance(node.value, ast.Call | ast.BinOp | ast.Subscript):
            return node
        return [ast.Assign([ast.Name("output", ast.Store())], node.value), ast.Return(ast.Name("output", ast.Load()))]

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node


class _ExpandAugmented(ast.NodeTransformer):
    """`x += 1` as `x = x + 1`, for number constants, where both mean the same."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if isinstance(node.target, ast.Name) and isinstance(node.value, ast.Constant):
            return ast.Assign([node.target], ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value))
        return node


class _FlipComparison(ast.NodeTransformer):
    """`a < b` as `b > a`."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and type(node.ops[0]) in _FLIPPED:
            return ast.Compare(node.comparators[0], [_FLIPPED[type(node.ops[0])]()], [node.left])
        return node


class _SwapBranches(ast.NodeTransformer):
    """`if a: x else: y` as `if not a: y else: x`."""

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if node.orelse and not (len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)):
            return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)
        return node


class _UnrollComprehension(ast.NodeTransformer):
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


class _SplitCall(ast.NodeTransformer):
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
