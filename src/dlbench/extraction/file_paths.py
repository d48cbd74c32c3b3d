"""Find the paths that an answer gives its code, and the files of the tree that they mean."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath

from dlbench.extraction import syntax
from dlbench.extraction.fences import Block

_PATH = r"(?:[\w.@~-]+[/\\])*[\w.-]*\w\.(?:pyi?|toml|json|ya?ml|txt|csv|cfg|md|jinja2?)\b"
PATHS = re.compile(rf"(?<![\w/\\.]){_PATH}|(?<=[ab]/){_PATH}|/(?:[\w.-]+/)+[\w.-]+\.py\b")
_LABEL = r"(?:(?:file(?:name)?|path)\s*[:=]\s*)?"
_NAMED = rf"{_LABEL}[`'\"]?(?P<path>{_PATH})[`'\"]?"
_COMMENT = re.compile(rf"^[ \t]*(?:#+|//)[-=\s]*{_NAMED}[-=\s:]*(?:\([^()]*\))?$", re.IGNORECASE)
SEPARATOR = re.compile(rf"^[ \t]*(?:[-=#*<\[]+\s*)?{_NAMED}[ \t]*[-=#*>:\]]*[ \t]*$", re.IGNORECASE)
"""A line between files that have no fences."""
_WORDS = "file|filename|path|new|updated?|modified|created?|full|contents?|of|in|the|module|title"
_DECORATION = re.compile(rf"\b(?:{_WORDS})\b|[\W\d_]+", re.IGNORECASE)


def resolve_path(path: str, files: Sequence[str], others: Collection[str]) -> str:
    """The path in the tree that an answer means. `files`: those that are asked for."""
    path = path.strip().strip("`'\"*").replace("\\", "/").removeprefix("./")
    known = list(dict.fromkeys([*files, *others]))
    stripped = [path, *(path[2:] for prefix in ("a/", "b/") if path.startswith(prefix))]
    for inner in stripped:
        if inner in known:
            return inner
        for one in known:
            if one.endswith(f"/{inner}") or (inner.endswith(f"/{one}") and ("/" in one or inner.startswith("/"))):
                return one
    parent, name = PurePosixPath(path).parent.as_posix(), PurePosixPath(path).name
    if parent == ".":
        own = {PurePosixPath(one).parent.as_posix() for one in files}
        return f"{own.pop()}/{name}" if len(own) == 1 and name.endswith(".py") else name
    folders = list(dict.fromkeys(PurePosixPath(one).parent.as_posix() for one in known))
    if parent not in folders:
        same = (one for one in folders if one.endswith(f"/{parent}") or parent.endswith(f"/{one}"))
        parent = next(same, parent)
    return f"{parent}/{name}"


def split_block(block: Block) -> Iterator[tuple[str, bool, str]]:
    """The files in a block: path, whether it is surely the file's, and code."""
    info = PATHS.findall(block.info)
    lines = block.text.split("\n")
    marks = [(number, found["path"]) for number, line in enumerate(lines) if (found := _COMMENT.match(line))]
    filled = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if info:
        yield info[-1], True, block.text
    elif marks and marks[0][0] == filled:
        ends = [*(number for number, _ in marks[1:]), len(lines)]
        parts = ["\n".join(lines[start + 1 : end]) for (start, _), end in zip(marks, ends, strict=True)]
        if len(parts) > 1 and not all(syntax.repair(part) is not None for part in parts):
            yield marks[0][1], True, "\n".join(lines[filled + 1 :])
        else:
            yield from ((path, True, part) for (_, path), part in zip(marks, parts, strict=True))
    else:
        path, is_sure = _find_heading(block.before)
        yield path, is_sure, block.text


def _find_heading(before: Sequence[str]) -> tuple[str, bool]:
    """The path that the lines before a block name: in a line of its own, or in the sentence before the block."""
    named = [
        paths[0]
        for line in before
        if len(set(paths := PATHS.findall(line))) == 1 and not _DECORATION.sub("", line.replace(paths[0], ""))
    ]
    if named:
        return named[-1], len(set(named)) == 1  # several are a list of files
    if before and len(set(paths := PATHS.findall(before[-1]))) == 1:
        return paths[0], False
    return "", False
