"""Does it matter which verb is used? `compute` and `calculate`, `return` and `give back`."""

import re
from collections.abc import Iterator
from random import Random

from dlbench.agreement.mutation.exchange import Exchange, exchange_some
from dlbench.agreement.mutation.interface import Family, Operator, Original, Wording
from dlbench.agreement.mutation.text import Piece, Reading, read
from dlbench.agreement.mutation.words import Verb, read_words

# After one of these a base form is a noun: the return, its use, no change.
_BEFORE_NOUN = {
    "the",
    "a",
    "an",
    "its",
    "their",
    "no",
    "each",
    "this",
    "that",
    "any",
    "of",
    "own",
    "every",
    "for",
    "in",
}
# `give back it` is no English, and `need not` is no verb of its own.
_STOPS = {"it", "them", "itself", "themselves", "to", "not", "for", "of", "back", "out", "up"}
_PARTICIPLE = 2
_NEAR = 3


def change(original: Original, chance: Random) -> Wording:
    reading = read(original.task)
    return exchange_some(original, reading, list(_find(reading, chance)), chance)


def _find(reading: Reading, chance: Random) -> Iterator[Exchange]:
    known = {form: (verb, place) for verb in read_words().verbs for place, form in enumerate(verb.forms) if form}
    for sentence in reading.sentences:
        tokens = reading.within(sentence)
        for number, token in enumerate(tokens):
            if token.text.lower() not in known or token not in reading.words:
                continue
            verb, place = known[token.text.lower()]
            others = [other[place] for other in verb.others if other[place]]
            following = tokens[number + 1 : number + 1 + _NEAR]
            if others and not _is_noun(tokens[:number], place) and _follows(verb, place, following):
                yield token, chance.choice(others)


def _is_noun(before: list[Piece], place: int) -> bool:
    return place < _PARTICIPLE and bool(before) and before[-1].text.lower() in _BEFORE_NOUN


def _follows(verb: Verb, place: int, following: list[Piece]) -> bool:
    if place == _PARTICIPLE:
        return True
    if following and following[0].text.lower() in _STOPS:
        return False
    if not verb.before:
        return True
    near = following if "Error" in verb.before else following[:1]
    return any(re.search(verb.before, piece.text.strip("`")) for piece in near)


OPERATOR = Operator("verbs", Family.LEXICAL, "verbs for similar verbs", change)
