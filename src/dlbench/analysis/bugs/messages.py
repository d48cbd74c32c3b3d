"""Parse the error message of a verdict: error type, where it was raised, and the shapes and dtypes it mentions.

A message lists stack frames and then the error, in the short form of the warm judge or in pytest's form.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dlbench.dataset import Instance

CANDIDATE, LIBRARY, PROJECT, CALLER, TEST = "candidate", "library", "project", "caller", "test"
"""Where an error was raised: in the candidate, in a library it called, in project code it called, in project code that
called it, or in the test."""

_FRAME = re.compile(r"^(?P<path>[^\s:][^:\n]*?):(?P<mark>candidate:)?(?P<line>\d+): in (?P<name>\S+)", re.M)
_ERROR = re.compile(
    r"^(?:E\s+)?(?P<type>[A-Za-z_][\w.]*?(?:Error|Exception|Warning|Exit|Interrupt|Iteration|Failed))(?::\s?(?P<text>.*))?$",
    re.S,
)
_SHAPE = re.compile(
    r"(?<![\w.])\(\d+,?(?: ?\d+,?)*\)|(?:(?<![\w.])|(?<=input)|(?<=size)|(?<=shape))\[\d+(?:, ?\d+)*\]|\b\d+(?:x\d+)+\b"
)
_SHAPED = re.compile(r"shape|size|dim|broadcast|rank|axis|axes|mat1|tensor a|channels", re.I)
_DTYPE = re.compile(
    r"\b(?:u?int(?:8|16|32|64)|b?float(?:16|32|64)|complex(?:64|128)|dtype|object_|<U\d+|Float|Double|Long|Half|Byte|Bool)\b"
)
_QUOTED = re.compile(r"'([^']+)'")


@dataclass(frozen=True)
class Raised:
    type: str = ""
    """Name of the error class, without its module."""
    text: str = ""
    site: str = ""
    line: int = 0
    """Line of the deepest candidate frame, counted in the module; 0 without one."""
    called: str = ""
    """The first function below the candidate on the way to the error, if Python recorded a frame for it."""
    shapes: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()

    @property
    def quoted(self) -> list[str]:
        """The names that the message quotes."""
        return _QUOTED.findall(self.text)


@dataclass(frozen=True)
class _Frame:
    path: str
    line: int
    name: str
    is_candidate: bool


def read_message(verdict: Mapping[str, Any], instance: Instance) -> Raised:
    message = str(verdict.get("message", ""))
    error_lines = [line[1:].strip() for line in message.split("\n") if line.startswith("E ")]
    kind, text = _split_error("\n".join(error_lines) if error_lines else message.strip())
    target = instance.path, instance.qualname.rpartition(".")[2]
    frames = [
        _Frame(one["path"], int(one["line"]), one["name"], bool(one["mark"]) or (one["path"], one["name"]) == target)
        for one in _FRAME.finditer(message)
    ]
    deepest = max((place for place, frame in enumerate(frames) if frame.is_candidate), default=None)
    site = _find_site(frames, deepest, instance)
    return Raised(
        type=kind,
        text=text,
        site=TEST if kind in ("AssertionError", "Failed") and site in ("", CALLER) else site,
        line=frames[deepest].line if deepest is not None else 0,
        called=frames[deepest + 1].name if deepest is not None and deepest + 1 < len(frames) else "",
        shapes=tuple(dict.fromkeys(_SHAPE.findall(text))) if _SHAPED.search(text) else (),
        dtypes=tuple(dict.fromkeys(_DTYPE.findall(text))),
    )


def _split_error(text: str) -> tuple[str, str]:
    if text.startswith("assert "):
        return "AssertionError", text
    if found := _ERROR.match(text):
        return found["type"].rpartition(".")[2], (found["text"] or "").strip()
    # A library may name its errors freely; the name stands before the first colon.
    head, colon, rest = text.partition(": ")
    if colon and re.fullmatch(r"[A-Za-z_][\w.]*", head):
        return head.rpartition(".")[2], rest.strip()
    return "", text


def _find_site(frames: list[_Frame], deepest: int | None, instance: Instance) -> str:
    if not frames:
        return ""
    path = frames[-1].path
    if deepest is None:
        return TEST if path in instance.test_files else CALLER
    if deepest == len(frames) - 1:
        return CANDIDATE
    return PROJECT if _top_folder(path) == _top_folder(instance.path) else LIBRARY


def _top_folder(path: str) -> str:
    parts = path.split("/")
    return parts[1] if parts[0] in ("src", "lib") and len(parts) > 1 else parts[0]
