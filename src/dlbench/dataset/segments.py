"""What does the text of one function parse to?

A method's text stands indented, and taking the indentation off line by line would also change the strings in it that
run over several lines. So indented text is parsed as the body of a block, where Python itself deals with the margin.
"""

import ast
import copy
from typing import TypeGuard

from dlbench.dataset.target import Function
from dlbench.errors import DLBenchError
from dlbench.parsing import parse


def parse_function(segment: str) -> Function:
    """The one function in the text, decorators included; raises DLBenchError where the text holds anything else.

    Lines are counted from 1, in indented text from 2.
    """
    first = next((line for line in segment.split("\n") if line.strip()), "")
    body = parse_statements(segment)
    if len(body) != 1 or not isinstance(body[0], Function):
        raise _refusal("the text is not one function", first)
    return body[0]


def parse_statements(segment: str) -> list[ast.stmt]:
    """Whatever statements the text holds, at one margin; lines are counted as in `parse_function`."""
    try:
        return _parse_block(segment) if is_indented(segment) else parse(segment).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _refusal(f"the text does not parse: {error}", segment.lstrip().split("\n")[0]) from None


def is_indented(segment: str) -> bool:
    """Does its first line with code stand away from the margin?"""
    first = next((line for line in segment.split("\n") if line.strip() and not line.lstrip().startswith("#")), "")
    return first[:1].isspace()


def find_body(function: Function) -> list[ast.stmt]:
    """Its statements without the docstring."""
    return function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body


def is_prose(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Is it a string that stands alone as a statement, as a docstring does?"""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def walk_code(node: ast.AST) -> list[ast.AST]:
    """A node and all below it that hold something, parents first: `ast.walk` without contexts and operators.

    Those are half of all nodes, and walking takes most of the time that twenty thousand functions take.
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
    """The code anew, without comments and layout, to be measured and compared."""
    try:
        return ast.unparse(tree)
    except ValueError:  # before Python 3.12, what needs a backslash cannot be written between an f-string's braces
        return ast.unparse(_Escaping().visit(copy.deepcopy(tree)))


class _Escaping(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, str):
            node.value = ascii(node.value).replace("\\", "/")
        return node


def _parse_block(segment: str) -> list[ast.stmt]:
    block, *after = parse(f"if True:\n{segment}").body
    assert isinstance(block, ast.If)
    return [*block.body, *block.orelse, *after]


def _refusal(what: str, first: str) -> DLBenchError:
    return DLBenchError(what, where=first.strip()[:80], mend="give the whole lines of one function or method")
