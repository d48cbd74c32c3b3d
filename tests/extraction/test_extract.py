"""Extraction returns the code that a model meant, whole and unchanged, from any surrounding text."""

import ast
import textwrap
import threading
import time
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.extraction import extract

F = "def f(x):\n    return x + 1"
DRAFT = "def f(x):\n    return 0"
HELPER = "def g():\n    pass"
SKETCH = "def g(x):\n    ...("
BROKEN = "def f(x)\n    return x"
DIFF = "- a\n+ b"
METHOD = "class C:\n    def m(self):\n        return 1"


def fenced(code: str, info: str = "python", mark: str = "```") -> str:
    return f"{mark}{info}\n{code}\n{mark}"


TAKEN = {
    "plain fence": (fenced(F), F),
    "fence without a language": (fenced(F, ""), F),
    "py": (fenced(F, "py"), F),
    "Python3": (fenced(F, "Python3"), F),
    "python3.11": (fenced(F, "python3.11"), F),
    "pandoc attributes": (fenced(F, "{.python .numberLines}"), F),
    "title after the language": (fenced(F, 'python title="a.py"'), F),
    "file name as language": (fenced(F, "src/model.py"), F),
    "unknown language": (fenced(F, "starlark"), F),
    "tildes": (fenced(F, "python", "~~~"), F),
    "long fence": (fenced(F, "python", "`````"), F),
    "prose around": (f"Sure! Here you are:\n\n{fenced(F)}\n\nIt adds one. Don't forget to test it.", F),
    "CRLF": (fenced(F).replace("\n", "\r\n"), F),
    "lone CR": (fenced(F).replace("\n", "\r"), F),
    "BOM": ("\ufeff" + fenced(F), F),
    "BOM without a fence": ("\ufeff" + F, F),
    "fence in a list": ("1. Write:\n\n" + textwrap.indent(fenced(F), "   ") + "\n2. Done.", F),
    "fence in a deep list": ("- a\n  - b\n" + textwrap.indent(fenced(F), "      "), F),
    "fence after prose on its line": (f"Here: ```python\n{F}\n```", F),
    "closing fence stuck to the code": (f"```python\n{F}```", F),
    "closing fence longer": (f"```python\n{F}\n`````", F),
    "whole answer in a markdown fence": (f"```markdown\nHere:\n```python\n{F}\n```\n```", F),
    "longer markdown fence": (f"````markdown\nHere:\n```python\n{F}\n```\n````", F),
    "think": (f"<think>\nFirst:\n{fenced(DRAFT)}\n</think>\n{fenced(F)}", F),
    "closing tag right after a fence": (f"<think>\nDraft:\n```python\n{DRAFT}\n```</think>\n{fenced(F)}", F),
    "thinking, capital": (f"<Thinking>hm</Thinking>\n{fenced(F)}", F),
    "reasoning with attributes": (f'<reasoning effort="high">hm\n</reasoning>{fenced(F)}', F),
    "closing tag only": (f"let me see\n{fenced(DRAFT)}\nno.\n</think>\n{fenced(F)}", F),
    "two thoughts": (f"<think>a</think>\nok\n<think>b</think>\n{fenced(F)}", F),
    "code before an endless thought": (f"{fenced(F)}\n<think>but maybe", F),
    "tag in a string": (
        fenced("def f(x):\n    return x.split('</think>')[-1]"),
        "def f(x):\n    return x.split('</think>')[-1]",
    ),
    "tag in a comment of the code": (
        fenced("def f(x):\n    # after </think>\n    return x"),
        "def f(x):\n    # after </think>\n    return x",
    ),
    "tag on a line of a template": (
        fenced('T = """\n<think>\n"""\ndef f(x):\n    return T + x'),
        'T = """\n<think>\n"""\ndef f(x):\n    return T + x',
    ),
    "tag in unfenced code": (
        'T = """\n<think>\n"""\ndef f(x):\n    return T',
        'T = """\n<think>\n"""\ndef f(x):\n    return T',
    ),
    "two blocks": (f"{fenced('import math')}\nthen\n{fenced(F)}", f"import math\n\n{F}"),
    "draft and final": (
        f"{fenced(DRAFT)}\nbetter:\n{fenced(F)}",
        f"{DRAFT}\n\n{F}",
    ),
    "helper in another block": (f"{fenced(HELPER)}\n{fenced(F)}", f"{HELPER}\n\n{F}"),
    "bash beside": (f"{fenced('pip install torch', 'bash')}\n{fenced(F)}", F),
    "console beside": (f"{fenced('x = 1', 'console')}\n{fenced(F)}", F),
    "json beside": (f"{fenced(F)}\n{fenced('{}', 'json')}", F),
    "text that parses beside": (f"{fenced(F)}\n{fenced('a = 1', 'text')}", F),
    "diff beside": (f"{fenced(DIFF, 'diff')}\n{fenced(F)}", F),
    "output without a language beside": (f"{fenced(F)}\nprints\n{fenced('42', '')}", F),
    "broken sketch beside": (f"{fenced(SKETCH)}\n{fenced(F)}", F),
    "prompts in a docstring": (
        fenced('def f(x):\n    """\n    >>> f(1)\n    2\n    """\n    return x + 1'),
        'def f(x):\n    """\n    >>> f(1)\n    2\n    """\n    return x + 1',
    ),
    "fence in a docstring": (
        fenced('def f(x):\n    """Like\n\n    ```python\n    f(1)\n    ```\n    """\n    return x + 1'),
        'def f(x):\n    """Like\n\n    ```python\n    f(1)\n    ```\n    """\n    return x + 1',
    ),
    "no fence": (F, F),
    "no fence, prose before and after": (f"Here is the function:\n\n{F}\n\nIt adds one (to x).", F),
    "no fence, decorated": (f"Sure:\n\n@torch.no_grad()\n{F}\nThat is all.", f"@torch.no_grad()\n{F}"),
    "no fence, imports": (f"Sure, here:\n\nimport math\n\n{F}\n\nThat is all.", f"import math\n\n{F}"),
    "no fence, indented": ("Here it is:\n\n" + textwrap.indent(F, "    ") + "\n\nThat is all.", F),
    "no fence, async": ("Look here:\nasync def f(x):\n    return x\nIt waits.", "async def f(x):\n    return x"),
    "tabs": (fenced("def f(x):\n\treturn x + 1"), "def f(x):\n\treturn x + 1"),
    "tabs and spaces": (
        fenced("def f(x):\n    if x:\n\treturn 1\n    return 2").replace("\treturn 1", "\t\treturn 1"),
        "def f(x):\n    if x:\n        return 1\n    return 2",
    ),
    "tab means four": (
        fenced("def f(x):\n\tx += 1\n    return x"),
        "def f(x):\n    x += 1\n    return x",
    ),
    "non-breaking space in a string": (fenced("def f(x):\n    return '\u00a0'"), "def f(x):\n    return '\u00a0'"),
    "curly quotes inside a string": (fenced("def f(x):\n    return '“a”'"), "def f(x):\n    return '“a”'"),
    "bare body, indented": (fenced("    y = x + 1\n    return y"), "y = x + 1\nreturn y"),
    "bare body under a comment at the margin": (fenced("# so\n    y = x\n    return y"), "# so\ny = x\nreturn y"),
    "bare body, dedented": (fenced("y = x + 1\nreturn y"), "y = x + 1\nreturn y"),
    "bare body, first line lost its indentation": (fenced("y = x + 1\n    return y"), "y = x + 1\nreturn y"),
    "bare body, one line": (fenced("return x + 1"), "return x + 1"),
    "bare body without a fence": ("    y = x + 1\n    return y", "y = x + 1\nreturn y"),
    "bare generator": (fenced("yield x"), "yield x"),
    "lambda": (fenced("f = lambda x: x + 1"), "f = lambda x: x + 1"),
    "invalid escape": (fenced("def f(x):\n    return '\\d'"), "def f(x):\n    return '\\d'"),
    "form feed": (fenced(f"import math\n\x0c\n{F}"), f"import math\n\x0c\n{F}"),
    "only a class without the target": (fenced("class D:\n    y = 1"), "class D:\n    y = 1"),
    "other code only": (fenced("x = 1\nprint(x)"), "x = 1\nprint(x)"),
}


