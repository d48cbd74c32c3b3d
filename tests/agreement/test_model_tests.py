"""The complete tests of a model that call the target are extracted, and each runs alone."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.agreement.answers import build_test_prompt
from dlbench.agreement.model_tests import MAX_TESTS, count_distinct, read_model_tests
from dlbench.agreement.model_tests.rename import restore_names
from dlbench.agreement.variants import Variant


def scale(values, factor=2):
    if factor == 0:
        raise ValueError("zero")
    return [value * factor for value in values]


def run(test, **names):
    exec(compile(test.code, "<test>", "exec"), {"scale": scale, **names})


def read(text, qualname="scale"):
    return read_model_tests(text, qualname)


def test_each_test_function_runs_alone():
    answer = """Sure! Here are the tests:

```python
import math
from toy.core import scale

DATA = [1, 2]
UNUSED = open("nowhere")

def helper(x):
    return [math.floor(v) for v in x]

def test_1():
    assert scale(DATA) == [2, 4]

def test_2():
    assert helper(scale([1.0], 3)) == [3]
```
Hope this helps!"""
    found = read(answer).tests
    assert len(found) == 2
    for test in found:
        run(test)
        assert "UNUSED" not in test.code
        assert "toy.core" not in test.code
    assert "helper" not in found[0].code
    assert "DATA" not in found[1].code


def test_module_level_assertion_is_a_test_with_what_is_above_it():
    answer = """
x = [1]
assert scale(x) == [2]
x = [3]
x.append(4)
assert scale(x) == [6, 8], "a message"
y = scale([1])
assert y[0] == 2
"""
    found = read(answer).tests
    assert len(found) == 3
    for test in found:
        run(test)
    assert "append" not in found[0].code


def test_assertion_functions_of_frameworks_are_tests():
    answer = """```python
import numpy as np
import torch
torch.manual_seed(0)
x = torch.ones(2)
torch.testing.assert_close(scale(x), 2 * x)
np.testing.assert_allclose(scale(np.ones(3)), 2.0)
import jax.numpy as jnp
assert jnp.allclose(scale(jnp.ones(2)), 2)
keras.ops.assert_equal(scale(1), 2)
```"""
    found = read(answer).tests
    assert len(found) == 4
    assert all("manual_seed" in test.code for test in found)
    assert "import torch" in found[0].code
    assert "jax" not in found[1].code


def test_expected_exception_is_a_test():
    answer = "import pytest\nwith pytest.raises(ValueError):\n    scale([1], 0)\n"
    (test,) = read(answer).tests
    run(test)


def test_each_parametrised_row_is_a_test():
    answer = """
import pytest

@pytest.mark.parametrize("values, expected", [([1], [2]), ([2], [5]), pytest.param([], [], id="none")])
@pytest.mark.slow
def test_scale(values, expected):
    assert scale(values) == expected
"""
    first, wrong, last = read(answer).tests
    run(first)
    run(last)
    with pytest.raises(AssertionError):
        run(wrong)


def test_methods_run_with_their_setup():
    answer = """
import unittest

class TestPlain:
    def setup_method(self):
        self.x = [1]

    def test_a(self):
        assert scale(self.x) == [2]

class Case(unittest.TestCase):
    def setUp(self):
        self.x = [1]

    def test_b(self):
        self.assertEqual(scale(self.x), [2])

    def test_c(self):
        self.assertEqual(scale(self.x), [3])

if __name__ == "__main__":
    unittest.main()
