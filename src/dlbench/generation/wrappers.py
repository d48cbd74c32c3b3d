"""Is the code packed into something that is not Markdown?

Models that were asked for structure elsewhere answer in JSON, in HTML or between tags of their own. What is inside is
an answer like any other: it is unpacked and read again. Markup inside fenced code is the code's own, and stays.
"""

import json
import re
from collections.abc import Iterator

from dlbench.generation.fence import fenced

_TAGS = "pre|code|answer|solution|python|response|output|result|final_answer|implementation|function|completion"
_TAG_PAIR = re.compile(
    rf"<(?P<tag>{_TAGS})(?:\s[^<>\n]*)?>(?:[ \t]*\n)?(?P<tagged>.*?)[ \t]*</(?P=tag)\s*>"
    r"|\[(?P<bracket>PYTHON|CODE|ANSWER|SOLUTION)\](?:[ \t]*\n)?(?P<bracketed>.*?)[ \t]*\[/(?P=bracket)\]"
    r"|^'''(?:python3?|py)[ \t]*\n(?P<quoted>.*?)\n'''[ \t]*$"
    r"|\\begin\{(?P<env>lstlisting|verbatim|minted)\}(?:\[[^\]\n]*\])?(?:\{\w*\})?[ \t]*\n(?P<listing>.*?)\n"
    r"[ \t]*\\end\{(?P=env)\}",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_CODE_KEYS = re.compile(
    r"code|python|solution|answer|implementation|function|completion|content|source|response|output|new_str|arguments",
    re.I,
)
_CUT_VALUE = re.compile(
    r'"(?:\w*_)?(?:code|solution|answer|implementation|completion|content|source)"\s*:\s*"((?:\\.|[^"\\])*)\\?\Z',
    re.DOTALL,
)
_MOST_DECODES = 20
_DEEPEST = 8


def unpack_tags(text: str) -> str:
    """The text with code between tags put into fences; a text that has fences is left as it is."""
    if "```" in text or "~~~" in text:
        return text
    for _ in range(_DEEPEST):  # `<pre><code>` is one inside the other
        changed = _TAG_PAIR.sub(_inside, text)
        if changed == text:
            break
        text = changed
    return text


def _inside(found: re.Match[str]) -> str:
    code = found["tagged"] or found["bracketed"] or found["quoted"] or found["listing"] or ""
    if found["tag"] and "\n" not in code.strip() and not re.match(r"\s*(?:def|import|from|class|@)\b", code):
        return f"{code}" if found["tag"].lower() in {"code", "function", "output", "result"} else f"\n{code}\n"
    return f"\n{fenced(code.strip(chr(10)), '')}\n" if "```" not in code else f"\n{code}\n"


def unpack_json(text: str) -> list[tuple[bool, str]]:
    """The strings of the JSON in a text, in order, each with whether its name says that it is code."""
    strings = [found for value in _decode(text) for found in _strings(value, "", 0)]
    return [(bool(_CODE_KEYS.search(key)), string) for key, string in strings]


def cut_json(text: str) -> str | None:
    """The beginning of a string of code in JSON that was cut off inside it."""
    found = _CUT_VALUE.search(text) if '"' in text else None
    if found is None:
        return None
    try:
        return str(json.loads(f'"{found[1]}"', strict=False))
    except ValueError:
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
