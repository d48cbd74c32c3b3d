"""List the strings of JSON and tool calls that may hold the code.

The key of a string counts: an edit has the old code beside the new, and some models put drafts under a key of their
own; code that the model itself discarded must not be judged.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

_CODE_KEYS = re.compile(
    r"code|python|solution|answer|implementation|function|completion|content|source|response|output|new_str|arguments",
    re.I,
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_OLD = {"old", "original", "orig", "previous", "before", "buggy", "search"}
_DRAFTS = {
    "draft", "reasoning", "thought", "thoughts", "thinking", "analysis", "scratchpad", "wrong", "incorrect", "bad",
}  # fmt: skip
_CUT_VALUE = re.compile(
    r'"(?:\w*_)?(?:code|solution|answer|implementation|completion|content|source)"\s*:\s*"((?:\\.|[^"\\])*)\\?\Z',
    re.DOTALL,
)
# A tool call stands after its name or a token, so JSON may begin anywhere in a line.
_BEGINNING = re.compile(r"\{(?=\s*\")|\[(?=\s*[\[{\"])|^[ \t]*(?=\")", re.MULTILINE)
_MAX_DECODES = 20
_MAX_DEPTH = 8


class JsonString(NamedTuple):
    text: str
    is_named: bool  # the key says that it is the whole code
    is_imports: bool  # the key says that it is the imports


def is_json(text: str) -> bool:
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def unpack_json(text: str) -> list[JsonString]:
    """The strings of the JSON in a text, in order, without old code and drafts."""
    strings = [found for value in decode_json(text) for found in _strings(value, "", 0)]
    # The new side of an edit is code only where it has the whole target: its key says nothing.
    is_edit = any(_OLD & _words(key) for key, _ in strings)
    return [
        JsonString(text, bool(_CODE_KEYS.search(key)) and not is_edit, "imports" in _words(key))
        for key, text in strings
        if not (_OLD | _DRAFTS) & _words(key)
    ]


def cut_json(text: str) -> str | None:
    """The beginning of a code string in JSON that was cut off inside it."""
    found = _CUT_VALUE.search(text) if '"' in text else None
    try:
        return str(json.loads(f'"{found[1]}"', strict=False)) if found is not None else None
    except ValueError:
        return None


def _words(key: str) -> set[str]:
    """`old`, `string` of `old_string` and `oldString`."""
    return {word.lower() for word in _WORD.findall(key)}


def decode_json(text: str) -> Iterator[object]:
    decoder = json.JSONDecoder(strict=False)
    after = tries = 0
    for found in _BEGINNING.finditer(text):
        start = found.end() if found[0].isspace() or not found[0] else found.start()
        if start < after or tries == _MAX_DECODES:
            continue
        tries += 1
        try:
            value, after = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        yield value


def _strings(value: object, key: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _MAX_DEPTH:
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
