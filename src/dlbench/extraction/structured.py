"""Which strings of JSON, or of what was meant as JSON, may be the code?

Models that were asked for structure elsewhere answer in JSON or in calls of tools. A string is an answer like any other
and is read again. What its name says counts: an edit has the old code beside the new, and some models put their drafts
under a name of their own; taken for the answer, code that the model itself threw away would be judged.
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dlbench.extraction.syntax import attempt

_CODE_KEYS = re.compile(
    r"code|python|solution|answer|implementation|function|completion|content|source|response|output|new_str|arguments",
    re.I,
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_OLD = {"old", "original", "orig", "previous", "before", "buggy", "search"}
_DRAFTS = {
    "draft",
    "reasoning",
    "thought",
    "thoughts",
    "thinking",
    "analysis",
    "scratchpad",
    "wrong",
    "incorrect",
    "bad",
}
_CUT_VALUE = re.compile(
    r'"(?:\w*_)?(?:code|solution|answer|implementation|completion|content|source)"\s*:\s*"((?:\\.|[^"\\])*)\\?\Z',
    re.DOTALL,
)
_LOOSE = re.compile(r"(?:\"(?P<double>\w+)\"|'(?P<single>\w+)')\s*:\s*|(?<![\w.])(?P<plain>\w+)\s*=\s*", re.MULTILINE)
_STRING = re.compile(
    r"[rR]?(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\\n])*')", re.DOTALL
)
_MOST_DECODES = 20
_MOST_LOOSE = 200
_DEEPEST = 8


@dataclass(frozen=True)
class String:
    """`is_named`: its name says that it is code, and the whole of it. `is_imports`: that it is what code imports."""

    text: str
    is_named: bool
    is_imports: bool


def is_json(text: str) -> bool:
    """The whole text is one value of JSON."""
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def unpack_json(text: str) -> list[String]:
    """The strings of the JSON in a text, in order, without old code and drafts."""
    return _select([found for value in _decode(text) for found in _strings(value, "", 0)])


def unpack_loose(text: str) -> list[String]:
    """Strings under a name for code in what no decoder takes: a comma too many, a comment, Python's own quotes, keyword
    arguments of a call."""
    found: list[tuple[str, str]] = []
    after = 0
    for name in _LOOSE.finditer(text):
        key = name["double"] or name["single"] or name["plain"]
        if name.start() < after or not (_CODE_KEYS.search(key) or (_OLD | {"imports"}) & _words(key)):
            continue
        string = _STRING.match(text, name.end())
        if string is not None and (value := _value(string[0])) is not None:
            found.append((key, value))
            after = string.end()
        if len(found) == _MOST_LOOSE:
            break
    return _select(found)


def cut_json(text: str) -> str | None:
    """The beginning of a string of code in JSON that was cut off inside it."""
    found = _CUT_VALUE.search(text) if '"' in text else None
    return _value(f'"{found[1]}"') if found is not None else None


def _select(strings: list[tuple[str, str]]) -> list[String]:
    # The new side of an edit is code only where it has all of the target: its name says nothing.
    is_edit = any(_OLD & _words(key) for key, _ in strings)
    return [
        String(text, bool(_CODE_KEYS.search(key)) and not is_edit, "imports" in _words(key))
        for key, text in strings
        if not (_OLD | _DRAFTS) & _words(key)
    ]


def _words(key: str) -> set[str]:
    """`old`, `string` of `old_string` and `oldString`."""
    return {word.lower() for word in _WORD.findall(key)}


def _value(string: str) -> str | None:
    """What a string stands for, in JSON or in Python."""
    try:
        return str(json.loads(string, strict=False))
    except ValueError:
        pass
    match attempt(string):
        case ast.Module(body=[ast.Expr(value=ast.Constant(value=str() as text))]):
            return text
    return None


def _decode(text: str) -> Iterator[object]:
    decoder = json.JSONDecoder(strict=False)
    after = tries = 0
    for found in re.finditer(r"^[ \t]*(?=[{\[\"])", text, re.MULTILINE):
        if found.end() < after or tries == _MOST_DECODES:
            continue
        tries += 1
        try:
            value, after = decoder.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            continue
        yield value


def _strings(value: object, key: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _DEEPEST:
        return
    match value:
        case str():
            yield key, value
        case list() if value and all(isinstance(one, str) for one in value):
            # A notebook's cell is a list of its lines.
            yield key, ("" if str(value[0]).endswith("\n") else "\n").join(map(str, value))
        case list():
            for one in value:
                yield from _strings(one, key, depth + 1)
        case dict():
            for name, one in value.items():
                yield from _strings(one, str(name), depth + 1)
