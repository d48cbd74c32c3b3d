"""The matrix is kept: nothing runs twice, and every choice can be made from the journal."""

import json

import pytest

from dlbench.agreement.answers import group_identical, make_solution
from dlbench.agreement.matrix import MATRIX, Matrix, MatrixRow, fill_matrix, read_matrix
from dlbench.agreement.model_tests import read_model_tests
from dlbench.agreement.selection import choose
from dlbench.errors import DLBenchError
from dlbench.execution.cross_run import CrossRunPool

RIGHT = "def scale(values, factor=2):\n    if factor == 0:\n        raise ValueError\n    return [v * factor for v in values]\n"
WRONG = "def scale(values, factor=2):\n    return [v + factor for v in values]\n"
MODEL_TESTS = """
assert scale([1]) == [2]
assert scale([3], 2) == [6]
assert scale([2]) == [4]
import pytest
with pytest.raises(ValueError):
    scale([1], 0)
assert scale([1]) == [3]
"""


@pytest.fixture
def pool(engine, toy_prepared):
    return CrossRunPool(engine, {"toy": toy_prepared}, workers=2, seconds=5.0, outputs=True)


@pytest.fixture
def rows(toy):
    tests = read_model_tests(MODEL_TESTS, "scale").tests
    instance = toy.instances["toy/toy.core.scale"]
    return [MatrixRow(instance, make_solution(code), tests) for code in (RIGHT, WRONG)]


def test_right_solution_is_selected_from_the_journal(pool, rows, tmp_path):
    fill_matrix(pool, rows, tmp_path / MATRIX)
    matrix = read_matrix(tmp_path / MATRIX)
    tests = {test.id: 1 for test in rows[0].tests}
    solutions = {row.solution.id: 1 for row in rows}
    votes = matrix.make_votes(rows[0].instance.id, solutions, tests)
    assert votes.passed.astype(int).tolist() == [[1, 1, 1, 1, 0], [0, 0, 1, 0, 1]]
    assert choose(votes).solution == 0
    outputs = matrix.find_outputs(rows[0].instance.id, solutions, tests)
    assert outputs[0][0] == [[2]]
    assert outputs[1][0] == [[3]]


def test_second_start_runs_only_what_is_missing(pool, rows, tmp_path):
    path = tmp_path / MATRIX
    fill_matrix(pool, rows[:1], path)
    first = path.read_text()
    narrow = [MatrixRow(row.instance, row.solution, row.tests[:2]) for row in rows]
    fill_matrix(pool, [*rows[:1], narrow[1]], path)
    assert path.read_text().startswith(first)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(one["solution"], len(one["results"])) for one in records] == [
        (rows[0].solution.id, 5),
        (rows[1].solution.id, 2),
    ]
    done = []
    fill_matrix(CrossRunPool(None, {}), rows[:1], path, done.append)  # nothing is left to run
    assert done == rows[:1]


def test_truncated_line_and_harness_errors_run_again(pool, rows, tmp_path):
    path = tmp_path / MATRIX
    fault = {"instance": rows[0].instance.id, "solution": rows[0].solution.id}
    fault["results"] = {test.id: "not_run" for test in rows[0].tests}
    path.write_text(json.dumps(fault) + "\n" + '{"instance": "toy/toy.co')
    matrix = fill_matrix(pool, rows[:1], path)
    assert matrix.count() == {"passed": 4, "failed": 1}


@pytest.mark.parametrize("ended", ["timeout", "crashed", "out_of_memory", "tampered"])
def test_aborted_solution_does_not_equal_those_that_fail(ended):
    """Every solution fails a wrong test; one that hangs would equal each of them."""
    matrix = Matrix()
    for solution, result, outputs in (("a", "failed", [5]), ("b", "failed", [6]), ("c", ended, [])):
        record = {"instance": "x", "solution": solution, "results": {"test": result}}
        matrix.add(record | ({"outputs": {"test": outputs}} if outputs else {}))
    votes = matrix.make_votes("x", {"a": 2, "b": 1, "c": 1}, {"test": 1})
    outputs = matrix.find_outputs("x", "abc", ["test"])
    assert {choose(votes, "mbr-exec", seed=seed, outputs=outputs).solution for seed in range(20)} == {0}


def test_invalid_matrix_is_an_error_with_its_line(tmp_path):
    path = tmp_path / MATRIX
    path.write_text('{"instance": "x"}\n')
    with pytest.raises(DLBenchError, match="not a row of a matrix"):
        read_matrix(path)


def test_solutions_that_differ_in_comments_are_identical():
    twice = [make_solution(RIGHT), make_solution(WRONG), make_solution(RIGHT + "\n# the same\n")]
    assert list(group_identical(twice).values()) == [[0, 2], [1]]
    assert make_solution("def scale(:").id != make_solution("def scale(::").id
