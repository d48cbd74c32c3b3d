"""Does a prompt give away what it asks for?

A prompt that quotes the reference tests memory, not skill, and one that quotes a docstring is a text that models have
seen. Compared are whole lines of code that say something, and runs of words of the docstring.
"""

import ast
import re

from dlbench.dataset.target import Function, Target

DOCSTRING_RUN = 12
UNREVIEWED = "DRAFT, not reviewed: "
"""What a text by a model begins with, until a person has written another in its place."""
_SAYS_SOMETHING = re.compile(r"[=(\[+*/<>@%]")


def is_draft(prompt: str) -> bool:
    return prompt.lstrip().startswith(UNREVIEWED.strip())


def find_leaked_lines(prompt: str, target: Target) -> list[str]:
    """Lines of the reference's body that stand in the prompt."""
    said = _tokens(prompt)
    return [line for line in _telling_lines(target) if _tokens(line) in said]


def _telling_lines(target: Target) -> list[str]:
    """The body's code lines, without docstring, comments, imports and what is too short to be anyone's."""
    body = _body(target.node)
    if not body:
        return []
    lines = "\n".join(ast.unparse(statement) for statement in body).splitlines()
    source = target.text.split("\n")[body[0].lineno - target.first :]
    kept = dict.fromkeys(line.strip() for line in [*lines, *(text.split("  #")[0] for text in source)])
    return [
        line
        for line in kept
        if len(re.findall(r"\w+", line)) >= 3
        and _SAYS_SOMETHING.search(line)
        and not line.startswith(("#", "import ", "from ", "@", "def ", '"""'))
    ]


def _body(function: Function) -> list[ast.stmt]:
    first, *rest = function.body
    has_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return rest if has_docstring else function.body


def find_docstring_run(prompt: str, docstring: str | None) -> str:
    """The longest run of words that prompt and docstring share, when it is long enough to be a quotation."""
    said, documented = _words(prompt), _words(docstring or "")
    places: dict[str, list[int]] = {}
    for place, word in enumerate(said):
        places.setdefault(word, []).append(place)
    longest, end = 0, 0
    previous: dict[int, int] = {}
    for index, word in enumerate(documented):
        current = {place: previous.get(place - 1, 0) + 1 for place in places.get(word, [])}
        for length in current.values():
            if length > longest:
                longest, end = length, index + 1
        previous = current
    return " ".join(documented[end - longest : end]) if longest >= DOCSTRING_RUN else ""


def _tokens(text: str) -> str:
    """Spacing does not hide a line, and a line that ends inside a word is not there."""
    return " ".join(["", *re.findall(r"\w+|[^\w\s]", text), ""])


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
