"""A right answer is extracted from every shape that a careful reader would accept."""

import ast
import asyncio
import inspect
import json
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.execution.answer import read_answer
from dlbench.execution.locate import at, render
from dlbench.execution.splice import splice
from dlbench.extraction import Extraction, extract, syntax
from tests.extraction.answer_shapes import (
    AXES,
    BODY,
    CLASS,
    CODE,
    DRAFT,
    FUNCTION,
    IMPORTS,
    NEEDED,
    NEEDY,
    PACKING,
    SPEECH,
    SPELLING,
    Code,
    Shape,
    fenced,
    shapes,
)

USAGE = "print(clip([1, 2]))\nresult = clip([3])"
SHAPES = list(shapes())
EVERY = 4  # one shape in so many is tested on every change, all of them by `make test-full`


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


MODULE = """\
from types import SimpleNamespace

torch = SimpleNamespace(no_grad=lambda: lambda function: function)


def cache(function):
    return function


def clip(values, low=0, high=10):
    return "the project's own"


class Box:
    def clip(self, values, low=0, high=10):
        return "the project's own"


class Outer:
    class Box:
        def clip(self, values, low=0, high=10):
            return "the project's own"
"""


def run_spliced(code: str, qualname: str) -> object:
    """The result of the module's function after splicing the answer."""
    module: dict[str, Any] = {"__name__": "module"}
    exec(splice(MODULE, qualname, code, module="module").source, module)
    function = module[qualname.split(".")[0]]
    for name in qualname.split(".")[1:]:
        function = getattr(function, name)
    values = [-4, 5, 12]
    found = function(None, values) if "." in qualname else function(values)
    return asyncio.run(found) if inspect.iscoroutine(found) else found


def check(shape: Shape) -> None:
    found = extract(shape.answer, shape.code.qualname)
    if shape.refused is not None:
        assert found.code is None
        assert shape.refused in found.reason
        return
    assert found.code is not None, found.reason
    assert taken(found.code, shape.code) == normalised(shape.code.means)
    assert run_spliced(found.code, shape.code.qualname) == ["low", {"value": 1, "rest": 5}, {"value": 0, "rest": 12}]
    assert found.other_names == ()
    assert extract(found.code, shape.code.qualname).code == found.code


@pytest.mark.parametrize("shape", SHAPES[::EVERY], ids=lambda shape: shape.name)
def test_definition_is_extracted_from_every_nth_shape(shape: Shape) -> None:
    check(shape)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", [shape for place, shape in enumerate(SHAPES) if place % EVERY], ids=lambda shape: shape.name
)
def test_definition_is_extracted_from_the_other_shapes(shape: Shape) -> None:
    check(shape)