@pytest.mark.parametrize("shape", TAKEN)
def test_code_is_extracted(shape: str) -> None:
    """A simpler extractor loses or changes each of these right answers."""
    answer, code = TAKEN[shape]
    found = extract(answer, "f")
    assert found.code is not None, found.reason
    assert found.code.rstrip() == code.rstrip()


NOTHING = {
    "empty": "",
    "blank": " \n\t\n",
    "one word": "Sure",
    "keyword": "pass",
    "return alone": "return",
    "number": "42",
    "prose": "I am sorry, but I cannot write this function.",
    "prose that parses": "Note: this",
    "prose that parses as a statement": "global warming",
    "prose with words of Python": "from here on, import what you need.\nclass matters.",
    "a list": "- one\n- two",
    "fenced number": fenced("42"),
    "fenced call": fenced("print('hello')"),
    "fenced pass": fenced("pass"),
    "fenced prose": fenced("I would start with a loop", ""),
    "empty fence": "```python\n```",
    "fence that opens at the end": "Here:\n```python",
    "only bash": fenced("pip install torch", "bash"),
    "only json": fenced('{"a": 1}', "json"),
    "json without a language": fenced('{"a": 1}', ""),
    "endless thought": f"<think>\nlet me see\n{fenced(F)}",
    "only thought": f"<think>\n{fenced(F)}\n</think>",
    "NUL": "\0",
    "surrogate": "\ud800",
}


