"""Read changes of files from JSON and tool calls: files by path, edits with old and new text, diffs, and code."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from dlbench.extraction.edits import is_diff
from dlbench.extraction.structured import decode_json

_PATH_KEYS = ("path", "file_path", "filepath", "filename", "file_name", "file", "name")
_TEXT_KEYS = ("content", "contents", "file_text", "new_content", "text", "code", "source")
_OLD_KEYS = ("old_str", "old_string", "old", "search", "old_text", "original", "find", "before")
_NEW_KEYS = ("new_str", "new_string", "new", "replace", "new_text", "replacement", "after", "updated")
_DIFF_KEYS = ("patch", "diff")
_CODE_KEYS = ("code", "answer", "solution", "implementation", "completion")
_NAME = re.compile(r"[\w./\\ -]*\w\.\w{1,5}")
_MOST_DEPTH = 8


class FileChange(NamedTuple):
    path: str = ""
    text: str | None = None
    """The new text; None removes the file."""
    old: str | None = None
    """What the text replaces, if it is an edit."""
    diff: str | None = None


def find_changes(text: str) -> list[FileChange]:
    """The changes in the JSON of a text; none if it holds none with a path, a diff or an edit."""
    return [change for value in decode_json(text) for change in _read(value, "", 0)]


def _read(value: object, path: str, depth: int) -> Iterator[FileChange]:
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, list):
        for one in value:
            yield from _read(one, path, depth + 1)
    elif isinstance(value, dict):
        yield from _read_object({str(key): one for key, one in value.items()}, path, depth)
    elif isinstance(value, str) and value.lstrip()[:1] in ("{", "["):  # the arguments of a tool call
        for inner in decode_json(value):
            yield from _read(inner, path, depth + 1)
    elif isinstance(value, str) and is_diff(value):
        yield FileChange(diff=value)


def _read_object(value: dict[str, object], path: str, depth: int) -> Iterator[FileChange]:
    named = _find(value, _PATH_KEYS)
    path = named if named and _NAME.fullmatch(named) else path
    old, new = _find(value, _OLD_KEYS), _find(value, _NEW_KEYS)
    text = _find(value, _TEXT_KEYS)
    if old is not None and new is not None:
        yield FileChange(path, new, old)
    elif (diff := _find(value, _DIFF_KEYS)) is not None:
        yield FileChange(diff=diff if is_diff(diff) or not path else f"--- {path}\n+++ {path}\n{diff}")
    elif named and path == named and text is not None:
        yield FileChange(path, text)
    elif named and path == named and (value.get("delete") is True or value.get("content", "") is None):
        yield FileChange(path)
    else:
        for key, one in value.items():
            is_path = _NAME.fullmatch(key) is not None and key.endswith((".py", ".json", ".toml", ".txt", ".pyi"))
            joined = _join(one)
            if is_path and joined is not None:
                yield FileChange(key, joined)
            elif is_path and one is None:
                yield FileChange(key)
            elif is_path and isinstance(one, dict) and (inner := _find(_as_object(one), _TEXT_KEYS)) is not None:
                yield FileChange(key, inner)
            elif key in _CODE_KEYS and joined is not None and joined.lstrip()[:1] not in ("{", "["):
                yield FileChange(path, joined)
            else:
                yield from _read(one, key if is_path else path, depth + 1)


def _as_object(value: dict[object, object]) -> dict[str, object]:
    return {str(key): one for key, one in value.items()}


def _find(value: dict[str, object], keys: tuple[str, ...]) -> str | None:
    return next((found for key in keys if (found := _join(value.get(key))) is not None), None)


def _join(value: object) -> str | None:
    """A string, or the lines that a list holds."""
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return ("" if str(value[0]).endswith("\n") else "\n").join(map(str, value))
    return value if isinstance(value, str) else None
