"""Does a name help that says what the function does? Made from the first words of the task."""

import keyword
import re
from random import Random

from dlbench.agreement.mutation.interface import Family, Operator, Original, Unfit, Wording
from dlbench.agreement.mutation.respelling import rename_function
from dlbench.agreement.mutation.text import Kind, read

_FILLERS = {
    "a", "an", "the", "of", "and", "or", "to", "in", "on", "at", "as", "by", "for", "from", "with", "into", "that",
    "which", "is", "are", "it", "its", "this", "please", "given", "one", "some", "such",
}  # fmt: skip
_FEWEST, _MOST = 3, 5


def change(original: Original, chance: Random) -> Wording:
    reading = read(original.task)
    first = reading.sentences[0]
    names = {piece.start for piece in reading.fixed if piece.kind in (Kind.CODE, Kind.STRING, Kind.SHAPE, Kind.NUMBER)}
    spoken = [piece.text.lower() for piece in reading.within(first) if piece.start not in names]
    words = [word for text in spoken for word in re.findall(r"[a-z]+", text) if word not in _FILLERS and len(word) > 1]
    if len(words) < _FEWEST:
        raise Unfit("the first sentence has too few words for a name")
    fit = [
        name
        for size in range(_FEWEST, min(_MOST, len(words)) + 1)
        if (name := "_".join(words[:size])) not in original.taken and not keyword.iskeyword(name)
        if name != original.function and name not in original.task
    ]
    if not fit:
        raise Unfit("the function has such a name already")
    return rename_function(original, chance.choice(fit))


OPERATOR = Operator("name-descriptive", Family.NAMING, "the function's name says what it does", change)
