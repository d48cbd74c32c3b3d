"""Generate answers that give the same function in many shapes, and what extraction must return for each.

An answer has four independent properties: the code beside the target (`CODE`), its indentation (`SPELLING`), its
packing (`PACKING`), and the text around it (`SPEECH`). Every value of one is combined with every value of each other,
the remaining two being plain. `refusal` lists the combinations that cannot be read.
"""

import json
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

FUNCTION = '''\
def clip(values, low=0, high=10):
    """Keep values between two limits."""
    kept = []
    for value in values:
        if value < low and not value >= high:
            kept.append("low")
        else:
            kept.append({'value': value & 3, "rest": value - low})
    return kept'''
NEEDY = FUNCTION.replace("value & 3", "mask(value)")
NEEDED = "import math\n\nLIMIT = 3\n\n\ndef mask(x):\n    return math.floor(x) & LIMIT"
ASYNC = FUNCTION.replace("def clip", "async def clip")
DRAFT = "def clip(values, low=0, high=10):\n    return values"
BODY = "\n".join(FUNCTION.split("\n")[1:])
METHOD = "@torch.no_grad()\n" + FUNCTION.replace("clip(values", "clip(self, values")
IMPORTS = "import math\nfrom typing import Any"
OTHERS = "LIMIT = 10\n\n\ndef other(x: Any) -> float:\n    return math.sqrt(x)"
CLASS = "class Box:\n    size = 3\n\n    def __init__(self, x):\n        self.x = x\n\n" + textwrap.indent(
    METHOD, "    "
)
TESTS = "def test_clip():\n    assert clip([1], 0, 10)\n    assert clip([]) == []"
MAIN = "if __name__ == '__main__':\n    print(clip([1, 2, 3]))"


@dataclass(frozen=True)
class Code:
    """`means` is the definition that must come out for the target `qualname`."""

    text: str
    means: str = FUNCTION
    qualname: str = "clip"


CODE = {
    "the function": Code(FUNCTION),
    "imports and other definitions": Code(f"{IMPORTS}\n\n{OTHERS}\n\n\n{FUNCTION}\n\n\ndef after(x):\n    return x"),
    "a helper, its import and a constant": Code(f"{NEEDED}\n\n\n{NEEDY}", NEEDY),
    "a helper after it": Code(f"{NEEDY}\n\n\n{NEEDED}", NEEDY),
    "the body alone": Code(BODY),
    "the body at the margin": Code(textwrap.dedent(BODY)),
    "a class around the method": Code(CLASS, METHOD, "Box.clip"),
    "the method without its class": Code(METHOD, METHOD, "Box.clip"),
    "the method as it is indented in its class": Code(textwrap.indent(METHOD, "    "), METHOD, "Box.clip"),
    "an inner class alone": Code(CLASS, METHOD, "Outer.Box.clip"),
    "async for def": Code(ASYNC, ASYNC),
    "decorators": Code(f"@torch.no_grad()\n@cache\n{FUNCTION}", f"@torch.no_grad()\n@cache\n{FUNCTION}"),
    "a draft first": Code(f"{DRAFT}\n\n\n{FUNCTION}"),
    "the signature restated after it": Code(f"{FUNCTION}\n\n\ndef clip(values, low=0, high=10): ..."),
    "a stub of it after it": Code(f"{FUNCTION}\n\n\ndef clip(values, low=0, high=10):\n    raise NotImplementedError"),
    "usage after it": Code(f"{FUNCTION}\n\n\n# Example\nresult = clip([1, 2])\nprint(result)"),
    "tests after it": Code(f"{FUNCTION}\n\n\n{TESTS}"),
    "a main block": Code(f"{IMPORTS}\n\n\n{FUNCTION}\n\n\n{MAIN}"),
    "a comment above": Code(f"# clip.py\n# Copyright nobody\n{FUNCTION}"),
    "a module docstring": Code(f'"""Clips."""\n\n{FUNCTION}'),
}


def _with_tabs(code: str) -> str:
    return code.replace("    ", "\t")