STUB = "def clip(values, low=0, high=10):\n    raise NotImplementedError('to do')"
EXCERPT = "def clip(values, low=0, high=10):\n    ...\n    for value in values:\n        ...\n    return kept"
UNCHANGED = "def clip(values, low=0, high=10):\n    # ... unchanged ...\n    return kept"
SPECIAL = {
    "code without a fence, an example with one": f"{FUNCTION}\n\nUsage:\n{fenced(USAGE)}",
    "a closing fence alone, then an example": f"{FUNCTION}\n```\n\nExample:\n{fenced(USAGE)}",
    "a block that was left open, then another": f"```python\n{DRAFT}\n\nWait, better:\n\n{fenced(FUNCTION)}",
    "a fence closed by another opening": f"```python\n{FUNCTION}\n```python\n",
    "a fence in a fence": f"```python\n{fenced(FUNCTION)}\n```",
    "two versions": f"{fenced(DRAFT)}\nAlternatively:\n{fenced(FUNCTION)}",
    "the answer, then its signature again": f"{fenced(FUNCTION)}\nIt is called so:\n{fenced('def clip(values, low=0, high=10): ...')}",
    "the answer, then what it replaces": f"{fenced(FUNCTION)}\nThis replaces:\n{fenced(STUB)}",
    "the answer, then an excerpt": f"{fenced(FUNCTION)}\nThe loop is what matters:\n{fenced(EXCERPT)}",
    "the answer, then its changed lines": f"{fenced(FUNCTION)}\nOnly this changed:\n{fenced(UNCHANGED)}",
    "what it replaces in a fence, the answer without one": f"You have:\n\n{fenced(STUB)}\n\nI'd write:\n\n{FUNCTION}",
    "what it replaces, the answer in a block of text": f"{fenced(STUB)}\n\n{fenced(FUNCTION, 'text')}",
    "what it replaces, then JSON": f"{fenced(STUB)}\n\n{json.dumps({'code': FUNCTION})}",
    "what it replaces, then a diff": f"{fenced(STUB)}\n\n{fenced(textwrap.indent(FUNCTION, '+'), 'diff')}",
    "the signature, then the body": f"{fenced(FUNCTION.split(chr(10))[0])}\nand in it:\n{fenced(BODY)}",
    "the empty function, then the body": f"{fenced(STUB)}\nwith this body:\n{fenced(textwrap.dedent(BODY))}",
    "two JSON strings": json.dumps({"draft_code": DRAFT, "code": FUNCTION}),
    "JSON with the old code after the new": json.dumps({"new_string": FUNCTION, "old_string": DRAFT}),
    "JSON with the buggy code after the fixed": json.dumps({"fixedCode": FUNCTION, "buggyCode": DRAFT}),
    "JSON with a draft in its reasoning": json.dumps({"reasoning": fenced(DRAFT), "code": FUNCTION}),
    "JSON with a draft in its thoughts after it": json.dumps({"answer": FUNCTION, "thoughts": fenced(DRAFT)}),
    "JSON with other code in its notes": json.dumps({"code": FUNCTION, "alternative": DRAFT}),
    "JSON in a sentence": f'The result is {{"code": {json.dumps(FUNCTION)}}} as asked.',
    "a call of a tool after its name": f"functions.write:0{json.dumps({'content': FUNCTION})}",
    "a call of a tool after a token": f'[TOOL_CALLS][{{"name": "write", "arguments": {json.dumps({"content": FUNCTION})}}}]',
    "an action's input": f"Thought: write it\nAction: write\nAction Input: {json.dumps({'content': FUNCTION})}",
    "JSON after prose": f"Here you are:\n\n{json.dumps({'code': FUNCTION})}\n\nEnjoy!",
    "a bare JSON string": json.dumps(FUNCTION),
    "a notebook's cell that writes a file": fenced(f"%%writefile clip.py\n{FUNCTION}"),
    "a notebook's cell with magics": fenced(
        f"%matplotlib inline\n!pip install -q torch\n\n{FUNCTION}\n\n%timeit clip([1])"
    ),
    "a notebook's cell without a fence": f"%load_ext autoreload\n{FUNCTION}",
    "a diff with context after it": (
        "```diff\n@@ -3,4 +3,9 @@ x\n     return 1\n \n-def clip(values): ...\n"
        + textwrap.indent(FUNCTION, "+")
        + "\n \n def after(x):\n     y = x\n```"
    ),
    "a diff that begins in one function and ends in another": fenced(
        "@@ -3,4 +3,9 @@ x\n     y = [\n     ]\n \n def clip(values, low=0, high=10):\n-    return None\n"
        + textwrap.indent(BODY, "+")
        + "\n \n @cache\n def after(x):\n",
        "diff",
    ),
    "a patch in a here-document": fenced(
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: clip.py\n"
        + textwrap.indent(FUNCTION, "+")
        + "\n*** End Patch\nEOF",
        "bash",
    ),
    "a tag stuck to the closing fence": f"<answer>```python\n{FUNCTION}\n```</answer>",
    "a token stuck to the closing fence": f"Code:\n```py\n{FUNCTION}\n```<end_code>",
    "tabs of eight columns": fenced(FUNCTION.replace("        ", "\t")),
    "spaces after a backslash": fenced(FUNCTION.replace("and not", "\\  \n           and not")),
    "a notebook's question": fenced(f"!pip install torch\n{FUNCTION}\n\nclip?"),
    "a diff of two hunks": (
        "```diff\n--- a/x.py\n+++ b/x.py\n@@ -1,1 +1,2 @@\n import os\n+import math\n@@ -9,1 +10,9 @@\n"
        + textwrap.indent(FUNCTION, "+")
        + "\n```"
    ),
    "a template for chats in the code": fenced(
        f'T = """<|im_start|>user\n<think>\n{{x}}<|im_end|>\n"""\n\n\n{FUNCTION}'
    ),
}


