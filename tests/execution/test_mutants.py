"""Mutants compile, are distinct, and differ from the reference in one place. Orders of tests differ."""

import ast
import difflib
from math import factorial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlbench
from dlbench.dataset.target import Function
from dlbench.validation.mutants import draw_orders, write_mutants
from dlbench.validation.mutation_operators import OPERATORS

REFERENCE = '''def f(x, y=1, *, flag=True):
    """Words that stay."""
    total = 0
    for value in x:
        if value > y and flag:
            total += value * 2
        else:
            total -= 1
    if total is None:
        raise ValueError("no")
    print(total)
    return total / len(x)
'''

# operator, function, and a line of one of its mutants
EXAMPLES = [
    ("comparison turned", "def f(x):\n    return x < 1", "return x >= 1"),
    ("operator exchanged", "def f(x):\n    return x @ x", "return x + x"),
    ("number off by one", "def f(x):\n    return x * 2", "return x * 3"),
    ("truth negated", "def f(x):\n    return g(True)", "return g(False)"),
    ("condition negated", "def f(x):\n    if x:\n        return 1", "if not x:"),
    ("nothing returned", "def f(x):\n    return x", "return None"),
    ("and/or exchanged", "def f(x):\n    return x and y", "return x or y"),
    ("statement left out", "def f(x):\n    if x:\n        y = 1\n    else:\n        g(x)", "pass"),
    ("arguments swapped", "def f(x):\n    return g(x, h, 3)", "return g(h, x, 3)"),
    ("keyword argument dropped", "def f(x):\n    return g(x, eps=x, n=x)", "return g(x, n=x)"),
    ("slice bound shifted", "def f(x):\n    return x[1:-1]", "return x[2:-1]"),
    ("slice bound shifted", "def f(x):\n    return x[1:-1]", "return x[1:-2]"),
    ("slice bound shifted", "def f(x):\n    return x[:n]", "return x[:n - 1]"),
    ("range bound off by one", "def f(x):\n    return range(x)", "return range(x - 1)"),
    ("range bound off by one", "def f(x):\n    return range(1, x, 2)", "return range(2, x, 2)"),
    ("unary minus removed", "def f(x):\n    return -x", "return x"),
    ("method exchanged", "def f(x):\n    return torch.zeros_like(x)", "return torch.ones_like(x)"),
    ("method exchanged", "def f(x):\n    return x.log()", "return x.exp()"),
    ("method exchanged", "def f(x):\n    return math.floor(x)", "return math.ceil(x)"),
    ("axis changed", "def f(x):\n    return x.sum(dim=0)", "return x.sum(dim=1)"),
    ("axis changed", "def f(x):\n    return np.stack(x, axis=-1)", "return np.stack(x, axis=0)"),
    ("axis changed", "def f(x):\n    return np.stack(x, axis=2)", "return np.stack(x, axis=1)"),
    ("axis changed", "def f(x):\n    return np.mean(x, axis=(1, 2))", "return np.mean(x, axis=(1,))"),
    ("axis changed", "def f(x):\n    return x.unsqueeze(-2)", "return x.unsqueeze(-1)"),
    ("axis changed", "def f(x):\n    return torch.cat(x, 1)", "return torch.cat(x, 0)"),
    ("keepdims negated", "def f(x):\n    return x.sum(keepdim=True)", "return x.sum(keepdim=False)"),
    ("keepdims negated", "def f(x):\n    return np.sum(x, keepdims=False)", "return np.sum(x, keepdims=True)"),
    ("dtype changed", "def f(x):\n    return x.to(torch.float32)", "return x.to(torch.float64)"),
    ("dtype changed", "def f(x):\n    return x.to(torch.long)", "return x.to(torch.int)"),
    ("dtype changed", "def f(x):\n    return jnp.int64(x)", "return jnp.int32(x)"),
    ("dtype changed", "def f(x):\n    return x.float()", "return x.double()"),
    ("dtype changed", "def f(x):\n    return ops.cast(x, 'float32')", "return ops.cast(x, 'float64')"),
    ("dtype changed", "def f(x):\n    return g(x, dtype='int32')", "return g(x, dtype='int64')"),
    ("reduction exchanged", "def f(x):\n    return x.mean()", "return x.sum()"),
    ("reduction exchanged", "def f(x):\n    return jnp.argmax(x)", "return jnp.argmin(x)"),
    ("reduction exchanged", "def f(x):\n    return any(x)", "return all(x)"),
    ("reduction exchanged", "def f(x):\n    return max(x, 1)", "return min(x, 1)"),
    ("reduction exchanged", "def f(x):\n    return loss(x, reduction='sum')", "return loss(x, reduction='mean')"),
]  # fmt: skip

