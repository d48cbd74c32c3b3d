"""Does a model believe the name or the task? A name that says something else."""

import re
from random import Random

from dlbench.agreement.mutation.interface import Family, Operator, Original, Unfit, Wording
from dlbench.agreement.mutation.respelling import rename_function
from dlbench.agreement.mutation.words import read_words, stem


def change(original: Original, chance: Random) -> Wording:
    said = {stem(word) for word in re.findall(r"[A-Za-z]+", f"{original.task} {original.function}".replace("_", " "))}
    fit = [
        name
        for name in read_words().misleading
        if name not in original.taken and not said & {stem(word) for word in name.split("_") if len(word) > 3}
    ]
    if not fit:
        raise Unfit("every name of the table could be right")
    return rename_function(original, chance.choice(fit))


OPERATOR = Operator("name-misleading", Family.NAMING, "the function has the name of something else", change)
