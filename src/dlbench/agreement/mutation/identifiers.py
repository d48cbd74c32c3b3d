"""Does a name help that says what the function does? Made from the first words of the task.

How does a task speak of the function under another name, and of its parameters?

Where a name stands as code it is changed; where it stands in a string (a message to be raised), behind the dot of
another object or in a sentence on the base class it means something else, and stays.

Does a model believe the name or the task? A name that says something else.

How much does a function's name tell? Nothing, if it is `f1`.

Does it matter what the parameters are called?
"""

import keyword
import re
from itertools import count
from random import Random

from dlbench.agreement.mutation.base import Family, NotApplicable, Operator, Original, Paraphrase
from dlbench.agreement.mutation.text import (
    Fixed,
    Kind,
    ParsedPrompt,
    Piece,
    load_words,
    parse_prompt,
    replace_pieces,
    stem,
)

_BASE = re.compile(
    r"\b(?:base|parent|super|superclass|subclass|subclasses|inherit\w*|overrid\w*|class's)\b", re.IGNORECASE
)
_NAMED = re.compile(
    r"\bnam(?:e|es|ing) (?:of )?the (?:\w+ )?(?:argument|parameter)|\bsame names?\b|\bmessage\b", re.IGNORECASE
)
_CALL = re.compile(r"\w\(([^()]|\([^()]*\))*\)")


def rename_function(original: Original, new: str) -> Paraphrase:
    own = original.function
    if own.startswith("__") and own.endswith("__"):
        raise NotApplicable(f"Python itself calls {own}, so that it has no other name")
    reading = parse_prompt(original.task)
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
    return Paraphrase(replace_pieces(original.task, changes), new)


def rename_parameters(original: Original, names: dict[str, str]) -> Paraphrase:
    """Those of them that the task speaks of in code alone; others could mean something else under their name."""
    reading = parse_prompt(original.task)
    fit = {own: new for own, new in names.items() if _can_rename(reading, own)}
    if not fit:
        raise NotApplicable("no parameter can be renamed without a doubt")
    pattern = re.compile(rf"(?<![\w.\"'])(?:{'|'.join(map(re.escape, fit))})(?![\w\"'])")
    changes = [
        (piece, pattern.sub(lambda found: fit[found[0]], piece.text))
        for piece in reading.fixed
        if piece.kind == Kind.CODE
    ]
    return Paraphrase(replace_pieces(original.task, changes), original.function, fit)


def _can_rename(reading: ParsedPrompt, name: str) -> bool:
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


def _sentence_of(reading: ParsedPrompt, piece: Fixed) -> Piece:
    return next((each for each in reading.sentences if each.start <= piece.start < each.end), piece)


_FILLERS = {
    "a", "an", "the", "of", "and", "or", "to", "in", "on", "at", "as", "by", "for", "from", "with", "into", "that",
    "which", "is", "are", "it", "its", "this", "please", "given", "one", "some", "such",
}  # fmt: skip
_FEWEST, _MOST = 3, 5


def change_name_descriptive(original: Original, chance: Random) -> Paraphrase:
    reading = parse_prompt(original.task)
    first = reading.sentences[0]
    names = {piece.start for piece in reading.fixed if piece.kind in (Kind.CODE, Kind.STRING, Kind.SHAPE, Kind.NUMBER)}
    spoken = [piece.text.lower() for piece in reading.within(first) if piece.start not in names]
    words = [word for text in spoken for word in re.findall(r"[a-z]+", text) if word not in _FILLERS and len(word) > 1]
    if len(words) < _FEWEST:
        raise NotApplicable("the first sentence has too few words for a name")
    fit = [
        name
        for size in range(_FEWEST, min(_MOST, len(words)) + 1)
        if (name := "_".join(words[:size])) not in original.taken and not keyword.iskeyword(name)
        if name != original.function and name not in original.task
    ]
    if not fit:
        raise NotApplicable("the function has such a name already")
    return rename_function(original, chance.choice(fit))


NAME_DESCRIPTIVE = Operator(
    "name-descriptive", Family.NAMING, "the function's name says what it does", change_name_descriptive
)


def change_name_misleading(original: Original, chance: Random) -> Paraphrase:
    said = {stem(word) for word in re.findall(r"[A-Za-z]+", f"{original.task} {original.function}".replace("_", " "))}
    fit = [
        name
        for name in load_words().misleading
        if name not in original.taken and not said & {stem(word) for word in name.split("_") if len(word) > 3}
    ]
    if not fit:
        raise NotApplicable("every name of the table could be right")
    return rename_function(original, chance.choice(fit))


NAME_MISLEADING = Operator(
    "name-misleading", Family.NAMING, "the function has the name of something else", change_name_misleading
)


def change_name_neutral(original: Original, chance: Random) -> Paraphrase:
    names = (f"f{number}" for number in count(1))
    return rename_function(original, next(name for name in names if name not in original.taken))


NAME_NEUTRAL = Operator("name-neutral", Family.NAMING, "the function is called `f1`", change_name_neutral)


def change_parameter_names(original: Original, chance: Random) -> Paraphrase:
    if original.node is None:
        raise NotApplicable("the signature is not at hand")
    arguments = original.node.args
    own = [each.arg for each in (*arguments.args, *arguments.kwonlyargs) if each.arg not in ("self", "cls")]
    if not own:
        raise NotApplicable("there is no parameter")
    names: dict[str, str] = {}
    for name in own:
        tries = (load_words().parameters.get(name, ""), f"given_{name.strip('_')}", f"{name.strip('_')}_argument")
        free = [each for each in tries if each and _is_free(original, each) and each not in (*own, *names.values())]
        if free:
            names[name] = free[0]
    return rename_parameters(original, names)


def _is_free(original: Original, name: str) -> bool:
    return name not in original.taken and not re.search(rf"\b{re.escape(name)}\b", original.task)


PARAMETER_NAMES = Operator("parameter-names", Family.NAMING, "the parameters have other names", change_parameter_names)
