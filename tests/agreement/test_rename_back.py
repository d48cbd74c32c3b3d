"""Code under the variant's names becomes code under the project's, and nothing else changes."""

import ast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dlbench.agreement.rename_back import map_back
from dlbench.agreement.variants import Variant


def variant(function: str = "f1", instance: str = "toy/toy.core.scale", **parameters: str) -> Variant:
    return Variant(instance, 1, "x", "the task", function, parameters)


def run(code: str, **names: object) -> dict:
    space = dict(names)
    exec(compile(code, "<answer>", "exec"), space)
    return space


def test_function_parameters_and_recursive_keywords_are_renamed():
    code = "def f1(picture, depth=2):\n    return f1(picture=picture, depth=depth - 1) if depth else picture\n"
    back = map_back(code, variant(img="picture"))
    assert back == "def scale(img, depth=2):\n    return scale(img=img, depth=depth - 1) if depth else img\n"
    assert run(back)["scale"](img=3) == 3


def test_strings_attributes_and_keywords_of_other_calls_stay():
    code = 'def f1(picture):\n    """f1 of picture"""\n    return "picture f1", f"{picture}", x.picture, g(picture=1), x.f1\n'
    back = map_back(code, variant(img="picture"))
    assert back == (
        'def scale(img):\n    """f1 of picture"""\n    return "picture f1", f"{img}", x.picture, g(picture=1), x.f1\n'
    )


def test_names_of_other_scopes_stay():
    code = (
        "def f1(picture):\n    def inner(picture):\n        return picture\n    return inner(picture=picture), [picture for picture in ()]\n\n"
        "def helper(picture):\n    f1 = 3\n    return f1, picture\n"
    )
    back = map_back(code, variant(img="picture"))
    assert (
        "def inner(picture):\n        return picture\n    return inner(picture=img), [picture for picture in ()]"
        in back
    )
    assert "def helper(picture):\n    f1 = 3\n    return f1, picture" in back


def test_local_with_the_parameter_name_does_not_become_the_parameter():
    code = "def f1(picture):\n    img = picture + 1\n    return picture, img\n"
    assert run(map_back(code, variant(img="picture")))["scale"](img=1) == (1, 2)


def test_parameter_of_an_inner_function_does_not_collide():
    code = "def f1(picture):\n    def inner(img):\n        return picture, img\n    return inner(img=5)\n"
    assert run(map_back(code, variant(img="picture")))["scale"](1) == (1, 5)


def test_hidden_builtin_is_still_called():
    code = "def f1(chooser, items):\n    return list(filter(chooser, items))\n"
    assert run(map_back(code, variant(filter="chooser")))["scale"](filter=None, items=[0, 1]) == [1]


def test_hidden_global_is_still_found():
    code = "def f1(picture):\n    return img + picture\n"
    assert run(map_back(code, variant(img="picture")), img=10)["scale"](img=1) == 11


@pytest.mark.parametrize("quote", ["'", '"', "'''", '"""'])
def test_hidden_builtin_is_still_called_in_f_strings(quote):
    """Before Python 3.12 an f-string must not contain its own quotes: the solution would be a SyntaxError."""
    code = f"def f1(given, xs):\n    return f{quote}{{max(xs)}} of {{given}}{quote}\n"
    assert run(map_back(code, variant(max="given")))["scale"](max=1, xs=[2, 3]) == "3 of 1"


def test_conflicting_function_is_renamed():
    code = "def scale(x):\n    return x * 2\n\ndef f1(x):\n    return scale(x) + 1\n"
    assert run(map_back(code, variant()))["scale"](3) == 7


def test_conflicting_import_is_renamed():
    code = "import math as img\n\ndef f1(picture):\n    return img.floor(picture)\n"
    back = map_back(code, variant(img="picture"))
    assert run(back)["scale"](img=1.5) == 1
    assert "globals" not in back


def test_recursive_call_is_not_captured_by_a_local():
    code = "def f1(x, scale=1):\n    return f1(x - 1) * scale if x else scale\n"
    assert run(map_back(code, variant()))["scale"](2, 3) == 3


