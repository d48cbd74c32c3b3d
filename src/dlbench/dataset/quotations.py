"""Does a prompt quote sentences that stand in the source?

Twelve words in a row are a quotation: of any docstring of the module, of a comment in the function, or of a message.
Words of a message that stand in a test may be quoted, since a solution has to say them.
"""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from dlbench.dataset.target import Function, Target
from dlbench.parsing import parse

QUOTED_WORDS = 12


def find_text_runs(prompt: str, module: ast.Module, target: Target) -> list[tuple[str, str]]:
    """Which text is quoted, and the words; each run once, since docstrings repeat each other."""
    texts = [("its docstring", target.docstring or ""), ("its comments", " ".join(re.findall(r"#(.*)", target.text)))]
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            texts.append((f"the docstring of {getattr(node, 'name', 'the module')}", ast.get_docstring(node) or ""))
    found: dict[str, str] = {}
    for name, text in texts:
        run = find_run(prompt, text)
        if run:
            found.setdefault(run, name)
    return [(name, run) for run, name in found.items()]


def find_message_runs(prompt: str, body: Iterable[ast.stmt], test_files: Iterable[Path]) -> list[str]:
    """What the prompt quotes of strings of the reference, less what tests have."""
    runs = dict.fromkeys(find_run(prompt, piece) for statement in body for piece in _strings(statement))
    runs.pop("", None)
    if not runs:
        return []
    tested = [
        f" {' '.join(_words(piece))} "
        for path in test_files
        if path.is_file()
        for piece in _strings(parse(path.read_text(encoding="utf-8")))
    ]
    return [run for run in runs if not any(f" {run} " in words for words in tested)]


def _strings(tree: ast.AST) -> list[str]:
    """The texts between what is filled in, be it by an f-string or by `format`."""
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [piece for value in constants if isinstance(value, str) for piece in re.split(r"\{[^{}]*\}", value)]


def find_run(prompt: str, text: str) -> str:
    """The longest run of words that prompt and text share, when it is long enough to be a quotation."""
    said, written = _words(prompt), _words(text)
    if not _runs(said) & _runs(written):
        return ""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(said):
        places.setdefault(word, []).append(place)
    longest, end = 0, 0
    previous: dict[int, int] = {}
    for index, word in enumerate(written):
        current = {place: previous.get(place - 1, 0) + 1 for place in places.get(word, [])}
        for length in current.values():
            if length > longest:
                longest, end = length, index + 1
        previous = current
    return " ".join(written[end - longest : end])


def _runs(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + QUOTED_WORDS]) for start in range(len(words) - QUOTED_WORDS + 1)}


def _words(text: str) -> list[str]:
    """Underscores at an end are not the word's: `{name}_` leaves one over."""
    return [word for word in (found.strip("_") for found in re.findall(r"\w+", text.lower())) if word]
