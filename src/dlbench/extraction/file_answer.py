"""Read an answer of several files: whole files by path, edits, diffs, JSON, and plain definitions.

Everything that an answer changes is applied in its order to what was given. A block with a path that is only a part of
the file does not replace the file, and a block without one goes where its definitions are asked for.
`docs/extraction.md` states the rules.
"""

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from dlbench.dataset.target import Function
from dlbench.extraction import syntax
from dlbench.extraction.definitions import is_whole, list_defined, merge_definitions
from dlbench.extraction.edits import (
    REPLACE,
    SEARCH,
    Edit,
    find_diff,
    has_replacements,
    is_diff,
    place,
    read_diff,
    read_replacements,
)
from dlbench.extraction.fences import PYTHON, Block, split
from dlbench.extraction.file_json import FileChange, find_changes
from dlbench.extraction.file_paths import PATHS, SEPARATOR, resolve_path, split_block
from dlbench.extraction.reasoning import without_reasoning
from dlbench.extraction.structured import is_json
from dlbench.extraction.unfenced import LANGUAGES, find_runs
from dlbench.runs.verdict import Status

_TAGGED = re.compile(
    r"<(?P<tag>\w+)\s[^<>]*?(?:path|name|file)=[\"'](?P<path>[^\"'<>]+)[\"'][^<>]*>\n?(?P<text>.*?)</(?P=tag)>"
    r"|<path>\s*(?P<inner>[^<>]+?)\s*</path>\s*<(?P<body>\w+)>\n?(?P<content>.*?)</(?P=body)>",
    re.DOTALL,
)
_REPLACEMENT = re.compile(
    rf"^[ \t]*{SEARCH.pattern[1:]}.*?^[ \t]*{REPLACE.pattern[1:]}[^\n]*$", re.DOTALL | re.MULTILINE
)
_DATA = frozenset({"json", "toml", "yaml", "yml", "text", "txt", "csv", "md", "markdown", "ini", "cfg", "jinja", "pyi"})
_MOST_PARTS = 500


@dataclass(frozen=True)
class Given:
    """What an answer may change."""

    texts: Mapping[str, str]
    """Files by path: those of the import packages."""
    files: Sequence[str]
    """The modules that are asked for."""
    asked: Collection[str] = ()
    """`path::qualname` of the definitions that are asked for, if the task names some."""


@dataclass(frozen=True)
class FileAnswer:
    """The new text of each file that an answer changes, None where it removes one; or why nothing can be read."""

    files: dict[str, str | None]
    reason: str
    status: Status | None = None
    truncated: bool = False
    unplaced: tuple[str, ...] = ()
    """Edits whose lines are not in the file."""


def extract_files(answer: str, given: Given) -> FileAnswer:
    """The files that an answer changes; never raises."""
    text = answer.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    visible, is_open = without_reasoning(text)
    if not visible.strip():
        empty = "there is reasoning and no answer" if text.strip() else "the answer is empty"
        return FileAnswer({}, "the reasoning never ends" if is_open else empty, Status.NO_CODE, is_open)
    draft = _Draft(given, cut=is_open)
    draft.read(visible)
    return draft.report()


