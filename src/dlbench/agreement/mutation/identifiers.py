"""Naming operators: give the function or its parameters other names.

A name is replaced where it stands as code. In a string (an error message), after the dot of another object, or in a
sentence about the base class it means something else and stays.
"""

import keyword
import re
from itertools import count
from random import Random

from dlbench.agreement.mutation.base import Family, NotApplicable, Original, Paraphrase, operator
from dlbench.agreement.mutation.text import ParsedPrompt, Piece, PieceKind, load_words, parse_prompt, stem

_SPEAKS_OF_BASE = re.compile(
    r"\b(?:base|parent|super|superclass|subclass|subclasses|inherit\w*|overrid\w*|class's)\b", re.IGNORECASE
)
_SPEAKS_OF_NAMES = re.compile(
    r"\bnam(?:e|es|ing) (?:of )?the (?:\w+ )?(?:argument|parameter)|\bsame names?\b|\bmessage\b", re.IGNORECASE
)
_CALL = re.compile(r"\w\(([^()]|\([^()]*\))*\)")


def rename_function(original: Original, new: str) -> Paraphrase:
    own = original.function
    if own.startswith("__") and own.endswith("__"):
        raise NotApplicable(f"Python itself calls {own}, so it cannot be renamed")
    prompt = parse_prompt(original.task)
    before = (
        r"(?<![\w.])" if not original.owner else rf"(?:(?<![\w.])|(?<=self\.)|(?<=cls\.)|(?<=\b{original.owner}\.))"
    )
    pattern = re.compile(rf"{before}{re.escape(own)}(?!\w)")
    changes = [
        (piece, pattern.sub(new, piece.text))
        for piece in prompt.fixed
        if piece.kind == PieceKind.CODE or (piece.kind == PieceKind.NAME and piece.text == own and "_" in own)
        if not (original.owner and _SPEAKS_OF_BASE.search(_sentence_of(prompt, piece)))
    ]
    return original.rewrite(changes, new)


def rename_parameters(original: Original, names: dict[str, str]) -> Paraphrase:
    """Rename the parameters that the prompt mentions only as code; elsewhere the name could mean something else."""
    prompt = parse_prompt(original.task)
    safe = {own: new for own, new in names.items() if _can_rename(prompt, own)}
    if not safe:
        raise NotApplicable("no parameter can be renamed safely")
    pattern = re.compile(rf"(?<![\w.\"'])(?:{'|'.join(map(re.escape, safe))})(?![\w\"'])")
    changes = [
        (piece, pattern.sub(lambda found: safe[found[0]], piece.text))
        for piece in prompt.fixed
        if piece.kind == PieceKind.CODE
    ]
    return original.rewrite(changes, parameters=safe)


def _can_rename(prompt: ParsedPrompt, name: str) -> bool:
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    for piece in prompt.fixed:
        if word.search(piece.text) and (
            piece.kind != PieceKind.CODE
            or any(word.search(call[0]) for call in _CALL.finditer(piece.text))
            or _SPEAKS_OF_NAMES.search(_sentence_of(prompt, piece))
        ):
            return False
    return not any(
        re.search(r"\bthe (?:\w+ )?argument", one.text) and _SPEAKS_OF_NAMES.search(one.text)
        for one in prompt.sentences
    )


def _sentence_of(prompt: ParsedPrompt, piece: Piece) -> str:
    return next((one for one in prompt.sentences if one.start <= piece.start < one.end), piece).text


_FILLERS = {
    "a", "an", "the", "of", "and", "or", "to", "in", "on", "at", "as", "by", "for", "from", "with", "into", "that",
    "which", "is", "are", "it", "its", "this", "please", "given", "one", "some", "such",
}  # fmt: skip
_MIN_WORDS, _MAX_WORDS = 3, 5


@operator("name-descriptive", Family.NAMING, "a function name made of the first words of the prompt", order=10)
def change_name_descriptive(original: Original, rng: Random) -> Paraphrase:
    prompt = parse_prompt(original.task)
    skipped = (PieceKind.CODE, PieceKind.STRING, PieceKind.SHAPE, PieceKind.NUMBER)
    fixed = {piece.start for piece in prompt.fixed if piece.kind in skipped}
    prose = [piece.text.lower() for piece in prompt.within(prompt.sentences[0]) if piece.start not in fixed]
    words = [word for text in prose for word in re.findall(r"[a-z]+", text) if word not in _FILLERS and len(word) > 1]
    if len(words) < _MIN_WORDS:
        raise NotApplicable("the first sentence has too few words for a name")
    names = [
        name
        for size in range(_MIN_WORDS, min(_MAX_WORDS, len(words)) + 1)
        if (name := "_".join(words[:size])) not in original.taken and not keyword.iskeyword(name)
        if name != original.function and name not in original.task
    ]
    if not names:
        raise NotApplicable("every such name is taken")
    return rename_function(original, rng.choice(names))


@operator("name-neutral", Family.NAMING, "the function is called `f1`", order=11)
def change_name_neutral(original: Original, rng: Random) -> Paraphrase:
    names = (f"f{number}" for number in count(1))
    return rename_function(original, next(name for name in names if name not in original.taken))


@operator("name-misleading", Family.NAMING, "the function has the name of something else", order=12)
def change_name_misleading(original: Original, rng: Random) -> Paraphrase:
    text = f"{original.task} {original.function}".replace("_", " ")
    used = {stem(word) for word in re.findall(r"[A-Za-z]+", text)}
    names = [
        name
        for name in load_words().misleading
        if name not in original.taken and not used & {stem(word) for word in name.split("_") if len(word) > 3}
    ]
    if not names:
        raise NotApplicable("every name in the table shares a word with the prompt")
    return rename_function(original, rng.choice(names))


@operator("parameter-names", Family.NAMING, "the parameters have other names", order=13)
def change_parameter_names(original: Original, rng: Random) -> Paraphrase:
    if original.node is None:
        raise NotApplicable("the signature is not available")
    arguments = original.node.args
    own = [one.arg for one in (*arguments.args, *arguments.kwonlyargs) if one.arg not in ("self", "cls")]
    if not own:
        raise NotApplicable("the function has no parameter")
    names: dict[str, str] = {}
    for name in own:
        options = (load_words().parameters.get(name, ""), f"given_{name.strip('_')}", f"{name.strip('_')}_argument")
        free = [one for one in options if one and _is_free(original, one) and one not in (*own, *names.values())]
        if free:
            names[name] = free[0]
    return rename_parameters(original, names)


def _is_free(original: Original, name: str) -> bool:
    return name not in original.taken and not re.search(rf"\b{re.escape(name)}\b", original.task)
