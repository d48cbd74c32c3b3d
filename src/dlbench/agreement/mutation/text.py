"""What in a prompt is prose, and what is not?

Code spans, quoted strings, numbers, shapes and names stand between the words of a prompt and look like them. An
operator that took them for prose would change the task. So a text is read once into what is fixed, its sentences, and
the words that are left.

Which words may take each other's place, and which may never be touched?

Read from `words.toml`, a table of our own. A word that carries the meaning of a task (an axis, a number, a negation, a
comparison) is in no list of synonyms and is counted by the guard.

How are a few words of a text exchanged, and nothing else?

Shared by the operators that put one word for another. A word keeps its capital, and `a` before it becomes `an` where
the new word wants it. A few and not all: a text in which every word was changed is another text.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from random import Random
from typing import Any

from dlbench.agreement.mutation.base import NotApplicable, Original, Paraphrase

_IRREGULAR = {
    "axes": "axis", "indices": "index", "matrices": "matrix", "vertices": "vertex", "n't": "not",
    "horizontally": "horizontal", "vertically": "vertical", "diagonally": "diagonal",
}  # fmt: skip
_POSSESSIVE = re.compile(r"['’]s$")  # noqa: RUF001
_PLURALS = re.compile(r"(?<=[a-z]{2})(?:(?<=ch|sh|ss)es|ies|(?<!s)s)$")


@dataclass(frozen=True)
class Verb:
    """The same four forms of a verb and of those for it; `before`: what must follow for the exchange to be right."""

    forms: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]
    before: str = ""


@dataclass(frozen=True)
class WordTable:
    verbs: tuple[Verb, ...]
    synonyms: Mapping[str, tuple[str, ...]]
    orders: Mapping[str, str]
    misleading: tuple[str, ...]
    parameters: Mapping[str, str]
    kept: Mapping[str, frozenset[str]]
    """By kind; `touchy` are those that only operators keep, not the guard."""
    opposites: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    """How words of either side begin."""

    @property
    def untouchable(self) -> frozenset[str]:
        return frozenset().union(*self.kept.values())


@cache
def load_words() -> WordTable:
    table = _read_table()
    return WordTable(
        tuple(
            Verb(tuple(row["from"]), tuple(tuple(other) for other in row["to"]), row.get("before", ""))
            for row in table["verbs"]
        ),
        {word: tuple(others) for word, others in table["synonyms"].items()},
        table["orders"],
        tuple(table["names"]["misleading"]),
        table["names"]["parameters"],
        {kind: frozenset(stem(word) for word in words) for kind, words in table["kept"].items()},
        tuple((tuple(one), tuple(other)) for one, other in table["opposites"]["pairs"]),
    )


@cache
def _read_table() -> dict[str, Any]:
    return tomllib.loads(files("dlbench.agreement.mutation").joinpath("words.toml").read_text(encoding="utf-8"))


@cache
def _read_irregular() -> dict[str, str]:
    return {form: verb for verb, form in _read_table()["orders"].items() if form} | _IRREGULAR


@cache
def stem(word: str) -> str:
    """One form for a word, its plural, its possessive and, of a verb of ours, its participle, whatever its case."""
    low = _POSSESSIVE.sub("", word.lower())
    if low in (irregular := _read_irregular()):
        return irregular[low]
    if low.endswith("ies"):
        return low if low == "series" else f"{low[:-3]}y"
    return _PLURALS.sub("", low)


def is_protected(word: str) -> bool:
    return stem(word) in load_words().untouchable or word.lower().endswith("n't")


class Kind(StrEnum):
    CODE = "code"
    STRING = "string"
    SHAPE = "shape"
    NUMBER = "number"
    COMPOUND = "compound"
    NAME = "name"


_PATTERNS = {
    Kind.CODE: r"```.*?```|`[^`]*`",
    Kind.STRING: r'"[^"\n]*"|“[^”\n]*”|(?<!\w)\'[^\'\n]+\'(?!\w)',
    # a tuple of single tokens, or whatever stands in square brackets
    Kind.SHAPE: r"\[[^\[\]\n]*\]|\((?:[^\s(),`]+\s*,\s*)+[^\s(),`]*\)|\b\d+(?:\s*[x×]\s*\d+)+\b",  # noqa: RUF001
    Kind.NUMBER: r"(?<![\w.])[-+−±]?\d[\w²³]*(?:[.,:/^-]+\w+)*%?|[½¼¾²³]",  # noqa: RUF001
    Kind.COMPOUND: r"\b[A-Za-z]+(?:-[A-Za-z]+)+\b",
    Kind.NAME: r"\b[^\W\d]\w*(?:\.[^\W\d]\w*)+\b(?:\(\))?|\b\w*_\w*\b|\b[^\W\d_]+\d\w*\b|\b[a-z]+[A-Z]\w*\b"
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
    """A part of a text and where it stands."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Fixed(Piece):
    kind: Kind