@dataclass
class _Draft:
    given: Given
    cut: bool = False
    files: dict[str, str | None] = field(default_factory=dict)
    forms: list[str] = field(default_factory=list)
    unplaced: list[str] = field(default_factory=list)
    broken: str = ""
    """The parser's error on code that could not be put anywhere."""
    defined: list[str] = field(default_factory=list)
    """Names of definitions that could not be put anywhere."""

    def report(self) -> FileAnswer:
        changed = {path: text for path, text in self.files.items() if text != self.given.texts.get(path)}
        unplaced = tuple(self.unplaced)
        reason = ", ".join(dict.fromkeys(self.forms))
        if self.forms:
            return FileAnswer(changed, reason, None, self.cut, unplaced)
        if self.unplaced:
            what = f"the lines that an edit replaces are not in the file: {self.unplaced[0]}"
            return FileAnswer({}, what, Status.MISSING_TARGET, self.cut, unplaced)
        if self.broken:
            return FileAnswer({}, self.broken, Status.SYNTAX_ERROR, self.cut)
        if self.defined:
            what = f"no file is named, and it defines {', '.join(self.defined[:3])}, which is not asked for"
            return FileAnswer({}, what, Status.MISSING_TARGET, self.cut)
        return FileAnswer({}, "the answer holds no file, edit or definition", Status.NO_CODE, self.cut)

    def read(self, text: str) -> None:
        if is_json(text):
            self.apply_changes(find_changes(text))
            return
        late: list[tuple[str, Edit]] = []
        if has_replacements(text):
            late = self.apply_replacements(text)
            text = _REPLACEMENT.sub("", text)
        self.read_rest(text)
        for path, edit in late:  # they may change what stands above them
            self.replace(path, edit)

    def read_rest(self, text: str) -> None:
        for found in list(_TAGGED.finditer(text)):
            path, content = found["path"] or found["inner"], found["text"] or found["content"] or ""
            if PATHS.fullmatch(path.strip()):
                self.write(self.resolve(path), _unwrap(content), "tagged files")
                text = text.replace(found[0], "")
        start = find_diff(text)
        if start is not None and "```" not in (head := "\n".join(text.split("\n")[:start])) and "~~~" not in head:
            # Fences after that are lines of the diff.
            self.apply_diff(text, is_fenced=False)
            return
        blocks, outside = split(text)
        self.read_blocks(blocks)
        if not self.forms and not blocks:
            self.apply_changes([one for one in find_changes(text) if one.path or one.diff])
        if not self.forms and not blocks:
            self.read_unfenced(outside)

    def read_blocks(self, blocks: list[Block]) -> None:
        unnamed: list[str] = []
        hints: dict[str, str] = {}
        for number, block in enumerate(blocks[:_MOST_PARTS]):
            is_cut = number == len(blocks) - 1 and not block.closed
            self.cut |= is_cut
            parts = list(split_block(block))
            if block.language in LANGUAGES or (block.language in ("", *PYTHON) and is_diff(block.text)):
                path = parts[0][0]
                header = f"--- {path}\n+++ {path}\n" if path and not is_diff(block.text) else ""
                self.apply_diff(header + block.text)
                continue
            if not any(path for path, _, _ in parts) and (block.language == "json" or is_json(block.text)):
                self.apply_changes(find_changes(block.text))
                continue
            for path, is_sure, code in parts:
                is_python = block.language in ("", *PYTHON)
                where = self.resolve(path) if path else ""
                before = self.read_text(where) if is_python and where else None
                is_data = block.language in _DATA and (not where.endswith(".py") or syntax.parse(code) is not None)
                is_file = is_sure and (is_python or is_data)
                if is_file or (before is not None and is_whole(before, code)):
                    self.write(where, code, "files by path", is_cut=is_cut)
                elif is_python:
                    unnamed.append(code)
                    if where.endswith(".py"):
                        hints[where] = code
        if unnamed:
            self.define(unnamed, hints)

    def read_unfenced(self, text: str) -> None:
        parts: list[tuple[str, list[str]]] = [("", [])]
        for line in text.split("\n"):
            if found := SEPARATOR.match(line):
                parts.append((found["path"], []))
            else:
                parts[-1][1].append(line)
        named = [(path, code) for path, lines in parts[1:] if (code := _find_code("\n".join(lines)))]
        for path, code in named[:_MOST_PARTS]:
            self.write(self.resolve(path), code, "files by path")
        if not named and (code := _find_code(text)):
            self.define([code], {})

    def resolve(self, path: str) -> str:
        return resolve_path(path, self.given.files, [*self.given.texts, *self.files])

    def read_text(self, path: str) -> str | None:
        return self.files[path] if path in self.files else self.given.texts.get(path)

    def asked_in(self, path: str) -> set[str]:
        return {one.partition("::")[2] for one in self.given.asked if one.partition("::")[0] == path}

    def write(self, path: str, code: str, form: str, *, is_cut: bool = False) -> None:
        """Lay a file down, or put the part of it that the answer shows into what is there."""
        code = code.strip("\n").rstrip() + "\n"
        before = self.read_text(path)
        if before is not None and not code.strip():
            return
        self.forms.append(form)
        if path.endswith(".py"):
            code = syntax.repair(code) or code
            if is_cut and syntax.parse(code) is None:
                code = syntax.whole_prefix(code)
            if before and syntax.parse(code) is not None and not is_whole(before, code):
                code, _ = merge_definitions(before, code, asked=self.asked_in(path), everything=True)
            elif path in self.files and syntax.parse(code) is None:  # a remark on what stands above
                return
        self.files[path] = code

    def define(self, codes: list[str], hints: Mapping[str, str]) -> None:
        """Put definitions where they are asked for. `hints`: code by a path that a sentence before it names."""
        parts = []
        for code in codes:
            repaired = syntax.repair(code.strip("\n").rstrip())
            if repaired is not None:
                parts.append(repaired)
            elif self.cut and code is codes[-1]:
                parts.append(syntax.whole_prefix(code))
            elif not self.broken:
                error = syntax.attempt(code)
                self.broken = f"the code does not parse: {error}"
        joined = "\n\n\n".join(part for part in parts if part.strip())
        if not joined.strip():
            return
        names = {path: set(list_defined(self.read_text(path) or "")) for path in self.given.files}
        bare = {path: _list_methods(self.asked_in(path), self.read_text(path) or "") for path in names}
        defined = list_defined(joined)
        homes: dict[str, list[str]] = {}
        for name in defined:
            there = [path for path in names if name in names[path]]
            asked_there = [path for path in there if name in self.asked_in(path)]
            homes[name] = asked_there or there or [path for path in bare if name in bare[path]]
        is_clear = any(len(found) == 1 for found in homes.values())
        for path in self.given.files:
            if any(path in found and (len(found) == 1 or not is_clear) for found in homes.values()):
                others = [name for name, found in homes.items() if found and path not in found]
                text, replaced = merge_definitions(
                    self.read_text(path) or "", joined, asked=self.asked_in(path), left_out=others
                )
                if replaced:
                    self.files[path] = text
                    self.forms.append("definitions without a path")
        for path, code in hints.items():
            if not any(homes.get(name) for name in list_defined(code)):
                self.write(path, code, "files by path")
        self.defined += defined

    def apply_changes(self, changes: Sequence[FileChange]) -> None:
        codes = []
        for change in changes:
            if change.diff is not None:
                self.apply_diff(change.diff)
            elif change.old is not None:
                self.replace(self.resolve(change.path), Edit(change.old.split("\n"), (change.text or "").split("\n")))
            elif not change.path:
                codes.append(_unwrap(change.text or ""))
            elif change.text is None:
                self.files[self.resolve(change.path)] = None
                self.forms.append("JSON")
            else:
                self.write(self.resolve(change.path), _unwrap(change.text), "JSON")
        if codes and not self.forms:
            self.define(codes, {})

    def apply_replacements(self, text: str) -> list[tuple[str, Edit]]:
        """Apply search-and-replace blocks; those that do not fit, with their files."""
        last = ""
        late = []
        for before, edit in read_replacements(text):
            named = next((found for line in reversed(before) if (found := PATHS.findall(line))), None)
            last = path = self.resolve(named[-1]) if named else self.find_place(edit, last)
            if not self.replace(path, edit):
                late.append((path, edit))
                self.unplaced.pop()
        return late

    def find_place(self, edit: Edit, last: str) -> str:
        """The file that has the lines of an edit that names none; `last`: the one of the edit before."""
        paths = [last, *self.given.files] if last else self.given.files
        fitting = (path for path in paths if place(self.read_text(path) or "", edit) is not None)
        return next(fitting, paths[0])

    def replace(self, path: str, edit: Edit) -> bool:
        """Whether the edit fits."""
        before = self.read_text(path)
        if not any(map(str.strip, edit.old)) and edit.line is None:
            new = "\n".join(edit.new)
            if before is None or syntax.parse(new) is not None:
                self.write(path, new, "edits")
                return True
        after = place(before, edit) if before is not None else None
        if after is None:
            first = next((line.strip() for line in edit.old if line.strip()), "")
            self.unplaced.append(f"{path}: {first}" if before is not None else f"{path}: there is no such file")
        else:
            self.files[path] = after
            self.forms.append("edits")
        return after is not None

    def apply_diff(self, text: str, *, is_fenced: bool = True) -> None:
        for one in read_diff(text, is_fenced=is_fenced):
            path = self.resolve(one.path)
            if one.is_deleted:
                self.files[path] = None
                self.forms.append("a diff")
                continue
            if one.source:
                source = self.resolve(one.source)
                path = self.resolve(one.path) if source != path else one.path
                self.files[path], self.files[source] = self.read_text(source), None
                self.forms.append("a diff")
            if one.is_new or self.read_text(path) is None:
                new = [line for edit in one.edits for line in edit.new]
                self.write(path, "\n".join(new), "a diff")
                continue
            for edit in one.edits:
                self.replace(path, edit)


def _list_methods(asked: Collection[str], text: str) -> set[str]:
    """Names of the methods that are asked for, alone or with their classes."""
    tree = syntax.parse(text)
    classes = [node for node in (tree.body if tree is not None else ()) if isinstance(node, ast.ClassDef)]
    inside = (node for one in classes if one.name in asked for node in one.body if isinstance(node, Function))
    return {one.rpartition(".")[2] for one in asked} | {node.name for node in inside}


def _unwrap(text: str) -> str:
    """The text inside a fence, or a section of XML, that is around all of it."""
    if (section := text.strip()).startswith("<![CDATA[") and section.endswith("]]>"):
        return section[9:-3]
    if not text.lstrip().startswith(("```", "~~~")):
        return text
    blocks, outside = split(text.strip("\n"))
    return blocks[0].text if len(blocks) == 1 and not outside.strip() else text


def _find_code(text: str) -> str:
    """The code in a text without fences."""
    code = syntax.repair(text.strip("\n").rstrip()) or "\n\n".join(find_runs(text.split("\n"))[0])
    return code if syntax.is_code(code) else ""
