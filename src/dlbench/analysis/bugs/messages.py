"""What did a test say when it failed, and where was it raised?

A verdict's message is a list of frames and the error's own lines, in the short form of the warm judge or in pytest's.
It is taken apart here and nowhere else: which error, whether in the candidate, in a library that it called, in the
project around it or in the test; which call; which shapes and types it speaks of.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dlbench.dataset import Instance

CANDIDATE, LIBRARY, PROJECT, CALLER, TEST = "candidate", "library", "project", "caller", "test"
"""Where: in the candidate's own lines, in a library below it, in the project below it, in code around it that uses what
it gave, or in the test."""

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
    """The error's own name, without its module."""
    text: str = ""
    site: str = ""
    line: int = 0
    """Of the deepest frame in the candidate, as the module is counted; 0 where there is none."""
    called: str = ""
    """The first function that the candidate called on the way to the error, where Python saw it."""
    shapes: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()

    @property
    def quoted(self) -> list[str]:
        """The words that the message puts into quotation marks."""
        return _QUOTED.findall(self.text)


def read_message(verdict: Mapping[str, Any], instance: Instance) -> Raised:
    message = str(verdict.get("message", ""))
    told = [line[1:].strip() for line in message.split("\n") if line.startswith("E ")]
    text = "\n".join(told) if told else message.strip()
    kind, said = _read_error(text)
    frames = [
        (match["path"], bool(match["mark"]), int(match["line"]), match["name"]) for match in _FRAME.finditer(message)
    ]
    name = instance.qualname.rpartition(".")[2]
    own = [
        place
        for place, (path, marked, _, function) in enumerate(frames)
        if marked or (path == instance.path and function == name)
    ]
    site = _find_site(frames, own, instance) if frames else ""
    shapes = tuple(dict.fromkeys(_SHAPE.findall(said))) if _SHAPED.search(said) else ()
    return Raised(
        type=kind,
        text=said,
        site=TEST if kind in ("AssertionError", "Failed") and site in ("", CALLER) else site,
        line=frames[own[-1]][2] if own else 0,
        called=frames[own[-1] + 1][3] if own and own[-1] + 1 < len(frames) else "",
        shapes=shapes,
        dtypes=tuple(dict.fromkeys(_DTYPE.findall(said))),
    )


def _read_error(text: str) -> tuple[str, str]:
    if text.startswith("assert "):
        return "AssertionError", text
    found = _ERROR.match(text)
    if found:
        return found["type"].rpartition(".")[2], (found["text"] or "").strip()
    # a library's own error may be called anything; it stands before the first colon
    head, colon, rest = text.partition(": ")
    if colon and re.fullmatch(r"[A-Za-z_][\w.]*", head):
        return head.rpartition(".")[2], rest.strip()
    return "", text


def _find_site(frames: list[tuple[str, bool, int, str]], own: list[int], instance: Instance) -> str:
    path = frames[-1][0]
    if not own:
        return TEST if path in instance.test_files else CALLER
    if own[-1] == len(frames) - 1:
        return CANDIDATE
    return PROJECT if _top(path) == _top(instance.path) else LIBRARY


def _top(path: str) -> str:
    parts = path.split("/")
    return parts[1] if parts[0] in ("src", "lib") and len(parts) > 1 else parts[0]
