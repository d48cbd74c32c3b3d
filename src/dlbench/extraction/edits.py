"""Read edits of files, which are search-and-replace blocks, unified diffs and patches, and place them in a text.

Models miscount lines, drop blank ones and shift indentation. So an edit is placed by the lines that it replaces: first
as they are, then without regard to what these mistakes change. One whose lines are nowhere in the file is not placed.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from dlbench.extraction.syntax import indent_of

SEARCH, MIDDLE, REPLACE = (
    re.compile(mark) for mark in (r"^<{5,9} ?(?:SEARCH|ORIGINAL|HEAD)\b", r"^={5,9}$", r"^>{5,9} ?\w+")
)
_MOST_CONTEXT = 3
"""Lines of context at each end that may be wrong."""
_RANGES = re.compile(r"^@@+ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_COMMAND = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$")
_PLAIN = re.compile(r"^[ +\-@\\]|^$")


@dataclass
class Edit:
    """Lines that stand for others. No old lines: the new ones are inserted."""

    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    line: int | None = None
    """Where the edit says that it begins, from 0."""
    anchors: list[str] = field(default_factory=list)
    """Beginnings of lines that the edit names and that stand before it, in this order."""


@dataclass
class FilePatch:
    """The edits of one file."""

    path: str
    edits: list[Edit] = field(default_factory=list)
    is_new: bool = False
    is_deleted: bool = False
    source: str = ""
    """The name before, if the patch renames the file."""


def has_replacements(text: str) -> bool:
    lines = text.split("\n")
    return all(any(mark.match(line.lstrip()) for line in lines) for mark in (SEARCH, MIDDLE, REPLACE))


def read_replacements(text: str) -> list[tuple[list[str], Edit]]:
    """Each search-and-replace block, with the last lines before it that are not blank, which may name its file."""
    found: list[tuple[list[str], Edit]] = []
    before: list[str] = []
    edit, lines = Edit(), list[str]()
    for line in text.split("\n"):
        mark = line.lstrip()
        if SEARCH.match(mark):
            edit = Edit()
            before, lines = [*before[-3:], SEARCH.sub("", mark)], edit.old
        elif lines is edit.old and MIDDLE.match(mark):
            lines = edit.new
        elif lines is edit.new and REPLACE.match(mark):
            found.append((before, edit))
            before = []
            lines = before
        elif lines is edit.old or lines is edit.new:
            lines.append(line)
        elif line.strip():
            before.append(line)
    return found


def find_diff(text: str) -> int | None:
    """The line where a diff begins, by marks that nothing else has."""
    lines = text.split("\n")
    for number, (line, following) in enumerate(pairwise([*lines, ""])):
        if line.startswith(("diff --git ", "*** Begin Patch")) or _COMMAND.match(line):
            return number
        if line.startswith("--- ") and following.startswith("+++ "):
            return number
    return None


def is_diff(text: str) -> bool:
    return find_diff(text) is not None


def read_diff(text: str, *, is_fenced: bool = True) -> list[FilePatch]:
    """The files of a unified diff, or of a patch with `*** Update File:` lines. Without a fence, prose ends a hunk."""
    found: list[FilePatch] = []
    edit: Edit | None = None
    lines = text.split("\n")
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line.startswith("diff --git "):
            found.append(FilePatch(line.split(" b/")[-1].strip()))
            edit = None
        elif line.startswith("--- ") and following.startswith("+++ "):
            old, new = _read_path(line), _read_path(following)
            if edit is not None or not found or found[-1].edits or found[-1].path not in (old, new):
                found.append(FilePatch(old if new == "/dev/null" else new))
            found[-1].is_new |= old == "/dev/null"
            found[-1].is_deleted |= new == "/dev/null"
            edit = None
        elif command := _COMMAND.match(line):
            is_new, is_deleted = command[1] == "Add", command[1] == "Delete"
            found.append(FilePatch(command[2].strip(), is_new=is_new, is_deleted=is_deleted))
            edit = _open_hunk(found, "") if is_new else None
        elif not found or line.startswith("*** End"):
            edit = None
        elif line.startswith("*** Move to: "):
            found[-1].source, found[-1].path = found[-1].path, line.removeprefix("*** Move to: ").strip()
        elif line.startswith("rename from "):
            found[-1].source = line.removeprefix("rename from ").strip()
        elif line.startswith(("new file mode", "deleted file mode")) and edit is None:
            found[-1].is_new |= line.startswith("new")
            found[-1].is_deleted |= line.startswith("deleted")
        elif line.startswith("@@"):
            edit = _open_hunk(found, line)
        elif line.startswith("+++ ") and edit is None:
            continue
        elif edit is None and not found[-1].edits and line[:1] in ("+", "-", " "):
            edit = _open_hunk(found, "")
            _add_line(edit, line)
        elif edit is not None and (is_fenced or _PLAIN.match(line)):
            _add_line(edit, line)
        else:
            edit = None
    return [one for one in found if one.edits or one.is_deleted or one.is_new or one.source]


def _read_path(header: str) -> str:
    path = header[4:].split("\t")[0].strip().strip('"')
    return path[2:] if path[:2] in ("a/", "b/") else path


def _open_hunk(found: list[FilePatch], header: str) -> Edit:
    edits, ranges = found[-1].edits, _RANGES.match(header)
    if not edits or edits[-1].old or edits[-1].new:
        edits.append(Edit(line=int(ranges[2]) - 1 if ranges else None))
    if not ranges and (anchor := header.strip("@ ")):
        edits[-1].anchors.append(anchor)
    return edits[-1]


def _add_line(edit: Edit, line: str) -> None:
    if line.startswith("\\"):  # no newline at the end of the file
        return
    if not line.startswith("+"):
        edit.old.append(line[1:] if line[:1] in ("-", " ") else line)
    if not line.startswith("-"):
        edit.new.append(line[1:] if line[:1] in ("+", " ") else line)


def place(text: str, edit: Edit) -> str | None:
    """The text with the edit; None if the lines that it replaces are not there."""
    lines = text.split("\n")
    if not any(map(str.strip, edit.old)):
        return _insert(lines, edit)
    start = -1
    for anchor in edit.anchors:
        start = next((at for at, line in enumerate(lines) if at > start and line.strip().startswith(anchor)), start)
    for cut in range(_MOST_CONTEXT + 1):
        old, new = _trim(edit.old, edit.new, cut)
        if cut and (len(old) == len(edit.old) or not any(map(str.strip, old))):
            break
        for alike in (str, str.rstrip, str.strip):
            if (found := _find(lines, old, alike, start, edit.line)) is None:
                continue
            first, last = found
            if alike is str.strip:
                if (shift := _measure_shift(lines[first : last + 1], old)) is None:
                    continue
                new = [line if not line.strip() else " " * (indent_of(line) + shift) + line.lstrip() for line in new]
            return "\n".join([*lines[:first], *new, *lines[last + 1 :]])
    return None


def _insert(lines: list[str], edit: Edit) -> str:
    here = len(lines)
    while here and not lines[here - 1].strip():
        here -= 1
    if edit.line is not None and edit.line < here:
        here = edit.line
    return "\n".join([*lines[:here], *edit.new, *lines[here:]])


def _trim(old: Sequence[str], new: Sequence[str], cut: int) -> tuple[list[str], list[str]]:
    """Without blank lines at the ends of what is replaced, and without as many lines of context at each end."""
    before, after = list(old), list(new)
    for _ in range(2):  # from the front, then from the back
        dropped = 0
        while before and (not before[0].strip() or (dropped < cut and after and before[0] == after[0])):
            dropped += bool(before[0].strip())
            if after and (after[0] == before[0] or not after[0].strip()):
                after.pop(0)
            before.pop(0)
        before.reverse()
        after.reverse()
    return before, after


def _find(
    lines: list[str], old: list[str], alike: Callable[[str], str], start: int, near: int | None
) -> tuple[int, int] | None:
    """The first and the last line of what is replaced; blank lines do not count."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    texts = [alike(lines[number]) for number in filled]
    wanted = [alike(line) for line in old if line.strip()]
    places = [
        (filled[at], filled[at + len(wanted) - 1])
        for at, text in enumerate(texts)
        if text == wanted[0] and texts[at : at + len(wanted)] == wanted
    ]
    places = [place for place in places if place[0] >= start] or places
    if near is not None:
        return min(places, key=lambda place: abs(place[0] - near), default=None)
    return next(iter(places), None)


def _measure_shift(there: list[str], old: list[str]) -> int | None:
    """By how much the file's lines are indented more than the edit's, if all are by the same."""
    pairs = zip(filter(str.strip, there), filter(str.strip, old), strict=True)
    shifts = {indent_of(one) - indent_of(two) for one, two in pairs}
    return shifts.pop() if len(shifts) == 1 else None
