"""What does a prompt state that another wording must state too?

Numbers, shapes, names, code and strings, letter by letter; words that carry an axis, a type, a direction or a negation,
in any form. And in which order a sentence states them: `x` divided by `y` is not `y` divided by `x`, although nothing
was added and nothing lost. What is done (divided, not, summed) moves against what it is done to when a sentence becomes
passive, so that these two are put in order apart.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from dlbench.agreement.mutation.text import Fixed, Kind, Piece, read
from dlbench.agreement.mutation.words import read_words, stem

COUNTED = ("negations", "numbers", "axes", "directions", "types", "logic")
_EXACT = (Kind.CODE, Kind.STRING, Kind.SHAPE, Kind.NUMBER)
_ORDERED = ("numbers", "axes", "directions", "types")
_DONE = frozenset(
    map(stem, ("add", "subtract", "multiply", "divide", "sum", "square", "exceed", "sorted", "drop", "discard"))
)
# all capitals are a way to write as well as a name, so those count as new names only where they are known
_NAMELIKE = re.compile(r"[_.\d]|[a-z][A-Z]")
_NEGATING = re.compile(r"^(?:un|non|in|im|dis|ir)(?=[a-z]{3})")
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)  # noqa: RUF001
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Stated:
    """What a sentence states, in its order: what it is about, and what is done or denied."""

    about: tuple[str, ...]
    done: tuple[str, ...]


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
    order: tuple[Stated, ...]
    """By sentence."""
    own: tuple[frozenset[str], ...]
    """By sentence, the stems that no other sentence has."""


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
        tuple(_find_stated(list(reading.within(sentence))) for sentence in reading.sentences),
        _find_own([list(reading.within(sentence)) for sentence in reading.sentences]),
    )


def looks_like_name(token: str) -> bool:
    return bool(_NAMELIKE.search(token))


def find_turned(before: Facts, after: Facts) -> list[str]:
    """Words that came to say the opposite by a prefix: sorted and unsorted."""
    gone, come = before.vocabulary - after.vocabulary, after.vocabulary - before.vocabulary
    turned = {word for word in come if _NEGATING.match(word) and stem(_NEGATING.sub("", word)) in gone}
    turned |= {word for word in gone if _NEGATING.match(word) and stem(_NEGATING.sub("", word)) in come}
    return sorted(turned)


def find_exchanged(before: Facts, after: Facts) -> str:
    """A word for which its opposite came: included and excluded. Fewer of one and more of the other; either alone may
    be another way to say the same."""
    for sides in read_words().opposites:
        one, other = (_count(after, side) - _count(before, side) for side in sides)
        if one * other < 0:
            lost, added = sides if one < 0 else sides[::-1]
            return f"{_show(before, after, lost)} became {_show(after, before, added)}"
    return ""


def _count(facts: Facts, side: tuple[str, ...]) -> int:
    return sum(times for word, times in facts.tokens.items() if word.lower().startswith(side))


def _show(there: Facts, elsewhere: Facts, side: tuple[str, ...]) -> str:
    found = there.tokens - elsewhere.tokens
    return ", ".join(sorted(word for word in found if word.lower().startswith(side)))


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


def _find_stated(pieces: list[Piece]) -> Stated:
    kept = read_words().kept
    about: list[str] = []
    done: list[str] = []
    for piece in pieces:
        if isinstance(piece, Fixed) and piece.kind in _EXACT:
            about.append(_plain(piece.text))
            continue
        for part in _parts(piece):
            if _negates(part):
                done.append("not")
            elif stem(part) in _DONE:
                done.append(stem(part))
            elif any(stem(part) in kept[kind] for kind in _ORDERED):
                about.append(stem(part))
    return Stated(tuple(about), tuple(done))


def _find_own(sentences: list[list[Piece]]) -> tuple[frozenset[str], ...]:
    touchy = read_words().kept["touchy"]
    stems = [
        {
            stem(part)
            for piece in pieces
            if not (isinstance(piece, Fixed) and piece.kind in _EXACT)
            for part in _parts(piece)
            if stem(part) not in touchy
        }
        for pieces in sentences
    ]
    counts = Counter(word for found in stems for word in found)
    return tuple(frozenset(word for word in found if counts[word] == 1) for found in stems)
