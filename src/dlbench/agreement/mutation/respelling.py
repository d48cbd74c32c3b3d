"""How does a task speak of the function under another name, and of its parameters?

Where a name stands as code it is changed; where it stands in a string (a message to be raised), behind the dot of
another object or in a sentence on the base class it means something else, and stays.
"""

import re

from dlbench.agreement.mutation.interface import Original, Unfit, Wording
from dlbench.agreement.mutation.text import Fixed, Kind, Piece, Reading, read, replace_pieces

_BASE = re.compile(
    r"\b(?:base|parent|super|superclass|subclass|subclasses|inherit\w*|overrid\w*|class's)\b", re.IGNORECASE
)
_NAMED = re.compile(
    r"\bnam(?:e|es|ing) (?:of )?the (?:\w+ )?(?:argument|parameter)|\bsame names?\b|\bmessage\b", re.IGNORECASE
)
_CALL = re.compile(r"\w\(([^()]|\([^()]*\))*\)")


def rename_function(original: Original, new: str) -> Wording:
    own = original.function
    if own.startswith("__") and own.endswith("__"):
        raise Unfit(f"Python itself calls {own}, so that it has no other name")
    reading = read(original.task)
    before = (
        r"(?<![\w.])" if not original.owner else rf"(?:(?<![\w.])|(?<=self\.)|(?<=cls\.)|(?<=\b{original.owner}\.))"
    )
    pattern = re.compile(rf"{before}{re.escape(own)}(?!\w)")
    changes = [
        (piece, pattern.sub(new, piece.text))
        for piece in reading.fixed
        if piece.kind == Kind.CODE or (piece.kind == Kind.NAME and piece.text == own and "_" in own)
        if not (original.owner and _BASE.search(_sentence_of(reading, piece).text))
    ]
    return Wording(replace_pieces(original.task, changes), new)


def rename_parameters(original: Original, names: dict[str, str]) -> Wording:
    """Those of them that the task speaks of in code alone; others could mean something else under their name."""
    reading = read(original.task)
    fit = {own: new for own, new in names.items() if _can_rename(reading, own)}
    if not fit:
        raise Unfit("no parameter can be renamed without a doubt")
    pattern = re.compile(rf"(?<![\w.\"'])(?:{'|'.join(map(re.escape, fit))})(?![\w\"'])")
    changes = [
        (piece, pattern.sub(lambda found: fit[found[0]], piece.text))
        for piece in reading.fixed
        if piece.kind == Kind.CODE
    ]
    return Wording(replace_pieces(original.task, changes), original.function, fit)


def _can_rename(reading: Reading, name: str) -> bool:
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    for piece in reading.fixed:
        if not word.search(piece.text):
            continue
        if piece.kind != Kind.CODE or any(word.search(call[0]) for call in _CALL.finditer(piece.text)):
            return False
        if _NAMED.search(_sentence_of(reading, piece).text):
            return False
    return not any(
        re.search(r"\bthe (?:\w+ )?argument", each.text) and _NAMED.search(each.text) for each in reading.sentences
    )


def _sentence_of(reading: Reading, piece: Fixed) -> Piece:
    return next((each for each in reading.sentences if each.start <= piece.start < each.end), piece)