SPELLING: dict[str, Callable[[str], str]] = {
    "plain": lambda code: code,
    "tabs": _with_tabs,
    "indented by four": lambda code: textwrap.indent(code, "    "),
    "indented by a tab": lambda code: textwrap.indent(code, "\t"),
    "trailing spaces": lambda code: code.replace("\n", "  \n"),
    "many blank lines": lambda code: f"\n\n\n{code}\n\n\n",
}


def _fence(info: str = "python", mark: str = "```", end: str | None = None) -> Callable[[str], str]:
    return lambda code: f"{mark}{info}\n{code}\n{mark if end is None else end}"


def fenced(code: str, info: str = "python") -> str:
    return _fence(info)(code)


def _diff(code: str) -> str:
    lines = code.split("\n")
    added = "\n".join(f"+{line}" for line in lines)
    return f"--- a/box.py\n+++ b/box.py\n@@ -1,2 +1,{len(lines)} @@\n-    raise NotImplementedError\n-\n{added}"


PACKING: dict[str, Callable[[str], str]] = {
    "nothing": lambda code: code,
    "backticks": _fence(),
    "backticks without a language": _fence(""),
    "tildes": _fence("py", "~~~"),
    "a long fence": _fence("Python3", "`````"),
    "a longer closing fence": _fence("python", "```", "`````"),
    "pandoc attributes": _fence("{.python .numberLines startFrom=1}"),
    "a title": _fence('python title="clip.py" linenums="1"'),
    "a file name": _fence("src/clip.py"),
    "language and file name": _fence("python:src/clip.py"),
    "a fence in a list": lambda code: "1. The code:\n\n" + textwrap.indent(_fence()(code), "   "),
    "a fence that never closes": lambda code: f"```python\n{code}",
    "a closing fence stuck to the code": lambda code: f"```python\n{code}```",
    "a closing fence alone": lambda code: f"{code}\n```",
    "a markdown fence around": lambda code: f"````markdown\nHere:\n{_fence()(code)}\n````",
    "a fence marked as text": _fence("text"),
    "two fences": lambda code: f"{_fence()(IMPORTS)}\nand\n{_fence()(code)}",
    "a shell block first": lambda code: f"{_fence('bash')('pip install torch')}\n{_fence()(code)}",
    "output after it": lambda code: f"{_fence()(code)}\nprints\n{_fence('')('[1, 2]')}",
    "an example block after it": lambda code: f"{_fence()(code)}\nUsage:\n{_fence()('print(clip([1, 2]))')}",
    "JSON": lambda code: json.dumps({"code": code}),
    "JSON, indented, among other keys": lambda code: json.dumps(
        {"plan": ["a", "b"], "solution": code, "n": 1}, indent=2
    ),
    "JSON in a fence": lambda code: _fence("json")(json.dumps({"code": code})),
    "JSON with raw line ends": lambda code: '{"code": "' + json.dumps(code)[1:-1].replace("\\n", "\n") + '"}',
    "fences in JSON": lambda code: json.dumps({"answer": f"Here:\n\n{_fence()(code)}\n"}),
    "a tool call": lambda code: json.dumps(
        {"name": "write", "arguments": json.dumps({"path": "a.py", "content": code})}
    ),
    "a notebook": lambda code: json.dumps({"cells": [{"cell_type": "code", "source": code.splitlines(keepends=True)}]}),
    "an answer tag": lambda code: f"<answer>\n{code}\n</answer>",
    "an answer tag around a fence": lambda code: f"<answer>\n{_fence()(code)}\n</answer>",
    "PYTHON in brackets": lambda code: f"[PYTHON]\n{code}\n[/PYTHON]",
    "a diff": _diff,
    "a diff in a fence": lambda code: _fence("diff")(_diff(code)),
    "a diff in a Python fence": lambda code: _fence()(_diff(code)),
    "code on the opening fence's line": lambda code: f"```python {code.lstrip()}\n```",
    "a fence in a bullet": lambda code: "- ```python\n" + textwrap.indent(code, "  ") + "\n  ```",
    "a block left open before it": lambda code: f"```python\n{IMPORTS}\n\nOr rather:\n\n{_fence()(code)}",
    "prose inside the fence": lambda code: _fence()(f"{code}\n\nThis function keeps the values between two limits."),
    "a search-and-replace block": lambda code: f"box.py\n<<<<<<< SEARCH\n    pass\n=======\n{code}\n>>>>>>> REPLACE",
}

