"""How much does a function's name tell? Nothing, if it is `f1`."""

from itertools import count
from random import Random

from dlbench.agreement.mutation.interface import Family, Operator, Original, Wording
from dlbench.agreement.mutation.respelling import rename_function


def change(original: Original, chance: Random) -> Wording:
    names = (f"f{number}" for number in count(1))
    return rename_function(original, next(name for name in names if name not in original.taken))


OPERATOR = Operator("name-neutral", Family.NAMING, "the function is called `f1`", change)
