"""Does it matter how loud it is said? All prose in capitals; code, names, strings and shapes as they are."""

from random import Random

from dlbench.agreement.mutation.interface import Family, Operator, Original, Wording
from dlbench.agreement.mutation.text import read, replace_pieces


def change(original: Original, chance: Random) -> Wording:
    words = read(original.task).words
    return Wording(replace_pieces(original.task, [(word, word.text.upper()) for word in words]), original.function)


OPERATOR = Operator("upper-case", Family.LEXICAL, "all prose in capitals", change)
