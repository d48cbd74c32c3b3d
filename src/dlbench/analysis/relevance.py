"""Measure how much of a text is about deep learning: the papers' DL-relevance ratio.

The ratio is the share of distinct words that contain a keyword (`keywords.toml`), for prompts and for code.
"""

import builtins
import io
import keyword
import re
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from dlbench.analysis.complexity import Figures, count_bins, find_figures
from dlbench.analysis.corpora import Corpus

CATEGORIES = ("architectures", "optimisers", "components", "training", "processing", "libraries")
BINS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_ANYWHERE = 5
"""Keywords of at least this length match anywhere in a word."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PYTHON = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "self", "cls"}


@dataclass(frozen=True)
class Relevance:
    """Of the prompts or of the code of one dataset."""

    name: str
    text: str
    """prompt or code."""
    figures: Figures
    """Of the ratio: relevant distinct words over distinct words."""
    by_occurrence: Figures
    """The same, counting every occurrence."""
    bins: tuple[float, ...]
    """The share of texts in each of `BINS`."""
    categories: Mapping[str, float]
    """Share of all distinct words with a keyword of this kind; a word may have several."""
    frequent: tuple[tuple[str, int], ...]
    """The relevant words that occur in most texts."""


def measure_relevance(corpus: Corpus) -> list[Relevance]:
    """One result for prompts, and one for code if any reference is known."""
    found = {
        "prompt": [split_prompt(item.prompt) for item in corpus.items],
        "code": [split_code(text) for _, text in corpus.with_code],
    }
    return [_measure(corpus.name, kind, texts) for kind, texts in found.items() if texts]


def split_prompt(text: str) -> list[str]:
    """Words and names, without the commonest English words."""
    left_out = _read_lists()["english"]
    return [word for word in _WORD.findall(text) if word.lower() not in left_out]


def split_code(code: str) -> list[str]:
    """Names, without Python's keywords and builtins. Code that does not tokenize counts up to the error."""
    names = []
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.NAME and token.string not in _PYTHON:
                names.append(token.string)
    return names


@lru_cache(maxsize=100_000)  # most words occur in several texts
def find_categories(word: str) -> frozenset[str]:
    """The kinds of keywords that a word contains; empty if it is not relevant."""
    low = word.lower()
    parts = {part.lower() for part in _PART.findall(word)} | {low} | set(low.split("_"))
    lists = _read_lists()
    return frozenset(
        category
        for category in CATEGORIES
        if any(key in low if len(key) >= _ANYWHERE else key in parts for key in lists[category])
    )


def _measure(name: str, text: str, texts: Iterable[list[str]]) -> Relevance:
    ratios, occurrences = list[float](), list[float]()
    kinds, words, total = Counter[str](), Counter[str](), 0
    for found in texts:
        distinct = {word.lower(): word for word in found}
        total += len(distinct)
        relevant = {low for low, word in distinct.items() if find_categories(word)}
        kinds.update(category for word in distinct.values() for category in find_categories(word))
        words.update(relevant)
        ratios.append(len(relevant) / len(distinct) if distinct else 0.0)
        occurrences.append(sum(word.lower() in relevant for word in found) / len(found) if found else 0.0)
    return Relevance(
        name=name,
        text=text,
        figures=find_figures(ratios),
        by_occurrence=find_figures(occurrences),
        bins=count_bins(ratios, BINS),
        categories={category: kinds[category] / max(1, total) for category in CATEGORIES},
        frequent=tuple(words.most_common(10)),
    )


@cache
def _read_lists() -> dict[str, frozenset[str]]:
    read = tomllib.loads(files("dlbench.analysis").joinpath("keywords.toml").read_text(encoding="utf-8"))
    return {name: frozenset(read[name]) for name in CATEGORIES} | {"english": frozenset(read["left_out"]["english"])}