"""
    one, two, wrong = read(answer).tests
    run(one)
    run(two)
    with pytest.raises(AssertionError):
        run(wrong)


def test_truncated_test_does_not_cost_the_others():
    answer = "```python\ndef test_1():\n    assert scale([1]) == [2]\n\ndef test_2():\n    assert scale([1, "
    assert len(read(answer).tests) == 1


def test_prose_between_tests_is_skipped():
    answer = "Here is one:\nassert scale([1]) == [2]\nAnd here's another one:\nassert scale([2]) == [4]\n"
    assert len(read(answer).tests) == 2


def test_own_copy_of_the_target_is_left_out():
    text = "\n\ndef test_1():\n    assert scale([1]) == [2]\n"
    for own in ("def scale(values, factor=2):\n    return 'mine'", "scale = lambda values, factor=2: 'mine'"):
        (test,) = read(own + text).tests
        run(test)


def test_aliased_import_of_the_target_is_replaced():
    answer = "from textwrap import scale as grow, dedent\n\ndef test_1():\n    assert grow([len(dedent('a'))]) == [2]\n"
    (test,) = read(answer).tests
    run(test)


def test_import_of_the_target_inside_a_test_is_removed():
    """From an unknown module it would fail everywhere, and from a library it would test the library."""
    for module in ("your_module", "numpy", "toy.core"):
        (test,) = read(f"def test_1():\n    from {module} import scale\n    assert scale([1]) == [2]\n").tests
        run(test)
    (alone,) = read("def test_1():\n    assert scale([1]) == [2]\n").tests
    assert test.id == alone.id
    (test,) = read(
        "def test_1():\n    from your_module import floor, scale as grow\n    assert grow([1]) == [2]\n"
    ).tests
    assert "from your_module import floor" in test.code
    assert "grow = scale" in test.code


def test_library_function_of_the_same_name_stays():
    """Otherwise the test would compare the target with itself and always pass."""
    answer = "from scipy import scale as expected\n\ndef test_1():\n    assert scale([1]) == expected([1])\n"
    assert "from scipy import scale as expected" in read(answer).tests[0].code
    own = Variant("scipy/scipy.core.scale", 0, "original", "…", "scale")
    assert "expected = scale" in read_model_tests(answer, "scale", own).tests[0].code


def test_inner_generator_is_allowed():
    answer = "def test_1():\n    def make():\n        yield 1\n    assert scale(list(make())) == [2]\n"
    run(read(answer).tests[0])


def test_tests_above_the_limit_are_reported():
    many = "".join(f"def test_{number}():\n    assert scale([{number}])\n\n" for number in range(23))
    found = read(many)
    assert len(found.tests) == MAX_TESTS == 20
    assert [one.partition(":")[0] for one in found.dropped] == ["test_20", "test_21", "test_22"]
    table = f"@pytest.mark.parametrize('x', {[*range(30)]})\ndef test_1(x):\n    assert scale([x])\n"
    assert len(read(table).tests) == MAX_TESTS
    assert "above the limit" in read(table).dropped[0]


def test_crossed_tables_do_not_explode():
    tables = "".join(f"@pytest.mark.parametrize('x{number}', {[*range(100)]})\n" for number in range(9))
    names = ", ".join(f"x{number}" for number in range(9))
    assert len(read(f"{tables}def test_1({names}):\n    assert scale([x0])\n").tests) == MAX_TESTS


@pytest.mark.parametrize(
    "call",
    ["toy.core.scale([1])", "pytest.raises(ValueError, toy.core.scale, [1])", "[f([1]) for f in (scale,)]"],
)
def test_indirect_call_counts_as_a_call(call):
    assert read(f"import toy.core\n\ndef test_1():\n    assert {call}\n").tests
    assert read("def test_1():\n    f = scale\n    assert f([1])\n").tests


def test_call_of_a_library_function_is_not_a_call_of_the_target():
    for line in ("np.scale([1])", "np.ma.scale([1])", "callable(scale)"):
        assert not read(f"import numpy as np\n\ndef test_1():\n    assert {line}\n").tests
    keras = Variant("keras/keras.ops.scale", 0, "original", "…", "scale")
    assert read_model_tests("import keras\n\ndef test_1():\n    assert keras.ops.scale([1])\n", "scale", keras).tests


def test_variable_with_the_method_name_stays():
    (test,) = read("step = 1\n\ndef test_1():\n    assert Counter().step(step) == 1\n", "Counter.step").tests
    assert "step = 1" in test.code


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("def test_1():\n    assert 1 == 1\n", "does not call"),
        ("def test_1():\n    assert callable(scale)\n", "does not call"),
        ("def test_1():\n    assert np.ones(3).scale() == 1\n", "does not call"),
        ("def test_1():\n    scale = lambda x: 7\n    assert scale(1) == 7\n", "defines scale itself"),
        ("def test_1(tmp_path):\n    assert scale(tmp_path)\n", "needs fixtures: tmp_path"),
        ("def test_1():\n    for x in (1, 2):\n        yield scale, x\n", "generator"),
        (
            "def test_1():\n    assert scale([1]) == [2\n\ndef helper():\n    return 1\n",
            "truncated, or does not compile",
        ),
        ("class TestScale:\n    def test_1(self):\n        assert scale(\n", "TestScale: truncated"),
        ("def test_1():\n    assert scale([1])\n    continue\n", "test_1: truncated, or does not compile"),
        ("async def test_1():\n    assert scale([1])\n", "coroutine"),
        ("@pytest.mark.skip\ndef test_1():\n    assert scale([1])\n", "marked skip"),
        ("@pytest.mark.parametrize('x', make())\ndef test_1(x):\n    assert scale(x)\n", "not a literal"),
        ("@pytest.mark.parametrize('x', [1, *MORE])\ndef test_1(x):\n    assert scale(x)\n", "not a literal"),
        (
            "@pytest.mark.parametrize('x, y', [(1, *MORE)])\ndef test_1(x, y):\n    assert scale(x) == y\n",
            "not a literal",
        ),
    ],
    ids=[
        "other",
        "inspected",
        "another object",
        "own",
        "fixture",
        "generator",
        "broken",
        "cut off class",
        "no loop",
        "coroutine",
        "skipped",
        "made",
        "starred rows",
        "starred cells",
    ],
)
def test_unusable_test_is_dropped_with_the_reason(answer, reason):
    found = read(answer)
    assert found.tests == []
    assert reason in found.dropped[0]


def test_method_is_called_by_name_and_hook_by_its_class():
    assert read("assert Counter().step() == 1\n", "Counter.step").tests
    assert not read("assert Counter().count == 1\n", "Counter.step").tests
    assert read("assert Loss()(1) == 1\n", "Loss.forward").tests
    assert read("assert Loss(2).x == 2\n", "Loss.__init__").tests


def test_tests_that_differ_in_names_and_messages_are_equal():
    one = 'def test_a():\n    """Says."""\n    x = [1]\n    assert scale(x) == [2], "no"\n'
    other = "def test_b():\n    values = [1]\n    assert scale(values) == [2]\n"
    different = "def test_c():\n    values = [1]\n    assert scale(values) == [3]\n"
    tests = read(one + other + different).tests
    assert list(count_distinct(tests).values()) == [2, 1]
    assert [test.id for test in read(one + other + different).tests] == [test.id for test in tests]


def test_prompt_requests_the_number_of_tests_and_no_solution():
    system, user = build_test_prompt("the task", "scale", 7)
    assert "7 test functions" in user["content"]
    assert user["content"].startswith("the task")
    assert "Do not implement" in system["content"]


def test_tests_of_a_renamed_function_use_the_project_names():
    variant = Variant("toy/toy.core.scale", 3, "name_neutral", "…", "f1", {"values": "a", "factor": "b"})
    answer = "from somewhere import f1\nscale = 3\nassert f1(a=[1], b=scale) == [3]\nassert f1([1], b=2) == [2]\n"
    for test in read_model_tests(answer, "scale", variant).tests:
        run(test)
    method = Variant("toy/toy.core.Counter.step", 1, "name_neutral", "…", "f1")
    (test,) = read_model_tests("assert Counter().f1() == 1\n", "Counter.step", method).tests
    assert ".step()" in test.code


@pytest.mark.parametrize(
    ("qualname", "call", "becomes"),
    [
        ("scale", "pytest.raises(ValueError, scale, [1], b=0)", "pytest.raises(ValueError, scale, [1], a=0)"),
        ("scale", "self.assertRaises(ValueError, scale, b=0)", "self.assertRaises(ValueError, scale, a=0)"),
        ("scale", "partial(scale, b=3)([1])", "partial(scale, a=3)([1])"),
        ("Net.__init__", "Net(b=3)", "Net(a=3)"),
        ("Net.forward", "net(b=3)", "net(a=3)"),
        ("Net.forward", "Net()(b=3)", "Net()(a=3)"),
        ("Net.forward", "Net(b=3)", "Net(b=3)"),  # its constructor's own
        ("Net.forward", "dict(b=3)", "dict(b=3)"),
        ("Net.forward", "keras.Model(b=3)", "keras.Model(b=3)"),
    ],
)
def test_keywords_of_indirect_calls_are_renamed(qualname, call, becomes):
    name = qualname.rpartition(".")[2]
    shown = Variant(f"toy/toy.core.{qualname}", 1, "parameter_names", "…", name, {"a": "b"})
    (statement,) = restore_names(ast.parse(call).body, shown)
    assert ast.unparse(statement) == becomes


def test_conflicting_parameter_of_a_helper_is_renamed():
    variant = Variant("toy/toy.core.scale", 3, "name_neutral", "…", "f1")
    answer = "def first(scale):\n    return scale[0]\n\ndef test_1():\n    assert first(f1([1])) == 2\n"
    (test,) = read_model_tests(answer, "scale", variant).tests
    run(test)
    by_keyword = answer.replace("first(f1([1]))", "first(scale=f1([1]))")
    run(read_model_tests(by_keyword, "scale", variant).tests[0])
    table = "@pytest.mark.parametrize('scale, more', [(1, 2)])\ndef test_1(scale, more):\n    assert f1([scale]) == [more]\n"
    run(read_model_tests(table, "scale", variant).tests[0])


@pytest.mark.parametrize(
    "answer",
    [
        "def helper(scale, scale_):\n    return scale, scale_\n\ndef test_1():\n    assert helper(f1([1]), 3) == ([2], 3)\n",
        "def test_1():\n    scale = 1\n    def more():\n        nonlocal scale\n        scale += 1\n    more()\n    assert f1([1]) == [scale]\n",
        "def test_1():\n    global scale\n    scale = 2\n    assert f1([1]) == [scale]\n",
    ],
    ids=["taken", "nonlocal", "global"],
)  # fmt: skip
def test_renamed_local_does_not_collide(answer):
    variant = Variant("toy/toy.core.scale", 3, "name_neutral", "…", "f1")
    (test,) = read_model_tests(answer, "scale", variant).tests
    run(test)


def test_statement_that_does_not_compile_is_skipped():
    deep = "x = " + "-" * 3000 + "1\n"
    answer = "return 1\nyield 2\n" + deep + "def test_1():\n    assert scale([1]) == [2]\n"
    (test,) = read(answer).tests
    run(test)


def test_deeply_nested_test_does_not_cost_the_others():
    chain = "    if x:\n        pass\n" + "    elif x:\n        pass\n" * 400
    answer = f"def test_1():\n    x = f1([1])\n{chain}\ndef test_2():\n    assert f1([1]) == [2]\n"
    found = read_model_tests(answer, "scale", Variant("toy/toy.core.scale", 3, "name_neutral", "…", "f1"))
    run(found.tests[0])
    assert found.dropped == ["test_1: truncated, or does not compile"]


@given(st.text(max_size=300))
def test_any_answer_is_read_without_an_error(text):
    for answer in (text, f"```python\n{text}\n```", f"def test_1():\n    assert scale({text})\n"):
        for test in read(answer).tests:
            compile(test.code, "<test>", "exec")


NAMES = st.sampled_from(["scale", "f1", "scale_", "a", "values"])


@given(st.lists(NAMES, min_size=6, max_size=6))
def test_any_names_are_read_without_an_error(names):
    """One unreadable answer must not end a run that is paid for."""
    variant = Variant("toy/toy.core.scale", 3, "name_neutral", "…", "f1", {"values": "a"})
    one, two, three, four, five, six = names
    answer = (
        f"def {one}({two}, *{three}):\n    return {four}({five}={six})\n\n"
        f"def test_1():\n    {one} = {two}\n    def {three}({four}=1):\n        nonlocal {five}\n        {six}: int = 3\n"
        f"    assert f1({one}, {two}={three}, {four}={five})\n\n"
        f"def test_2():\n    global {one}\n    assert f1({two}, {three}={four})\n"
    )
    for test in read_model_tests(answer, "scale", variant).tests:
        compile(test.code, "<test>", "exec")
