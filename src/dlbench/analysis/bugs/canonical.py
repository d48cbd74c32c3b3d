"""When do two pieces of code say the same in other words?

`x += 1` and `x = x + 1`, `a > b` and `b < a`, a result returned at once or by way of a variable: authors choose.
Brought into one form, what is left of the difference is more often a difference in what is done.
"""

import ast
import pickle

from dlbench.dataset.target import Function

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def make_canonical(function: Function, *, exchange: bool = False) -> Function:
    """A copy; with `exchange`, an else that stands behind a negated condition comes first."""
    made = pickle.loads(pickle.dumps(function))
    made = _Form(exchange).visit(made)
    assert isinstance(made, Function)
    return ast.fix_missing_locations(made)


def has_exchange(function: Function) -> bool:
    return any(isinstance(node, ast.If) and node.orelse and _negated(node.test) for node in ast.walk(function))


def _negated(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


class _Form(ast.NodeTransformer):
    def __init__(self, exchange: bool) -> None:
        self.exchange = exchange

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        return node if node.value is None else ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
            turned = ast.Compare(node.comparators[0], [_TURNED[type(node.ops[0])]()], [node.left])
            return ast.copy_location(turned, node)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if self.exchange and node.orelse and isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not):
            return ast.copy_location(ast.If(node.test.operand, node.orelse, node.body), node)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, _return_at_once(block))
        return node


def _return_at_once(block: list[ast.stmt]) -> list[ast.stmt]:
    match block[-2:]:
        case [ast.Assign(targets=[ast.Name(id=name)], value=value), ast.Return(value=ast.Name(id=given)) as last] if (
            name == given
        ):
            return [*block[:-2], ast.copy_location(ast.Return(value), last)]
    return block