@pytest.mark.parametrize("shape", SPECIAL)
def test_definition_is_extracted_from_special_shapes(shape: str) -> None:
    found = extract(SPECIAL[shape], "clip")
    assert found.code is not None, found.reason
    assert taken(found.code, Code(FUNCTION)) == normalised(FUNCTION)
    assert not found.truncated


@pytest.mark.parametrize("part", [STUB, EXCERPT, UNCHANGED])
def test_excerpt_is_taken_if_there_is_nothing_else(part: str) -> None:
    """It is the answer then, and fails by its own fault."""
    assert taken(part, Code(FUNCTION)) == normalised(part)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("value & 3", "np.ones(3)[..., value]"),
        ("kept = []", "kept = []\n    # values between the limits are left unchanged"),
        ("kept = []", "kept = []\n    # same code as others use"),
        ("kept = []", "kept = []\n    # and so on ..."),
        ("kept = []", "kept = []\n    text = '''\n# ...\n'''"),
        ("def clip", "# ... existing imports ...\ndef clip"),
    ],
    ids=["an index", "unchanged", "same code", "and so on", "a string", "above it"],
)
def test_whole_definition_is_not_taken_for_an_excerpt(old: str, new: str) -> None:
    """Otherwise the longer draft before it would be judged."""
    later = FUNCTION.replace(old, new)
    draft = FUNCTION.replace("kept = []", "kept = [None for value in values if value is not None and value is None]")
    assert taken(f"{draft}\n\n\n{later}", Code(FUNCTION)) == normalised(later)


def test_draft_does_not_replace_a_longer_definition_with_dots() -> None:
    later = FUNCTION.replace("kept = []", "kept = []\n    # ...")
    assert taken(f"{DRAFT}\n\n\n{later}", Code(FUNCTION)) == normalised(later)


def test_constants_and_guarded_imports_before_unfenced_code_come_along() -> None:
    """Without them the function fails on a name."""
    before = "try:\n    import fast\nexcept ImportError:\n    fast = None\n\nLIMIT: int = 3\nTABLE = {\n    1: 2,\n}"
    code = f"{before}\n\n\ndef clip(x):\n    return fast or TABLE[x] or LIMIT"
    found = extract(f"So it goes, for example:\n\n{code}\n\nThat is (nearly) all.", "clip")
    assert found.code == code


def test_json_imports_under_their_own_key_come_along() -> None:
    """Without them the function fails on a name."""
    answer = json.dumps({"prefix": "Clips.", "imports": IMPORTS, "code": FUNCTION})
    assert extract(answer, "clip").code == f"{IMPORTS}\n\n{FUNCTION}"


def test_lists_with_plus_and_minus_are_no_diff() -> None:
    """The function after such a list must not be rejected as a partial diff."""
    assert extract(f"+ fast\n- not in place\n\n{FUNCTION}\n", "clip").code == FUNCTION