# function, and the only operators that may change it
NOT_MUTATED = [
    ('def f(x):\n    raise ValueError(f"no {x + 1}", 2)', {"statement left out"}),
    ('def f(x):\n    assert x, g(1, 2)', set()),
    ('def f(x):\n    logger.info("at %d", x + 1)', set()),
    ('def f(x):\n    self._logger.warning("at", 3, stacklevel=2)', set()),
    ('def f(x):\n    warnings.warn("old", stacklevel=2)', set()),
    ("def f(x: Literal[1] = 2) -> Literal[3]:\n    pass", set()),
    ("def f(x):\n    y: Literal[1] = x", {"statement left out"}),
    ("def f(x):\n    def g(y: Literal[1]) -> Literal[2]:\n        pass", set()),
    ('def f(x):\n    """Two 2."""', set()),
    ("def f(x):\n    return max(x, y)", {"nothing returned", "reduction exchanged"}),
    ("def f(x):\n    return isinstance(x, y)", {"nothing returned"}),
    ("def f(x):\n    return g(*x, y)", {"nothing returned"}),
    ("def f(x):\n    return range(*x)", {"nothing returned"}),
    ("def f(x):\n    return self.mean(x)", {"nothing returned"}),
    ("def f(x):\n    return x.get('key', x)", {"nothing returned"}),
]  # fmt: skip


def parse(source: str) -> Function:
    function = ast.parse(source).body[0]
    assert isinstance(function, Function)
    return function


def operator_of(name: str) -> str:
    return name.rpartition(" in line ")[0]


def test_mutants_are_valid_different_and_small():
    mutants = write_mutants(parse(REFERENCE), 100)
    codes = [code for _, code in mutants]
    assert len(set(codes)) == len(codes) >= 12
    original = ast.unparse(parse(REFERENCE)).splitlines()
    for name, code in mutants:
        compile(code, name, "exec")
        changed = [line for line in difflib.ndiff(original, code.splitlines()) if line[:1] in "+-"]
        assert 0 < len(changed) <= 2, (name, changed)
        assert "Words that stay." in code
        assert code.startswith("def f(x, y=1, *, flag=True):")


def test_mutants_are_reproducible_and_limited():
    assert write_mutants(parse(REFERENCE), 5) == write_mutants(parse(REFERENCE), 5)
    assert len(write_mutants(parse(REFERENCE), 5)) == 5
    assert write_mutants(parse(REFERENCE), 0) == []
    assert write_mutants(parse(REFERENCE), 5, seed=1) != write_mutants(parse(REFERENCE), 5, seed=2)


@pytest.mark.parametrize(("operator", "source", "line"), EXAMPLES)
def test_operator_makes_the_change_of_its_name(operator, source, line):
    found = [code for name, code in write_mutants(parse(source), 100) if operator_of(name) == operator]
    assert any(line in map(str.strip, code.splitlines()) for code in found), found


def test_table_lists_every_operator():
    assert {operator for operator, _, _ in EXAMPLES} == set(OPERATORS)
    for _, source, _ in EXAMPLES:
        assert {operator_of(name) for name, _ in write_mutants(parse(source), 100)} <= set(OPERATORS)


@pytest.mark.parametrize(("source", "allowed"), NOT_MUTATED)
def test_code_that_tests_cannot_observe_is_not_mutated(source, allowed):
    assert {operator_of(name) for name, _ in write_mutants(parse(source), 100)} == allowed


@pytest.mark.parametrize(
    ("source", "operator"),
    [
        ("def f(x):\n    return x.sum(axis=-1)", "axis changed"),
        ("def f(x):\n    return x.sum(-1, keepdim=True)", "axis changed"),
        ("def f(x):\n    return g(x, keepdims=True)", "keepdims negated"),
        ("def f(x):\n    return x[:-1]", "slice bound shifted"),
        ("def f(x):\n    return range(3)", "range bound off by one"),
    ],
)
def test_axis_and_bound_literals_are_not_mutated_as_numbers(source, operator):
    found = {operator_of(name) for name, _ in write_mutants(parse(source), 100)}
    assert operator in found
    assert not found & {"number off by one", "truth negated", "unary minus removed"}


def test_operators_take_turns_when_mutants_are_limited():
    numbers = "".join(f"    x = g(x, {number})\n" for number in range(2, 30))
    source = f"def f(x):\n{numbers}    y = x.sum(dim=0)\n    return y if x else -y\n"
    kinds = {operator_of(name) for name, _ in write_mutants(parse(source), 1000)}
    assert len(kinds) >= 8
    for seed in range(3):
        few = [operator_of(name) for name, _ in write_mutants(parse(source), len(kinds), seed)]
        assert set(few) == kinds


def test_reported_line_is_the_changed_line():
    source = (
        "@wrapped\ndef f(x):\n    y = x\n    if x:\n        y = x.sum(\n            dim=0,\n        )\n    return y\n"
    )
    names = [name for name, _ in write_mutants(parse(source), 100)]
    assert "axis changed in line 5" in names
    assert "statement left out in line 4" in names
    assert "condition negated in line 3" in names


def test_mutants_have_no_decorators():
    assert all("wrapped" not in code for _, code in write_mutants(parse("@wrapped\ndef f(x):\n    return -x"), 10))