@pytest.mark.parametrize("shape", NOTHING)
def test_text_without_code_gives_a_reason(shape: str) -> None:
    """Prose must not become a syntax error, nor a draft the answer."""
    found = extract(NOTHING[shape], "f")
    assert found.code is None
    assert found.reason


def test_endless_reasoning_is_a_truncated_answer() -> None:
    assert extract("<think>\nhm", "f").truncated


TRUNCATED = {
    "cut after the target": (f"```python\n{F}\n\n\ndef g(y):\n    return (y", "f", F),
    "cut in a second block": (f"{fenced(F)}\nTest:\n```python\nimport a\nassert f(", "f", f"{F}\n\nimport a"),
    "cut at the end of the target": (f"```python\n{F}", "f", F),
    "cut in the target": (
        "```python\nimport a\n\ndef f(x):\n    return (x",
        "f",
        "import a\n\ndef f(x):\n    return (x",
    ),
    "cut in a body": ("```python\n    y = x\n    return (y", "f", "    y = x\n    return (y"),
    "cut in the next method": (f"```python\n{METHOD}\n\n    def n(self):\n        return (", "C.m", METHOD),
    "cut in the method": (f"```python\n{METHOD} + (", "C.m", f"{METHOD} + ("),
    "cut in an else": ("```python\nif a:\n    def f(x):\n        pass\nelse:\n    def f(x", "f", None),
}


@pytest.mark.parametrize("shape", TRUNCATED)
def test_cut_answers_are_marked_as_truncated(shape: str) -> None:
    """A cut after the target costs nothing; a cut inside it stays a visible syntax error."""
    answer, qualname, code = TRUNCATED[shape]
    found = extract(answer, qualname)
    assert found.truncated
    assert found.code is not None
    if code is None:
        assert found.code == answer.partition("\n")[2]
    else:
        assert found.code.rstrip() == code


def test_code_that_does_not_parse_is_returned_unchanged() -> None:
    """Judged as `syntax_error`, not as `no_code`: the model did answer with code."""
    for answer in (fenced(BROKEN), f"Here:\n\n{BROKEN}", fenced(BROKEN, "")):
        found = extract(answer, "f")
        assert found.code is not None
        assert found.code.startswith("def f(x)\n")
        assert not found.truncated


def test_broken_target_is_not_hidden_by_whole_examples() -> None:
    found = extract(f"{fenced(BROKEN)}\n{fenced('y = f(1)')}", "f")
    assert found.code == BROKEN


@pytest.mark.parametrize(
    ("code", "qualname"),
    [
        (METHOD, "C.m"),
        ("def m(self):\n    return 1", "C.m"),
        ("class O:\n    class C:\n        def m(self):\n            return 1", "O.C.m"),
        ("class C:\n    @property\n    def m(self):\n        return 1", "O.C.m"),
        ("class C:\n    m = property(lambda self: 1)", "C.m"),
        ("try:\n    import a\nexcept ImportError:\n    a = None\n\n\ndef m(self):\n    return a", "C.m"),
    ],
)
def test_methods_with_and_without_their_class(code: str, qualname: str) -> None:
    assert extract(fenced(code), qualname).code == code


