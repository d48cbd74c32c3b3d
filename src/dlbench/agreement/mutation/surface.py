"""Does it matter how loud it is said? All prose in capitals; code, names, strings and shapes as they are.

Does it matter whether it is typed with care?

A few slips in long words: two letters next to each other exchanged. Never in a word that carries the meaning, never at
its ends, and never so that a word comes out that we know. A letter left out would too often make one (splits, spits).

Does it matter which word of the domain is used? `image` and `picture`, `learning rate` and `step size`.

Does it matter which verb is used? `compute` and `calculate`, `return` and `give back`.
"""

import re
from collections.abc import Iterator
from random import Random

from dlbench.agreement.mutation.base import Family, NotApplicable, Operator, Original, Paraphrase
from dlbench.agreement.mutation.text import (
    Exchange,
    ParsedPrompt,
    Piece,
    Verb,
    is_protected,
    load_words,
    parse_prompt,
    replace_pieces,
    replace_some,
)


def change_upper_case(original: Original, chance: Random) -> Paraphrase:
    words = parse_prompt(original.task).words
    return Paraphrase(replace_pieces(original.task, [(word, word.text.upper()) for word in words]), original.function)


UPPER_CASE = Operator("upper-case", Family.LEXICAL, "all prose in capitals", change_upper_case)


_SHORTEST = 6
_MOST = 3


def change_typos(original: Original, chance: Random) -> Paraphrase:
    reading = parse_prompt(original.task)
    known = {word.text.lower() for word in reading.words} | _read_vocabulary()
    long = [word for word in reading.words if len(word.text) >= _SHORTEST and word.text.isalpha()]
    fit = [word for word in long if not is_protected(word.text) and _find_places(word.text)]
    if not fit:
        raise NotApplicable("no word is long enough and free to be mistyped")
    chosen = chance.sample(fit, min(len(fit), chance.randint(1, _MOST)))
    slips = [(word, _slip(word.text, chance)) for word in chosen]
    kept = [(word, slip) for word, slip in slips if slip.lower() not in known]
    if not kept:
        raise NotApplicable("every slip would make another word")
    return Paraphrase(replace_pieces(original.task, kept), original.function)


def _slip(word: str, chance: Random) -> str:
    place = chance.choice(_find_places(word))
    return f"{word[:place]}{word[place + 1]}{word[place]}{word[place + 2 :]}"


def _find_places(word: str) -> list[int]:
    """Where two letters inside it differ; none in `xxxxxx`."""
    return [place for place in range(1, len(word) - 2) if word[place] != word[place + 1]]


def _read_vocabulary() -> set[str]:
    words = load_words()
    verbs = {form for verb in words.verbs for forms in (verb.forms, *verb.others) for form in forms}
    synonyms = {*words.synonyms, *(other for others in words.synonyms.values() for other in others)}
    return verbs | synonyms | {*words.orders, *words.orders.values()} | words.untouchable


TYPOS = Operator("typos", Family.LEXICAL, "letters exchanged in one to three long words", change_typos)


def change_synonyms(original: Original, chance: Random) -> Paraphrase:
    reading, table = parse_prompt(original.task), load_words().synonyms
    longest_first = sorted(table, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w\0'’-])(?:{'|'.join(longest_first)})(?![\w\0'’-])", re.IGNORECASE)  # noqa: RUF001
    found = [
        (Piece(match.start(), match.end(), match[0]), chance.choice(table[match[0].lower()]))
        for match in pattern.finditer(reading.hidden)
        if table[match[0].lower()]
    ]
    return replace_some(original, reading, found, chance)


SYNONYMS = Operator("synonyms", Family.LEXICAL, "synonyms of domain words", change_synonyms)


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


def change_verbs(original: Original, chance: Random) -> Paraphrase:
    reading = parse_prompt(original.task)
    return replace_some(original, reading, list(_find(reading, chance)), chance)


def _find(reading: ParsedPrompt, chance: Random) -> Iterator[Exchange]:
    known = {form: (verb, place) for verb in load_words().verbs for place, form in enumerate(verb.forms) if form}
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


VERBS = Operator("verbs", Family.LEXICAL, "verbs for similar verbs", change_verbs)