def test_function_that_cannot_be_unparsed_has_no_mutants():
    source = "def f(x):\n    return f\"{x.split('\u00a0')}\"\n"
    try:
        ast.unparse(ast.parse(source))
    except ValueError:
        assert write_mutants(parse(source), 10) == []
    else:
        assert write_mutants(parse(source), 10)


VALUES = st.recursive(
    st.sampled_from(["x", "y", "x.shape", "0", "1", "-1", "2.5", "True", "None", "'mean'", "torch.float32", "x[0]"]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "@", "<", "==", "and", "in"]), inner),
        st.builds("g({}, {})".format, inner, inner),
        st.builds("x.sum({})".format, inner),
        st.builds("np.mean({}, axis={}, keepdims=True)".format, inner, inner),
        st.builds("x[{}:{}]".format, inner, inner),
        st.builds("[{} for z in range({})]".format, inner, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("(-{})".format, inner),
        st.builds('f"{{{}}}"'.format, st.sampled_from(["x", "y + 1"])),
        st.builds("(lambda z: {})".format, inner),
    ),
    max_leaves=6,
)
SIMPLE = st.one_of(
    st.builds("y = {}".format, VALUES),
    st.builds("y: int = {}".format, VALUES),
    st.builds("y += {}".format, VALUES),
    st.builds("return {}".format, VALUES),
    st.builds("g({})".format, VALUES),
    st.builds("assert {}, 'no'".format, VALUES),
    st.builds("raise ValueError({})".format, VALUES),
    st.builds("logger.info({})".format, VALUES),
)
BLOCKS = st.one_of(
    st.builds("if {}:\n        {}\n    else:\n        {}".format, VALUES, SIMPLE, SIMPLE),
    st.builds("for z in {}:\n        {}".format, VALUES, SIMPLE),
    st.builds("while {}:\n        {}".format, VALUES, SIMPLE),
    st.builds("match {}:\n        case -1 | 2:\n            {}".format, VALUES, SIMPLE),
    st.builds("try:\n        {}\n    finally:\n        {}".format, SIMPLE, SIMPLE),
    st.builds("def h(z: int = {}) -> int:\n        {}".format, VALUES, SIMPLE),
)


@settings(max_examples=80)
@given(
    st.lists(st.one_of(SIMPLE, BLOCKS), min_size=1, max_size=4),
    st.sampled_from(["def", "async def"]),
    st.integers(0, 9),
)
def test_every_mutant_compiles_differs_and_is_reproducible(statements, kind, seed):
    function = parse(f"{kind} f(x, y=1):\n" + "".join(f"    {statement}\n" for statement in statements))
    before = ast.dump(function)
    mutants = write_mutants(function, 20, seed)
    assert ast.dump(function) == before
    assert mutants == write_mutants(function, 20, seed)
    codes = [code for _, code in mutants]
    assert len({ast.unparse(function) + "\n", *codes}) == len(codes) + 1
    for name, code in mutants:
        compile(code, name, "exec")
        assert operator_of(name) in OPERATORS


def test_real_code_is_mutated():
    """Every function of the execution package."""
    folder = Path(dlbench.__file__).parent / "execution"
    functions = [
        node
        for path in sorted(folder.glob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, Function) and len(node.body) > 3
    ]
    assert len(functions) > 50
    for function in functions:
        mutants = write_mutants(function, 3)
        assert mutants
        for name, code in mutants:
            compile(code, name, "exec")


@pytest.mark.parametrize("count", [3, 4, 5, 9])
def test_five_orders_differ_and_start_with_different_tests(count: int) -> None:
    tests = [f"t{number}" for number in range(count)]
    for key in ("toy/a", "toy/b", "toy/c"):
        orders = draw_orders(tests, 5, key)
        assert len(set(orders)) == 5
        assert len({order[0] for order in orders}) == min(5, count)


@given(st.integers(1, 6), st.integers(0, 8), st.text())
def test_every_order_is_a_permutation_and_reproducible(count: int, times: int, key: str) -> None:
    tests = [f"t{number}" for number in range(count)]
    orders = draw_orders(tests, times, key)
    assert orders == draw_orders(tests, times, key)
    assert [sorted(order) for order in orders] == [sorted(tests)] * times
    assert len(set(orders)) == min(times, factorial(count))


def test_first_order_reverses_the_given_one() -> None:
    """Every test then runs before and after every other, so that any dependency shows."""
    tests = [f"t{number}" for number in range(6)]
    orders = [tests, *draw_orders(tests, 1, "toy/a")]
    before = {(first, then) for order in orders for place, first in enumerate(order) for then in order[place + 1 :]}
    assert before == {(first, then) for first in tests for then in tests if first != then}


def test_orders_differ_between_instances() -> None:
    tests = [f"t{number}" for number in range(8)]
    assert draw_orders(tests, 5, "toy/a") != draw_orders(tests, 5, "toy/b")