@dataclass(frozen=True)
class ParsedPrompt:
    """`hidden` is the text with every fixed piece blanked out, of the same length."""

    text: str
    hidden: str
    fixed: tuple[Fixed, ...]
    sentences: tuple[Piece, ...]
    words: tuple[Piece, ...]

    def within(self, piece: Piece) -> list[Piece]:
        """Fixed pieces and words of a part of the text, in order."""
        every: list[Piece] = [*self.fixed, *self.words]
        inside = [each for each in every if piece.start <= each.start and each.end <= piece.end]
        return sorted(inside, key=lambda each: each.start)


@lru_cache(maxsize=512)
def parse_prompt(text: str) -> ParsedPrompt:
    fixed = [
        Fixed(found.start(), found.end(), found[0], Kind(found.lastgroup or "")) for found in _FIXED.finditer(text)
    ]
    sentences = _split(text, _hide(text, fixed))
    starts = {each.start for each in sentences}
    words: list[Piece] = []
    for found in _WORD.finditer(_hide(text, fixed)):
        piece = Piece(found.start(), found.end(), found[0])
        if piece.start not in starts and _is_name(piece.text):
            fixed.append(Fixed(piece.start, piece.end, piece.text, Kind.NAME))
        else:
            words.append(piece)
    fixed.sort(key=lambda each: each.start)
    return ParsedPrompt(text, _hide(text, fixed), tuple(fixed), tuple(sentences), tuple(words))


def replace_pieces(text: str, changes: Iterable[tuple[Piece, str]]) -> str:
    for piece, new in sorted(changes, key=lambda change: change[0].start, reverse=True):
        text = text[: piece.start] + new + text[piece.end :]
    return text


def capitalize(text: str) -> str:
    """With a capital letter in front, unless it begins with something fixed."""
    return text[:1].upper() + text[1:]


def _is_name(word: str) -> bool:
    """Inside a sentence: Gaussian, Dice, Adam. All capitals are a way of writing, and so is `The` after a colon."""
    return word[0].isupper() and (word == "A" or not word.isupper()) and word.lower() not in load_words().kept["touchy"]


def _hide(text: str, fixed: Iterable[Piece]) -> str:
    return replace_pieces(text, [(piece, _BLANK.sub(_HIDDEN, piece.text)) for piece in fixed])


def _split(text: str, hidden: str) -> list[Piece]:
    """A sentence ends at a full stop before something that can begin one, and at the end of its line."""
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


MOST = 4
_VOWELS = "aeiou"

Exchange = tuple[Piece, str]


def replace_some(original: Original, reading: ParsedPrompt, found: Sequence[Exchange], chance: Random) -> Paraphrase:
    if not found:
        raise NotApplicable("no word of the text is in the table")
    chosen = chance.sample(list(found), min(len(found), chance.randint(1, MOST)))
    changes = [_fit_article(reading, piece, new) for piece, new in chosen]
    return Paraphrase(replace_pieces(original.task, changes), original.function)


def _fit_article(reading: ParsedPrompt, piece: Piece, new: str) -> Exchange:
    new = capitalize(new) if piece.text[0].isupper() else new
    article = next((word for word in reading.words if word.end + 1 == piece.start), None)
    if article is None or article.text.lower() not in ("a", "an"):
        return piece, new
    right = f"{article.text[0]}{'n' if new[0].lower() in _VOWELS else ''}"
    between = reading.text[article.end : piece.start]
    return Piece(article.start, piece.end, reading.text[article.start : piece.end]), f"{right}{between}{new}"
