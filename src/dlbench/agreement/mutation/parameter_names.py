"""Does it matter what the parameters are called?"""

import re
from random import Random

from dlbench.agreement.mutation.interface import Family, Operator, Original, Unfit, Wording
from dlbench.agreement.mutation.respelling import rename_parameters
from dlbench.agreement.mutation.words import read_words


def change(original: Original, chance: Random) -> Wording:
    if original.node is None:
        raise Unfit("the signature is not at hand")
    arguments = original.node.args
    own = [each.arg for each in (*arguments.args, *arguments.kwonlyargs) if each.arg not in ("self", "cls")]
    if not own:
        raise Unfit("there is no parameter")
    names: dict[str, str] = {}
    for name in own:
        tries = (read_words().parameters.get(name, ""), f"given_{name.strip('_')}", f"{name.strip('_')}_argument")
        free = [each for each in tries if each and _is_free(original, each) and each not in (*own, *names.values())]
        if free:
            names[name] = free[0]
    return rename_parameters(original, names)


def _is_free(original: Original, name: str) -> bool:
    return name not in original.taken and not re.search(rf"\b{re.escape(name)}\b", original.task)


OPERATOR = Operator("parameter-names", Family.NAMING, "the parameters have other names", change)