def test_edits_in_several_blocks_are_one_edit() -> None:
    """The import that the function needs comes in a block of its own."""
    blocks = [f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE" for old, new in [("", NEEDED), (DRAFT, NEEDY)]]
    found = extract(f"{fenced(blocks[0])}\n\nand\n\n{fenced(blocks[1])}", "clip")
    assert found.code == f"{NEEDED}\n\n{NEEDY}"


PARTIAL = "@@ -1,5 +1,5 @@\n def clip(values):\n     kept = []\n-    a = 1\n+    a = 2\n     for value in values:\n         pass"
NOT_TAKEN = {
    "a diff inside the function": (PARTIAL, "a diff that does not show the whole definition", False),
    "the same in a fence": (fenced(PARTIAL, "diff"), "a diff that does not show the whole definition", False),
    "thinking that never ends": (f"<think>\n{fenced(FUNCTION)}", "the reasoning never ends", True),
    "a channel that never ends": (
        f"<|channel|>analysis<|message|>{fenced(FUNCTION)}",
        "the reasoning never ends",
        True,
    ),
    "a channel's bare name": ("analysisWe need to write clip.", "the reasoning never ends", True),
    "thinking alone": (f"<think>\n{fenced(FUNCTION)}\n</think>\n", "there is reasoning and no answer", False),
    "JSON with code under another name": (json.dumps({"note": "x = 1"}), "the answer holds no Python code", False),
    "JSON with old code whole and new code in part": (
        json.dumps({"old_str": FUNCTION, "new_str": "    return kept[::-1]"}),
        "the answer holds no Python code",
        False,
    ),
    "JSON with code in its reasoning only": (
        json.dumps({"reasoning": fenced(FUNCTION)}),
        "the answer holds no Python code",
        False,
    ),
    "JSON without code": (json.dumps({"code": "I cannot do that.", "n": 1}), "the answer holds no Python code", False),
}


@pytest.mark.parametrize("shape", NOT_TAKEN)
def test_non_answer_is_rejected_with_a_reason(shape: str) -> None:
    answer, reason, truncated = NOT_TAKEN[shape]
    assert extract(answer, "clip") == Extraction(None, reason, truncated)


@pytest.mark.parametrize(
    ("code", "qualname", "others"),
    [
        (FUNCTION.replace("clip", "clip_values"), "clip", ("clip_values",)),
        (FUNCTION.replace("clip", "Clip"), "clip", ("Clip",)),
        (f"def main():\n    pass\n\n\n{FUNCTION.replace('clip', '_clip')}", "clip", ("_clip", "main")),
        (CLASS.replace("Box", "NewBox"), "Box.clip", ("NewBox.clip", "NewBox.__init__")),
        (FUNCTION, "clip", ()),
        (BODY, "clip", ()),
    ],
)
def test_other_name_is_reported_and_not_guessed(code: str, qualname: str, others: tuple[str, ...]) -> None:
    """A silently renamed function would be a guess counted as the model's own."""
    found = extract(fenced(code), qualname)
    assert found.other_names == others
    assert found.code is not None
    if others:
        assert f"it defines {others[0]}" in found.reason
        assert found.code == code


CUTS = {
    "in a fence": "```python\n",
    "without a fence": "",
    "after prose": "Here it is:\n\n",
    "in a channel": "<|channel|>final<|message|>```python\n",
}


@pytest.mark.parametrize("opening", CUTS)
def test_cut_function_never_passes_for_a_whole_one(opening: str) -> None:
    """Wherever the answer stops, it is marked as truncated or is a whole statement to any reader."""
    for end in range(1, len(FUNCTION), 3):
        cut = FUNCTION[:end]
        found = extract(CUTS[opening] + cut, "clip")
        is_readable = syntax.parse(cut) is not None and not opening.startswith("in ")
        assert found.truncated or is_readable or found.code is None
        if found.code is not None and syntax.parse(found.code) is not None:
            assert found.code == cut.rstrip()


def test_cut_json_gives_its_beginning() -> None:
    found = extract(json.dumps({"code": FUNCTION})[:-40], "clip")
    assert found.truncated
    assert found.code is not None
    assert FUNCTION.startswith(found.code)


MIXED = st.lists(
    st.sampled_from([*PACKING, *SPEECH]).map(lambda name: {**PACKING, **SPEECH}[name]), min_size=1, max_size=3
)


@settings(max_examples=40)
@given(MIXED, st.sampled_from(sorted(CODE)), st.sampled_from(sorted(SPELLING)))
def test_extraction_is_idempotent(wraps: list[Callable[[str], str]], code: str, spelling: str) -> None:
    """Candidates are stored and read again: a second extraction that changes them would judge other code."""
    answer = SPELLING[spelling](CODE[code].text)
    for wrap in wraps:
        answer = wrap(answer)
    first = extract(answer, CODE[code].qualname)
    if first.code is not None and syntax.has_target(first.code, CODE[code].qualname):
        assert extract(first.code, CODE[code].qualname).code == first.code


def test_stride_covers_every_property() -> None:
    """A stride in step with one of the tables would leave some of its rows to the slow half."""
    tried = [shape.name.split(" / ") for shape in SHAPES[::EVERY]]
    for place, axis in enumerate(AXES):
        assert {names[place] for names in tried} == set(axis)
    assert len(tried) >= 500
