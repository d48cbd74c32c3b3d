"""Repair text that is nearly Python, and turn tags around code into fences.

Answers come with notebook magics and with lost or mixed indentation. A repair changes only text that does not parse,
and counts only if the result parses: bolder repairs would rewrite wrong answers.
"""

import re
import textwrap
from collections.abc import Callable

from dlbench.extraction.syntax import dedent, parse

_MAGIC = re.compile(r"^(?:%%?[A-Za-z_]|![\w./~]|[\w.]+\?{1,2}$)")


def repair(code: str) -> str | None:
    """The code itself where it parses, else its mildest repair that does."""
    if parse(code) is not None:
        return code
    layouts = dict.fromkeys(fix(code) for fix in _REPAIRS)
    return next((layout for layout in layouts if parse(layout) is not None), None)


def _without_magics(code: str) -> str:
    """Drop lines for the notebook: `%matplotlib inline`, `%%writefile model.py`, `!pip …`."""
    return "\n".join(line for line in code.split("\n") if not _MAGIC.match(line))


def _dedent_after_first(code: str) -> str:
    """A body that continues the prompt's last line: its first line lost the indentation, the others kept it."""
    first, _, rest = code.lstrip("\n").partition("\n")
    return first.lstrip() + "\n" + dedent(rest)


def _spaces_for_tabs(code: str, width: int) -> str:
    def spaces(line: str) -> str:
        body = line.lstrip(" \t")
        return line[: len(line) - len(body)].expandtabs(width) + body

    return textwrap.dedent("\n".join(spaces(line) for line in code.split("\n")))


_INVISIBLE = {0x00A0: " ", 0x2007: " ", 0x202F: " ", 0x3000: " "} | dict.fromkeys(
    (0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)
)
"""Spaces that Python does not accept, and characters without a width: copied text and some tokenisers bring them."""

_REPAIRS: list[Callable[[str], str]] = [
    lambda code: code.translate(_INVISIBLE),
    lambda code: dedent(code.translate(_INVISIBLE)),
    _without_magics,
    dedent,
    _dedent_after_first,
    lambda code: _spaces_for_tabs(code, 4),
    lambda code: _spaces_for_tabs(code, 8),
    lambda code: re.sub(r"\\[ \t]+$", r"\\", code, flags=re.MULTILINE),  # spaces after a line's last backslash
]

_TAGS = "answer|solution|code|python|response|output|result|final_answer|implementation|function|completion"
_TAG_LINE = re.compile(rf"^[ \t]*(?:</?(?:{_TAGS})>|\[/?(?:PYTHON|CODE|ANSWER|SOLUTION)\])[ \t]*$", re.I | re.M)


def tags_to_fences(text: str) -> str:
    """The text with lines like `<answer>` and `[/PYTHON]` as fences; a text that has fences stays as it is."""
    return text if "```" in text or "~~~" in text else _TAG_LINE.sub("```", text)
