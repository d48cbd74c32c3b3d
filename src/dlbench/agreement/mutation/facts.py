"""What does a prompt state that another wording must state too?

Numbers, shapes, names, code and strings, letter by letter; words that carry an axis, a type, a direction or a negation,
in any form. And in which order a sentence states them: `x` divided by `y` is not `y` divided by `x`, although nothing
was added and nothing lost.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from dlbench.agreement.mutation.text import Fixed, Kind, Piece, read
from dlbench.agreement.mutation.words import read_words, stem

COUNTED = ("negations", "numbers", "axes", "directions", "types")
_EXACT = (Kind.CODE, Kind.STRING, Kind.SHAPE, Kind.NUMBER)
_ORDERED = ("numbers", "axes")
# all capitals are a way to write as well as a name, so those count as new names only where they are known
_NAMELIKE = re.compile(r"[_.\d]|[a-z][A-Z]")
_NEGATING = re.compile(r"^(?:un|non|in|im|dis|ir)(?=[a-z]{3})")
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)  # noqa: RUF001
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Facts:
    exact: dict[Kind, Counter[str]]
    tokens: Counter[str]
    """Every word and name as it is written, code and strings left out."""
    names: frozenset[str]
    counted: dict[str, Counter[str]]
    """By kind of word."""
    negations: int
    vocabulary: frozenset[str]
    """Stems of all words."""
    order: tuple[tuple[str, ...], ...]
    """What each sentence states, in its order."""


@lru_cache(maxsize=512)
def find_facts(text: str) -> Facts:
    reading = read(text)
    exact = {kind: Counter(_plain(each.text) for each in reading.fixed if each.kind == kind) for kind in _EXACT}
    spoken = [
        part
        for piece in [*reading.words, *(each for each in reading.fixed if each.kind not in _EXACT)]
        for part in _parts(piece)
    ]
    kept = read_words().kept
    counted = {kind: Counter(stem(word) for word in spoken if stem(word) in kept[kind]) for kind in COUNTED}
    return Facts(
        exact,
        Counter(spoken),
        frozenset(
            each.text for each in reading.fixed if each.kind == Kind.NAME and stem(each.text) not in kept["negations"]
        ),
        counted,
        sum(_negates(word) for word in spoken),
        frozenset(map(stem, spoken)),
        tuple(
            tuple(token for piece in reading.within(sentence) for token in _ordered(piece))
            for sentence in reading.sentences
        ),
    )


def looks_like_name(token: str) -> bool:
    return bool(_NAMELIKE.search(token))


def find_turned(before: Facts, after: Facts) -> list[str]:
    """Words that came to say the opposite by a prefix: sorted and unsorted."""
    gone, come = before.vocabulary - after.vocabulary, after.vocabulary - before.vocabulary
    turned = {word for word in come if _NEGATING.match(word) and stem(_NEGATING.sub("", word)) in gone}
    turned |= {word for word in gone if _NEGATING.match(word) and stem(_NEGATING.sub("", word)) in come}
    return sorted(turned)


def _parts(piece: Piece) -> list[str]:
    if isinstance(piece, Fixed) and piece.kind == Kind.COMPOUND:
        return piece.text.split("-")
    return [_POSSESSIVE.sub("", piece.text)]


def _plain(text: str) -> str:
    """A line break inside a shape or a string is layout."""
    return _SPACES.sub(" ", text)


def _negates(word: str) -> bool:
    low = word.lower()
    return stem(low) in read_words().kept["negations"] or low.endswith(("n't", "n’t")) or low == "non"  # noqa: RUF001


def _ordered(piece: Piece) -> list[str]:
    if isinstance(piece, Fixed) and piece.kind in _EXACT:
        return [_plain(piece.text)]
    kept = read_words().kept
    return [stem(part) for part in _parts(piece) if any(stem(part) in kept[kind] for kind in _ORDERED)]