def test_nothing_is_printed_and_no_warning_escapes(capfd: pytest.CaptureFixture[str]) -> None:
    """A warning about a model's string escapes on our terminal is noise that nobody can fix."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        extract(fenced("def f(x):\n    return '\\d' is 1"), "f")
    assert capfd.readouterr() == ("", "")


def test_threads_leave_the_warning_filters_unchanged() -> None:
    before = list(warnings.filters)
    threads = [threading.Thread(target=lambda: [extract(fenced(F), "f") for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(warnings.filters) == before


@pytest.mark.parametrize(
    "answer",
    [
        fenced("def f(x):\n    return " + "(" * 5000 + ")" * 5000),
        fenced("f = " + "-" * 100_000 + "1"),
        fenced("f = " + "+".join("x" * 1 for _ in range(50_000))),
        fenced("x = '\0'"),
        fenced("f = " + "9" * 10_000),
        "def f(\n" * 3000,
        "```\n" * 3000,
        "```python\ndef f(x):\n" * 1000,
        "<think>" * 3000,
        "</think>\n" * 3000,
        "import a\nprose here\n" * 2000,
        F + "\n" + "    return x\nso it is\n" * 2000,
        "<<<<<<< SEARCH\n" * 1500,
        "<pre>\n" * 500,
        "'\"" * 5000 + "\u00a0“",
        "'''\u00a0" * 3001,
    ],
    ids=range(16),
)
def test_hostile_answers_are_read_quickly(answer: str) -> None:
    """A model that repeats itself forever must not stop the run."""
    began = time.monotonic()
    extract(answer, "f")
    assert time.monotonic() - began < 10


@settings(max_examples=300)
@given(st.text(), st.sampled_from(["f", "C.m", "A.B.c"]))
def test_never_raises_on_any_text(answer: str, qualname: str) -> None:
    found = extract(answer, qualname)
    assert (found.code is None) <= bool(found.reason)


PIECES = [
    "```", "```python", "~~~", "````", "\n", "    ", "\t", "def f(x):", "return x", "class C:", "<think>", "</think>",
    ">>> ", "... ", "“", "'", '"""', "(", "\\", "\0", "\ud800", "\u00a0", "import a", "@d", "x = 1", "Sure", "\r",
]  # fmt: skip


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_never_raises_on_mixed_up_markup(answer: str) -> None:
    extract(answer, "f")


NAMES = st.sampled_from(["a", "b", "f", "norm"])
STATEMENTS = st.one_of(
    st.builds("def {}(x):\n    return {}".format, NAMES, NAMES),
    st.builds("class {}:\n    def m(self):\n        yield {}".format, NAMES, NAMES),
    st.builds("@{}\ndef {}():\n    '''Doc.\n\n    >>> 1\n    '''".format, NAMES, NAMES),
    st.builds("import {}".format, NAMES),
    st.builds("{} = {!r}".format, NAMES, st.text(st.characters(exclude_categories=["Cs"]), max_size=20)),
    st.builds("# {}".format, st.text("abc “’\u00a0", max_size=20)),  # noqa: RUF001
    st.builds("if {}:\n    {} = 1\nelse:\n    pass".format, NAMES, NAMES),
)
MODULES = st.builds(
    lambda first, rest: "\n".join([*rest, first]),
    st.builds("def f(x):\n    return {}".format, NAMES),
    st.lists(STATEMENTS, max_size=6),
)
PROSE = st.text(st.characters(exclude_characters="`~<", exclude_categories=["Cs"]), max_size=200)


@settings(max_examples=300)
@given(PROSE, MODULES, PROSE, st.sampled_from(["python", "py", "Python3", ""]), st.sampled_from(["```", "~~~", "````"]))
def test_fenced_module_is_returned_unchanged(before: str, module: str, after: str, info: str, mark: str) -> None:
    ast.parse(module)
    found = extract(f"{before}\n{fenced(module, info, mark)}\n{after}", "f")
    assert found.code is not None
    assert found.code.rstrip() == module.rstrip()
    assert not found.truncated


@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u3000"])
def test_spaces_that_python_rejects_are_repaired(space):
    code = f"def f(x):\n{space * 4}return{space}x + 1\u200b\n"
    found = extract(f"```python\n{code}```", "f")
    assert found.code is not None
    assert found.code.strip() == "def f(x):\n    return x + 1"
