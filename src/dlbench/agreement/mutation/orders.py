"""Which sentences of a task are orders?

`Return the mean.` is one, `Mean of the rows.` is none, and `Compute the mean and return it.` is two in one. Three
operators say orders otherwise; what is no plain order they leave alone.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dlbench.agreement.mutation.interface import Original, Unfit, Wording
from dlbench.agreement.mutation.text import Piece, Reading, read, replace_pieces
from dlbench.agreement.mutation.words import read_words

_DENIED = re.compile(r"(Do not|Don't|Never) ([a-z]+)\b")
_FIRST = re.compile(r"([A-Z][a-z]+) (?=\S)")
# After the verb of an order comes its object; after a noun of the same spelling comes a verb or a preposition.
_OBJECT = {
    "a", "an", "the", "all", "any", "each", "every", "both", "it", "its", "them", "their", "this", "these", "that",
    "those", "one", "two", "three", "several", "some", "how", "whether", "what", "which", "as", "out", "up", "with",
    "for", "only", "new", "from", "by", "in", "to", "into", "at", "on", "over", "nothing", "twice", "where",
}  # fmt: skip
_NOUNS = {"sum", "mean", "score", "sample", "count", "set", "map", "match", "scale", "mask", "cut", "group", "place",
          "measure", "filter", "limit", "call", "cast", "round", "split", "work", "turn", "average", "estimate",
          "sort", "crop", "update", "shift", "check", "store", "register", "draw", "use"}  # fmt: skip
_NEVER_AFTER_NOUN = {"a", "an", "the", "all", "each", "every", "both", "it", "them", "this", "these", "those", "any"}
_AFTER_JOIN = re.compile(r"(?:(?<=\band )|(?<=\bbut )|(?<=\bthen )|(?<=\bor )|(?<=[,;:] ))([a-z]+)\b")


@dataclass(frozen=True)
class Order:
    """`verb` is its base form; `rest` is what follows, up to the end mark; `denied` is empty, or how it is denied."""

    sentence: Piece
    verb: str
    rest: str
    end: str
    denied: str = ""


def find_orders(reading: Reading) -> Iterator[Order]:
    for sentence in reading.sentences:
        if (found := _read_order(reading, sentence)) is not None:
            yield found


def say_otherwise(original: Original, say: Callable[[Order], str | None]) -> Wording:
    """Every order that can be said so."""
    changes = []
    for order in find_orders(read(original.task)):
        if (said := say(order)) is not None:
            changes.append((order.sentence, said))
    if not changes:
        raise Unfit("no sentence is an order that the rule can turn")
    return Wording(replace_pieces(original.task, changes), original.function)


def has_second_order(rest: str) -> bool:
    """Does another verb follow that belongs to the same order: compute it and return it?"""
    verbs = read_words().orders
    return any(word in verbs for word in _AFTER_JOIN.findall(rest))


def _read_order(reading: Reading, sentence: Piece) -> Order | None:
    text = sentence.text
    shown = reading.hidden[sentence.start : sentence.end]
    end = text[-1] if text[-1] in ".:;" else ""
    body = text.removesuffix(end) if end else text
    orders = read_words().orders
    if (denied := _DENIED.match(shown)) and denied[2] in orders:
        return Order(sentence, denied[2], body[denied.end() :].lstrip(), end, denied[1])
    first = _FIRST.match(shown)
    if first is None or first[1].lower() not in orders or "?" in shown:
        return None
    verb, rest = first[1].lower(), body[first.end() :]
    hidden = shown[first.end() :]
    following = re.match(r"[a-z]+", hidden)
    if hidden.startswith("\0"):
        return (
            Order(sentence, verb, rest, end) if verb not in _NOUNS or verb in ("set", "call", "draw", "use") else None
        )
    allowed = _NEVER_AFTER_NOUN if verb in _NOUNS else _OBJECT
    return Order(sentence, verb, rest, end) if following and following[0] in allowed else None