def test_methods_are_renamed_on_self_super_and_the_class():
    code = (
        "class Net(Base):\n    def f1(self, picture):\n        a = super().f1(picture=picture)\n        b = self.f1(picture=a)\n"
        "        return Net.f1(self, picture=b), other.f1(picture=b)\n\n    again = f1\n"
    )
    back = map_back(code, variant(instance="toy/toy.core.Net.step", by="picture"))
    assert back == (
        "class Net(Base):\n    def step(self, by):\n        a = super().step(by=by)\n        b = self.step(by=a)\n"
        "        return Net.step(self, by=b), other.f1(picture=b)\n\n    again = step\n"
    )


def test_method_without_its_class_is_renamed():
    back = map_back("def f1(self, picture):\n    return self.f1(picture=picture)\n", variant(img="picture"))
    assert back == "def scale(self, img):\n    return self.scale(img=img)\n"


def test_method_of_another_object_is_not_renamed():
    code = "def close(path):\n    file = open(path)\n    file.close()\n    return path\n"
    assert "file.close()" in map_back(code, variant("close"))


@pytest.mark.parametrize("body", ["match picture:\n        case [img, *picture]:\n            return img, picture", "def inner():\n        nonlocal picture\n        picture = [1, 2]\n    inner()\n    return picture[0], picture[1:]"], ids=["match", "nonlocal"])  # fmt: skip
def test_match_and_nonlocal_keep_their_meaning(body):
    assert run(map_back(f"def f1(picture):\n    {body}\n", variant(img="picture")))["scale"](img=[1, 2]) == (1, [2])


def test_partial_of_the_function_is_renamed():
    code = "from functools import partial\n\ndef f1(picture, k):\n    return partial(f1, picture=picture) if k else picture\n"
    assert run(map_back(code, variant(img="picture")))["scale"](img=3, k=1)(k=0) == 3


def test_answer_under_the_project_name_is_renamed_too():
    assert (
        map_back("def scale(picture):\n    return picture\n", variant(img="picture"))
        == "def scale(img):\n    return img\n"
    )


@pytest.mark.parametrize("code", ["def f1(picture:", "x = 1\n", "", "def other(picture):\n    return picture\n"], ids=["broken", "none", "empty", "other"])  # fmt: skip
def test_code_without_the_function_is_unchanged(code):
    assert map_back(code, variant(img="picture")) == code


@pytest.mark.parametrize(
    "body",
    [
        "return " + " + ".join(["picture"] * 900),
        "if picture:\n        pass\n" + "    elif picture:\n        pass\n" * 500,
    ],
    ids=["sum", "elif"],
)
def test_deeply_nested_code_is_unchanged(body):
    """One such answer must not end a run that is paid for."""
    code = f"def f1(picture):\n    {body}\n"
    assert map_back(code, variant(img="picture")) == code


def test_answer_to_the_original_is_unchanged():
    code = "def scale( img ):\n    return  img\n"
    assert map_back(code, variant("scale")) == code


_NAMES = st.sampled_from(["a", "b", "img", "picture", "f1", "scale", "x"])


@example(parameters=["a", "f1"], assigned=[("f1", "f1")])
@settings(max_examples=25)
@given(st.lists(_NAMES, min_size=1, max_size=4, unique=True), st.lists(st.tuples(_NAMES, _NAMES), max_size=3))
def test_renaming_preserves_the_result_for_any_names(parameters, assigned):
    """The same arguments give the same result before and after, by position and by keyword."""
    lines = [f"    {target} = ({source!r}, {source if source in parameters else 0})" for target, source in assigned]
    result = ", ".join(dict.fromkeys([*parameters, *(target for target, _ in assigned)]))
    code = f"def f1({', '.join(parameters)}):\n" + "\n".join([*lines, f"    return [{result}]\n"])
    shown = variant("f1", **({"img": "picture"} if "picture" in parameters and "img" not in parameters else {}))
    back = map_back(code, shown)
    ast.parse(back)
    values = range(len(parameters))
    expected = run(code)["f1"](*values)
    assert run(back)["scale"](*values) == expected
    names = [{"picture": "img"}.get(name, name) if shown.parameters else name for name in parameters]
    assert run(back)["scale"](**dict(zip(names, values, strict=True))) == expected
