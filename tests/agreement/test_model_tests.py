"""Of what a model writes as tests, exactly the complete ones that call the target are taken, and each stands alone."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.agreement.model_tests import MAX_TESTS, count_distinct, read_model_tests
from dlbench.agreement.model_tests.rename import restore_names
from dlbench.agreement.requests import build_test_prompt
from dlbench.agreement.variants import Variant


def scale(values, factor=2):
    if factor == 0:
        raise ValueError("zero")
    return [value * factor for value in values]


def run(check, **names):
    exec(compile(check.code, "<check>", "exec"), {"scale": scale, **names})


def read(text, qualname="scale"):
    return read_model_tests(text, qualname)


def test_each_test_function_is_one_check_that_runs_alone():
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
    found = read(answer).checks
    assert len(found) == 2
    for check in found:
        run(check)
        assert "UNUSED" not in check.code
        assert "toy.core" not in check.code
    assert "helper" not in found[0].code
    assert "DATA" not in found[1].code


def test_assertions_at_the_margin_are_checks_with_what_stands_above_them():
    answer = """
x = [1]
assert scale(x) == [2]
x = [3]
x.append(4)
assert scale(x) == [6, 8], "a message"
y = scale([1])
assert y[0] == 2
"""
    found = read(answer).checks
    assert len(found) == 3
    for check in found:
        run(check)
    assert "append" not in found[0].code


def test_values_of_frameworks_and_their_ways_of_comparing_are_taken():
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
    found = read(answer).checks
    assert len(found) == 4
    assert all("manual_seed" in check.code for check in found)
    assert "import torch" in found[0].code
    assert "jax" not in found[1].code


def test_a_raise_that_is_expected_is_a_check():
    answer = "import pytest\nwith pytest.raises(ValueError):\n    scale([1], 0)\n"
    (check,) = read(answer).checks
    run(check)


def test_a_table_of_cases_is_as_many_checks_as_it_has_rows():
    answer = """
import pytest

@pytest.mark.parametrize("values, expected", [([1], [2]), ([2], [5]), pytest.param([], [], id="none")])
@pytest.mark.slow
def test_scale(values, expected):
    assert scale(values) == expected
