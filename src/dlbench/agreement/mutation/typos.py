"""Does it matter whether it is typed with care?

A few slips in long words: two letters next to each other exchanged. Never in a word that carries the meaning, never at
its ends, and never so that a word comes out that we know. A letter left out would too often make one (splits, spits).
"""

from random import Random

from dlbench.agreement.mutation.interface import Family, Operator, Original, Unfit, Wording
from dlbench.agreement.mutation.text import read, replace_pieces
from dlbench.agreement.mutation.words import is_touchy, read_words

_SHORTEST = 6
_MOST = 3


def change(original: Original, chance: Random) -> Wording:
    reading = read(original.task)
    known = {word.text.lower() for word in reading.words} | _read_vocabulary()
    long = [word for word in reading.words if len(word.text) >= _SHORTEST and word.text.isalpha()]
    fit = [word for word in long if not is_touchy(word.text) and _find_places(word.text)]
    if not fit:
        raise Unfit("no word is long enough and free to be mistyped")
    chosen = chance.sample(fit, min(len(fit), chance.randint(1, _MOST)))
    slips = [(word, _slip(word.text, chance)) for word in chosen]
    kept = [(word, slip) for word, slip in slips if slip.lower() not in known]
    if not kept:
        raise Unfit("every slip would make another word")
    return Wording(replace_pieces(original.task, kept), original.function)


def _slip(word: str, chance: Random) -> str:
    place = chance.choice(_find_places(word))
    return f"{word[:place]}{word[place + 1]}{word[place]}{word[place + 2 :]}"


def _find_places(word: str) -> list[int]:
    """Where two letters inside it differ; none in `xxxxxx`."""
    return [place for place in range(1, len(word) - 2) if word[place] != word[place + 1]]


def _read_vocabulary() -> set[str]:
    words = read_words()
    verbs = {form for verb in words.verbs for forms in (verb.forms, *verb.others) for form in forms}
    synonyms = {*words.synonyms, *(other for others in words.synonyms.values() for other in others)}
    return verbs | synonyms | {*words.orders, *words.orders.values()} | words.untouchable


OPERATOR = Operator("typos", Family.LEXICAL, "letters exchanged in one to three long words", change)
