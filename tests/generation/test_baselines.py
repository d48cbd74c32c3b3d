"""Prompts are complete, and the two baselines mean what their names say."""

import ast
import asyncio

import pytest

from dlbench.dataset.target import fenced
from dlbench.extraction import extract
from dlbench.generation import ReferenceModel, Request, StubModel
from dlbench.generation.techniques import TECHNIQUES, Question

from .test_sampling import instance


def render(name: str, context: str = "") -> str:
    [[system, user]] = TECHNIQUES["zero-shot"].render(Question(instance(name), "def f(x):", skeleton=context), ())
    assert (system["role"], user["role"]) == ("system", "user")
    assert "one Python code block" in system["content"]
    return user["content"]


def test_prompt_names_project_module_and_function() -> None:
    text = render("f")
    for part in ("Project: toy", "Module: toy\n", "function `f`", "Do it.", "```python\ndef f(x):\n```"):
        assert part in text
    assert "already has" not in text


def test_prompt_of_a_method_shows_class_and_context() -> None:
    text = render("Outer.Inner.m", "class Outer:\n    ...")
    assert "method `m` of the class `Outer.Inner`" in text
    assert "Module: toy\n" in text
    assert "```python\nclass Outer:\n    ...\n```" in text


REFERENCES = [
    "def f(x):\n    return x",
    'def f(x):\n    """Like\n\n    ```\n    f(1)\n    ```\n    """\n    return x',
    "    @property\n    def m(self):\n        return '</think>'",
    'def f(x):\n    return """\n````\n<think>\n"""',
]


@pytest.mark.parametrize("reference", REFERENCES)
def test_reference_survives_extraction(reference: str) -> None:
    """Otherwise the harness would fail the answer that is right by definition."""
    answer = asyncio.run(ReferenceModel(lambda _: reference).answer(Request("toy/toy.f", 0, [])))
    code = extract(answer.text, "f").code
    assert code is not None
    lead = len(reference) - len(reference.lstrip())
    assert code == "\n".join(line[lead:] for line in reference.split("\n"))


def test_strings_of_an_indented_reference_keep_their_value() -> None:
    """Indentation inside a string is part of its value."""
    reference = '    @static\n    def m():\n        x = """a\nb\n      c"""\n        return x'
    answer = asyncio.run(ReferenceModel(lambda _: reference).answer(Request("toy/toy.C.m", 0, [])))
    expected = '@static\ndef m():\n    x = """a\nb\n      c"""\n    return x'
    assert extract(answer.text, "C.m").code == expected
    assert extract(f"```python\n{reference}\n```", "C.m").code == expected


@pytest.mark.parametrize(
    "signature",
    ["def f(x):", "def f(x)", "    def f(\n        self,\n        x: int = 1,\n    ) -> int:\n", "async def f(x): "],
)
def test_stub_raises_under_the_target_s_signature(signature: str) -> None:
    answer = asyncio.run(StubModel(lambda _: signature).answer(Request("toy/toy.f", 0, [])))
    code = extract(answer.text, "f").code
    assert code is not None
    (function,) = ast.parse(code).body
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    assert ast.unparse(function.body[0]) == "raise NotImplementedError"


def test_fence_is_longer_than_any_inside() -> None:
    assert fenced("a = '`````'").startswith("``````python\n")
    assert fenced("a = '`'").startswith("```python\n")
