"""How are a few words of a text exchanged, and nothing else?

Shared by the operators that put one word for another. A word keeps its capital, and `a` before it becomes `an` where
the new word wants it. A few and not all: a text in which every word was changed is another text.
"""

from collections.abc import Sequence
from random import Random

from dlbench.agreement.mutation.interface import Original, Unfit, Wording
from dlbench.agreement.mutation.text import Piece, Reading, capitalised, replace_pieces

MOST = 4
_VOWELS = "aeiou"

Exchange = tuple[Piece, str]


def exchange_some(original: Original, reading: Reading, found: Sequence[Exchange], chance: Random) -> Wording:
    if not found:
        raise Unfit("no word of the text is in the table")
    chosen = chance.sample(list(found), min(len(found), chance.randint(1, MOST)))
    changes = [_fit_article(reading, piece, new) for piece, new in chosen]
    return Wording(replace_pieces(original.task, changes), original.function)


def _fit_article(reading: Reading, piece: Piece, new: str) -> Exchange:
    new = capitalised(new) if piece.text[0].isupper() else new
    article = next((word for word in reading.words if word.end + 1 == piece.start), None)
    if article is None or article.text.lower() not in ("a", "an"):
        return piece, new
    right = f"{article.text[0]}{'n' if new[0].lower() in _VOWELS else ''}"
    between = reading.text[article.end : piece.start]
    return Piece(article.start, piece.end, reading.text[article.start : piece.end]), f"{right}{between}{new}"
