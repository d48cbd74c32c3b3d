"""Of the many shapes that one right answer can have, none that a careful person would accept may be lost."""

import ast

import pytest

from dlbench.execution.answer import at, read_answer, render
from dlbench.generation import extract
from tests.generation.answer_shapes import Code, Shape, shapes

SHAPES = list(shapes())


def taken(code: str, target: Code) -> str:
    """The definition that the splicer would take, normalised."""
    header = next(line for line in target.means.split("\n") if "def " in line)
    answer = read_answer(code, target.qualname, header)
    return normalised(render(answer.module, at(answer.module, answer.target)))


def normalised(definition: str) -> str:
    """Without spacing, comments and docstring."""
    function = ast.parse(definition.strip()).body[0]
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    if ast.get_docstring(function) is not None:
        function.body = function.body[1:]
    return ast.dump(function)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_the_definition_comes_out_of_every_shape(shape: Shape) -> None:
    found = extract(shape.answer, shape.code.qualname)
    if shape.refused is not None:
        assert found.code is None
        assert shape.refused in found.reason
        return
    assert found.code is not None, found.reason
    assert taken(found.code, shape.code) == normalised(shape.code.means)
    assert found.others == ()
