"""Which words may take each other's place, and which may never be touched?

Read from `words.toml`, a table of our own. A word that carries the meaning of a task (an axis, a number, a negation, a
comparison) is in no list of synonyms and is counted by the guard.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
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
    """The same four forms of a verb and of those for it; `before`: what must follow for the exchange to be right."""

    forms: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]
    before: str = ""


@dataclass(frozen=True)
class Words:
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
def read_words() -> Words:
    table = _read_table()
    return Words(
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


def is_touchy(word: str) -> bool:
    return stem(word) in read_words().untouchable or word.lower().endswith("n't")