"""
    first, wrong, last = read(answer).checks
    run(first)
    run(last)
    with pytest.raises(AssertionError):
        run(wrong)


def test_tests_in_classes_run_with_what_sets_them_up():
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
    one, two, wrong = read(answer).checks
    run(one)
    run(two)
    with pytest.raises(AssertionError):
        run(wrong)


def test_what_the_answer_cuts_off_costs_only_itself():
    answer = "```python\ndef test_1():\n    assert scale([1]) == [2]\n\ndef test_2():\n    assert scale([1, "
    assert len(read(answer).checks) == 1


def test_prose_between_the_tests_costs_nothing():
    answer = "Here is one:\nassert scale([1]) == [2]\nAnd here's another one:\nassert scale([2]) == [4]\n"
    assert len(read(answer).checks) == 2


def test_the_models_own_copy_of_the_target_is_not_what_is_tested():
    test = "\n\ndef test_1():\n    assert scale([1]) == [2]\n"
    for own in ("def scale(values, factor=2):\n    return 'mine'", "scale = lambda values, factor=2: 'mine'"):
        (check,) = read(own + test).checks
        run(check)


def test_an_import_under_another_name_is_the_target_and_what_comes_with_it_stays():
    answer = "from textwrap import scale as grow, dedent\n\ndef test_1():\n    assert grow([len(dedent('a'))]) == [2]\n"
    (check,) = read(answer).checks
    run(check)


def test_an_import_of_the_target_inside_of_a_test_is_not_taken_along_either():
    """From a module that nobody has it would fail everywhere, and from a library it would test the library."""
    for module in ("your_module", "numpy", "toy.core"):
        (check,) = read(f"def test_1():\n    from {module} import scale\n    assert scale([1]) == [2]\n").checks
        run(check)
    (alone,) = read("def test_1():\n    assert scale([1]) == [2]\n").checks
    assert check.id == alone.id
    (check,) = read(
        "def test_1():\n    from your_module import floor, scale as grow\n    assert grow([1]) == [2]\n"
    ).checks
    assert "from your_module import floor" in check.code
    assert "grow = scale" in check.code


def test_a_library_s_function_that_the_target_is_compared_with_stays_the_library_s():
    """Taken for the target itself, the test would compare it with itself and pass whatever it does."""
    answer = "from scipy import scale as expected\n\ndef test_1():\n    assert scale([1]) == expected([1])\n"
    assert "from scipy import scale as expected" in read(answer).checks[0].code
    own = Variant("scipy/scipy.core.scale", 0, "original", "…", "scale")
    assert "expected = scale" in read_model_tests(answer, "scale", own).checks[0].code


def test_of_a_test_that_defines_a_generator_inside_nothing_is_lost():
    answer = "def test_1():\n    def make():\n        yield 1\n    assert scale(list(make())) == [2]\n"
    run(read(answer).checks[0])


def test_what_is_more_than_is_taken_is_said():
    many = "".join(f"def test_{number}():\n    assert scale([{number}])\n\n" for number in range(23))
    found = read(many)
    assert len(found.checks) == MAX_TESTS == 20
    assert [one.partition(":")[0] for one in found.dropped] == ["test_20", "test_21", "test_22"]
    table = f"@pytest.mark.parametrize('x', {[*range(30)]})\ndef test_1(x):\n    assert scale([x])\n"
    assert len(read(table).checks) == MAX_TESTS
    assert "at most" in read(table).dropped[0]


def test_tables_that_would_cross_into_billions_of_cases_are_read_at_once():
    tables = "".join(f"@pytest.mark.parametrize('x{number}', {[*range(100)]})\n" for number in range(9))
    names = ", ".join(f"x{number}" for number in range(9))
    assert len(read(f"{tables}def test_1({names}):\n    assert scale([x0])\n").checks) == MAX_TESTS


@pytest.mark.parametrize(
    "call",
    ["toy.core.scale([1])", "pytest.raises(ValueError, toy.core.scale, [1])", "[f([1]) for f in (scale,)]"],
)
def test_a_call_by_path_by_hand_or_from_a_list_is_one(call):
    assert read(f"import toy.core\n\ndef test_1():\n    assert {call}\n").checks
    assert read("def test_1():\n    f = scale\n    assert f([1])\n").checks


def test_a_library_s_function_of_the_same_name_is_not_the_target():
    for line in ("np.scale([1])", "np.ma.scale([1])", "callable(scale)"):
        assert not read(f"import numpy as np\n\ndef test_1():\n    assert {line}\n").checks
    keras = Variant("keras/keras.ops.scale", 0, "original", "…", "scale")
    assert read_model_tests("import keras\n\ndef test_1():\n    assert keras.ops.scale([1])\n", "scale", keras).checks


def test_data_that_is_called_like_the_method_stays():
    (check,) = read("step = 1\n\ndef test_1():\n    assert Counter().step(step) == 1\n", "Counter.step").checks
    assert "step = 1" in check.code


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("def test_1():\n    assert 1 == 1\n", "does not call"),
        ("def test_1():\n    assert callable(scale)\n", "does not call"),
        ("def test_1():\n    assert np.ones(3).scale() == 1\n", "does not call"),
        ("def test_1():\n    scale = lambda x: 7\n    assert scale(1) == 7\n", "defines scale itself"),
        ("def test_1(tmp_path):\n    assert scale(tmp_path)\n", "wants tmp_path"),
        ("def test_1():\n    for x in (1, 2):\n        yield scale, x\n", "generator"),
        ("def test_1():\n    assert scale([1]) == [2\n\ndef helper():\n    return 1\n", "cut off, or does not compile"),
        ("class TestScale:\n    def test_1(self):\n        assert scale(\n", "TestScale: it is cut off"),
        ("def test_1():\n    assert scale([1])\n    continue\n", "test_1: it is cut off, or does not compile"),
        ("async def test_1():\n    assert scale([1])\n", "coroutine"),
        ("@pytest.mark.skip\ndef test_1():\n    assert scale([1])\n", "marked skip"),
        ("@pytest.mark.parametrize('x', make())\ndef test_1(x):\n    assert scale(x)\n", "cannot be read"),
        ("@pytest.mark.parametrize('x', [1, *MORE])\ndef test_1(x):\n    assert scale(x)\n", "cannot be read"),
        (
            "@pytest.mark.parametrize('x, y', [(1, *MORE)])\ndef test_1(x, y):\n    assert scale(x) == y\n",
            "cannot be read",
        ),
    ],
    ids=[
        "other",
        "looked at",
        "another's",
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
def test_what_cannot_be_used_is_dropped_with_the_reason(answer, reason):
    found = read(answer)
    assert found.checks == []
    assert reason in found.dropped[0]


def test_a_method_is_called_by_its_name_and_a_framework_hook_by_its_class():
    assert read("assert Counter().step() == 1\n", "Counter.step").checks
    assert not read("assert Counter().count == 1\n", "Counter.step").checks
    assert read("assert Loss()(1) == 1\n", "Loss.forward").checks
    assert read("assert Loss(2).x == 2\n", "Loss.__init__").checks


def test_two_checks_that_differ_in_names_and_messages_only_are_one():
    one = 'def test_a():\n    """Says."""\n    x = [1]\n    assert scale(x) == [2], "no"\n'
    other = "def test_b():\n    values = [1]\n    assert scale(values) == [2]\n"
    different = "def test_c():\n    values = [1]\n    assert scale(values) == [3]\n"
    checks = read(one + other + different).checks
    assert list(count_distinct(checks).values()) == [2, 1]
    assert [check.id for check in read(one + other + different).checks] == [check.id for check in checks]


def test_the_prompt_asks_for_as_many_tests_as_wanted_and_for_no_solution():
    system, user = build_test_prompt("the task", "scale", 7)
    assert "7 test functions" in user["content"]
    assert user["content"].startswith("the task")
    assert "Do not implement" in system["content"]


def test_tests_of_a_renamed_function_call_it_by_its_own_name_and_keywords():
    variant = Variant("toy/toy.core.scale", 3, "name_neutral", "…", "f1", {"values": "a", "factor": "b"})
    answer = "from somewhere import f1\nscale = 3\nassert f1(a=[1], b=scale) == [3]\nassert f1([1], b=2) == [2]\n"
    for check in read_model_tests(answer, "scale", variant).checks:
        run(check)
    method = Variant("toy/toy.core.Counter.step", 1, "name_neutral", "…", "f1")
    (check,) = read_model_tests("assert Counter().f1() == 1\n", "Counter.step", method).checks
    assert ".step()" in check.code


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
def test_keywords_of_calls_that_lead_to_the_target_are_its_own(qualname, call, becomes):
    name = qualname.rpartition(".")[2]
    shown = Variant(f"toy/toy.core.{qualname}", 1, "parameter_names", "…", name, {"a": "b"})
    (statement,) = restore_names(ast.parse(call).body, shown)
    assert ast.unparse(statement) == becomes


def test_a_parameter_of_a_helper_makes_room_with_its_uses():
    variant = Variant("toy/toy.core.scale", 3, "name_neutral", "…", "f1")
    answer = "def first(scale):\n    return scale[0]\n\ndef test_1():\n    assert first(f1([1])) == 2\n"
    (check,) = read_model_tests(answer, "scale", variant).checks
    run(check)
    by_keyword = answer.replace("first(f1([1]))", "first(scale=f1([1]))")
    run(read_model_tests(by_keyword, "scale", variant).checks[0])
    table = "@pytest.mark.parametrize('scale, more', [(1, 2)])\ndef test_1(scale, more):\n    assert f1([scale]) == [more]\n"
    run(read_model_tests(table, "scale", variant).checks[0])


@pytest.mark.parametrize(
    "answer",
    [
        "def helper(scale, scale_):\n    return scale, scale_\n\ndef test_1():\n    assert helper(f1([1]), 3) == ([2], 3)\n",
        "def test_1():\n    scale = 1\n    def more():\n        nonlocal scale\n        scale += 1\n    more()\n    assert f1([1]) == [scale]\n",
        "def test_1():\n    global scale\n    scale = 2\n    assert f1([1]) == [scale]\n",
    ],
    ids=["taken", "nonlocal", "global"],
)  # fmt: skip
def test_a_name_that_makes_room_takes_nobody_else_s(answer):
    variant = Variant("toy/toy.core.scale", 3, "name_neutral", "…", "f1")
    (check,) = read_model_tests(answer, "scale", variant).checks
    run(check)


def test_what_parses_and_cannot_be_run_is_left_out():
    deep = "x = " + "-" * 3000 + "1\n"
    answer = "return 1\nyield 2\n" + deep + "def test_1():\n    assert scale([1]) == [2]\n"
    (check,) = read(answer).checks
    run(check)


def test_a_test_that_repeats_itself_too_deeply_costs_only_itself():
    chain = "    if x:\n        pass\n" + "    elif x:\n        pass\n" * 400
    answer = f"def test_1():\n    x = f1([1])\n{chain}\ndef test_2():\n    assert f1([1]) == [2]\n"
    found = read_model_tests(answer, "scale", Variant("toy/toy.core.scale", 3, "name_neutral", "…", "f1"))
    run(found.checks[0])
    assert found.dropped == ["test_1: it is cut off, or does not compile"]


@given(st.text(max_size=300))
def test_whatever_is_answered_it_is_read_without_an_error(text):
    for answer in (text, f"```python\n{text}\n```", f"def test_1():\n    assert scale({text})\n"):
        for check in read(answer).checks:
            compile(check.code, "<check>", "exec")


NAMES = st.sampled_from(["scale", "f1", "scale_", "a", "values"])


@given(st.lists(NAMES, min_size=6, max_size=6))
def test_whatever_names_a_test_uses_it_is_read_without_an_error(names):
    """One answer that cannot be read would end a run that is paid for."""
    variant = Variant("toy/toy.core.scale", 3, "name_neutral", "…", "f1", {"values": "a"})
    one, two, three, four, five, six = names
    answer = (
        f"def {one}({two}, *{three}):\n    return {four}({five}={six})\n\n"
        f"def test_1():\n    {one} = {two}\n    def {three}({four}=1):\n        nonlocal {five}\n        {six}: int = 3\n"
        f"    assert f1({one}, {two}={three}, {four}={five})\n\n"
        f"def test_2():\n    global {one}\n    assert f1({two}, {three}={four})\n"
    )
    for check in read_model_tests(answer, "scale", variant).checks:
        compile(check.code, "<check>", "exec")
