"""Split a prompt into prose and fixed pieces, and load the table of words that operators use.

`words.toml` lists words that may replace each other, and words that never change: axes, numbers, negations.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

_IRREGULAR = {
    "axes": "axis", "indices": "index", "matrices": "matrix", "vertices": "vertex", "n't": "not",
    "horizontally": "horizontal", "vertically": "vertical", "diagonally": "diagonal",
}  # fmt: skip
_POSSESSIVE = re.compile(r"['’]s$")  # noqa: RUF001
_PLURALS = re.compile(r"(?<=[a-z]{2})(?:(?<=ch|sh|ss)es|ies|(?<!s)s)$")


@dataclass(frozen=True)
class Verb:
    """Four forms of a verb, and the same forms of its replacements; `before`: a pattern that must follow it."""

    forms: list[str]
    others: list[list[str]]
    before: str = ""


@dataclass(frozen=True)
class WordTable:
    verbs: list[Verb]
    synonyms: dict[str, list[str]]
    imperatives: dict[str, str]
    misleading: list[str]
    parameters: dict[str, str]
    protected: dict[str, frozenset[str]]
    """By kind; operators do not change words of kind `operators_only`, but the guard does not count them."""
    opposites: list[list[tuple[str, ...]]]
    """Pairs of opposites, each side as prefixes of words."""

    @property
    def all_protected(self) -> frozenset[str]:
        return frozenset().union(*self.protected.values())


@cache
def load_words() -> WordTable:
    table = _read_table()
    return WordTable(
        [Verb(row["from"], row["to"], row.get("before", "")) for row in table["verbs"]],
        table["synonyms"],
        table["imperatives"],
        table["names"]["misleading"],
        table["names"]["parameters"],
        {kind: frozenset(map(stem, words)) for kind, words in table["protected"].items()},
        [[tuple(side) for side in pair] for pair in table["opposites"]["pairs"]],
    )


@cache
def _read_table() -> dict[str, Any]:
    return tomllib.loads(files("dlbench.agreement.mutation").joinpath("words.toml").read_text(encoding="utf-8"))


@cache
def _list_irregular() -> dict[str, str]:
    return {form: verb for verb, form in _read_table()["imperatives"].items() if form} | _IRREGULAR


@cache
def stem(word: str) -> str:
    """One lower-case form for a word, its plural, its possessive and the participle of a verb in our table."""
    low = _POSSESSIVE.sub("", word.lower())
    if low in (irregular := _list_irregular()):
        return irregular[low]
    if low.endswith("ies"):
        return low if low == "series" else f"{low[:-3]}y"
    return _PLURALS.sub("", low)


class PieceKind(StrEnum):
    CODE = "code"
    STRING = "string"
    SHAPE = "shape"
    NUMBER = "number"
    COMPOUND = "compound"
    NAME = "name"


_PATTERNS = {
    PieceKind.CODE: r"```.*?```|`[^`]*`",
    PieceKind.STRING: r'"[^"\n]*"|“[^”\n]*”|(?<!\w)\'[^\'\n]+\'(?!\w)',
    # a tuple of single tokens, or anything in square brackets
    PieceKind.SHAPE: r"\[[^\[\]\n]*\]|\((?:[^\s(),`]+\s*,\s*)+[^\s(),`]*\)|\b\d+(?:\s*[x×]\s*\d+)+\b",  # noqa: RUF001
    PieceKind.NUMBER: r"(?<![\w.])[-+−±]?\d[\w²³]*(?:[.,:/^-]+\w+)*%?|[½¼¾²³]",  # noqa: RUF001
    PieceKind.COMPOUND: r"\b[A-Za-z]+(?:-[A-Za-z]+)+\b",
    PieceKind.NAME: r"\b[^\W\d]\w*(?:\.[^\W\d]\w*)+\b(?:\(\))?|\b\w*_\w*\b|\b[^\W\d_]+\d\w*\b|\b[a-z]+[A-Z]\w*\b"
    r"|\b[A-Z][a-z]+[A-Z]\w*\b|\b[A-Z]{2,}\w*\b|\b(?:None|True|False|NaN)\b|(?<!['’])\b[b-zB-HJ-Z]\b(?!['’])",  # noqa: RUF001
}
_FIXED = re.compile("|".join(f"(?P<{kind.value}>{pattern})" for kind, pattern in _PATTERNS.items()), re.DOTALL)
_HIDDEN, _BLANK = "\0", re.compile(r"[^\n]")
_BULLET = re.compile(r"[ \t]*(?:[-*•]|\d+[.)])[ \t]+")
_ENDS = re.compile(r"[.!?][)\"”]*(?=\s+[A-Z`\"(\[\0])")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|cf|vs)\.$", re.IGNORECASE)
_WORD = re.compile(r"(?<![\w'’\0-])[A-Za-z]+(?:['’][a-z]+)?(?![\w\0-])")  # noqa: RUF001


@dataclass(frozen=True)
class Piece:
    """A part of the text; `kind` is for fixed pieces only."""

    start: int
    end: int
    text: str
    kind: PieceKind | None = None


@dataclass(frozen=True)
class ParsedPrompt:
    """`hidden` is the text with every fixed piece blanked out, at the same length."""

    text: str
    hidden: str
    fixed: tuple[Piece, ...]
    sentences: tuple[Piece, ...]
    words: tuple[Piece, ...]

    def within(self, piece: Piece) -> list[Piece]:
        """Fixed pieces and words of a part of the text, in order."""
        inside = [one for one in (*self.fixed, *self.words) if piece.start <= one.start and one.end <= piece.end]
        return sorted(inside, key=lambda one: one.start)


@lru_cache(maxsize=512)
def parse_prompt(text: str) -> ParsedPrompt:
    matches = _FIXED.finditer(text)
    fixed = [Piece(*found.span(), found[0], PieceKind(found.lastgroup or "")) for found in matches]
    sentences = _split(text, _hide(text, fixed))
    starts = {one.start for one in sentences}
    words: list[Piece] = []
    for found in _WORD.finditer(_hide(text, fixed)):
        if found.start() not in starts and _is_name(found[0]):
            fixed.append(Piece(*found.span(), found[0], PieceKind.NAME))
        else:
            words.append(Piece(*found.span(), found[0]))
    fixed.sort(key=lambda one: one.start)
    return ParsedPrompt(text, _hide(text, fixed), tuple(fixed), tuple(sentences), tuple(words))


def replace_pieces(text: str, changes: Iterable[tuple[Piece, str]]) -> str:
    for piece, new in sorted(changes, key=lambda change: change[0].start, reverse=True):
        text = text[: piece.start] + new + text[piece.end :]
    return text


def capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _is_name(word: str) -> bool:
    """A capitalised word inside a sentence (Gaussian, Adam), but not one in all capitals, nor `The` after a colon."""
    return (
        word[0].isupper()
        and (word == "A" or not word.isupper())
        and word.lower() not in load_words().protected["operators_only"]
    )


def _hide(text: str, fixed: Iterable[Piece]) -> str:
    return replace_pieces(text, [(piece, _BLANK.sub(_HIDDEN, piece.text)) for piece in fixed])


def _split(text: str, hidden: str) -> list[Piece]:
    """Split into sentences: at a full stop before a possible beginning, and at the end of a line."""
    found: list[Piece] = []
    start = 0
    for line, shown in zip(text.split("\n"), hidden.split("\n"), strict=True):
        bullet = _BULLET.match(line)
        here = bullet.end() if bullet else len(line) - len(line.lstrip())
        for end in [*_ENDS.finditer(shown), None]:
            stop = end.end() if end else len(line.rstrip())
            if end and (_ABBREVIATION.search(line[:stop]) or stop <= here):
                continue
            if stop > here:
                found.append(Piece(start + here, start + stop, line[here:stop]))
            here = stop + len(line[stop:]) - len(line[stop:].lstrip())
        start += len(line) + 1
    return found