EDITS = {"a diff", "a diff in a fence", "a diff in a Python fence", "a search-and-replace block"}

PROSE = {"prose before", "prose after", "prose on both sides", "headings"}

_THOUGHT = f"Let me see.\n\n{_fence()(DRAFT)}\n\nNo, that's wrong."
SPEECH: dict[str, Callable[[str], str]] = {
    "nothing": lambda answer: answer,
    "prose before": lambda answer: f"Sure! Here's the function you asked for:\n\n{answer}",
    "prose after": lambda answer: f"{answer}\n\nThis function loops over the values. It doesn't change them.",
    "prose on both sides": lambda answer: (
        f"Here is `clip`:\n\n{answer}\n\n**Notes**\n- It keeps `low` (the default is 0)."
    ),
    "headings": lambda answer: f"# Solution\n\n## Code\n\n{answer}\n\n## Explanation\n\nWe loop once; O(n) time.",
    "thinking": lambda answer: f"<think>\n{_THOUGHT}\n</think>\n\n{answer}",
    "only the end of thinking": lambda answer: f"{_THOUGHT}\n</think>\n\n{answer}",
    "thinking with an open fence": lambda answer: f"<thinking>\n```python\n{DRAFT}\n</thinking>\n{answer}",
    "thinking in brackets": lambda answer: f"[THINK]{_THOUGHT}[/THINK]{chr(10)}{answer}",
    "channels": lambda answer: (
        f"<|channel|>analysis<|message|>{_THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{answer}<|return|>"
    ),
    "channels without their tokens": lambda answer: f"analysis{_THOUGHT}assistantfinal{answer}",
    "a turn's end": lambda answer: f"{answer}\n<|im_end|>",
    "a dialogue with itself": lambda answer: (
        f"{answer}\n<|im_end|>\n<|im_start|>user\nShorter!\n<|im_end|>\n<|im_start|>assistant\n{_fence()(DRAFT)}"
    ),
    "CRLF": lambda answer: answer.replace("\n", "\r\n"),
    "BOM": lambda answer: f"\ufeff{answer}",
    "blank lines around": lambda answer: f"\n\n  \n{answer}\n\n\n",
}

AXES = (CODE, SPELLING, PACKING, SPEECH)
PLAIN = ("the function", "plain", "backticks", "nothing")
BARE = ("the function", "plain", "nothing", "nothing")


@dataclass(frozen=True)
class Shape:
    name: str
    answer: str
    code: Code
    refused: str | None


def shapes() -> Iterator[Shape]:
    """Every pair of properties, in a fence and without one, each combination once."""
    chosen: dict[tuple[str, ...], None] = {}
    for base, (one, two) in product((PLAIN, BARE), combinations(range(len(AXES)), 2)):
        for first, second in product(AXES[one], AXES[two]):
            keys = list(base)
            keys[one], keys[two] = first, second
            chosen[tuple(keys)] = None
    for code, spelling, packing, speech in chosen:
        packed = PACKING[packing](SPELLING[spelling](CODE[code].text))
        name = f"{code} / {spelling} / {packing} / {speech}"
        yield Shape(name, SPEECH[speech](packed), meaning(code, packing), refusal(code, packing, speech))


def meaning(code: str, packing: str) -> Code:
    """Imports in a block of their own before a bare body are the body's first lines."""
    if code.startswith("the body") and packing in {"two fences", "a block left open before it"}:
        header = FUNCTION.partition("\n")[0]
        return Code(CODE[code].text, f"{header}\n{textwrap.indent(IMPORTS, '    ')}\n{BODY}")
    return CODE[code]


def refusal(code: str, packing: str, speech: str) -> str | None:
    """The reason for combinations that a careful reader could not read either."""
    if code.startswith("the body") and packing in EDITS:
        # The function's own beginning is not in the diff.
        return "a diff that does not show the whole definition"
    if code == "the body at the margin" and packing == "nothing" and speech in PROSE:
        # Nothing shows where the prose ends and the body begins.
        return "the answer holds no Python code"
    return None
