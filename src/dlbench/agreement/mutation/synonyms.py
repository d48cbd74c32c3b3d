"""Does it matter which word of the domain is used? `image` and `picture`, `learning rate` and `step size`."""

import re
from random import Random

from dlbench.agreement.mutation.exchange import exchange_some
from dlbench.agreement.mutation.interface import Family, Operator, Original, Wording
from dlbench.agreement.mutation.text import Piece, read
from dlbench.agreement.mutation.words import read_words


def change(original: Original, chance: Random) -> Wording:
    reading, table = read(original.task), read_words().synonyms
    longest_first = sorted(table, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w\0'’-])(?:{'|'.join(longest_first)})(?![\w\0'’-])", re.IGNORECASE)  # noqa: RUF001
    found = [
        (Piece(match.start(), match.end(), match[0]), chance.choice(table[match[0].lower()]))
        for match in pattern.finditer(reading.hidden)
        if table[match[0].lower()]
    ]
    return exchange_some(original, reading, found, chance)


OPERATOR = Operator("synonyms", Family.LEXICAL, "synonyms of domain words", change)
