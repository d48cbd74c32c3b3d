"""Which sentences of a task are orders?

`Return the mean.` is one, `Mean of the rows.` is none, and `Compute the mean and return it.` is two in one. Three
operators say orders otherwise; what is no plain order they leave alone.

Does it matter whether a task orders or states? `Return the mean.` and `The function must return the mean.`

The verb keeps its base form after `must`, so that a second order in the same sentence stays right as it stands.

Does it matter whether a task orders or asks? `Return the mean.` and `Could you return the mean?`

Does it matter who does it? `Return the mean if it exists.` and `The mean must be returned if it exists.`

Only orders of one verb, and only where the end of its object can be told for sure.

Does it matter in which order independent things are said?

Sentences that each explain a thing of their own, beginning with its name in code, may change places; so may paragraphs
of that kind. What refers back (`it`, `the same`, `then`, `otherwise`) stays behind what it refers to.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from dlbench.agreement.mutation.base import Family, NotApplicable, Operator, Original, Paraphrase
from dlbench.agreement.mutation.text import ParsedPrompt, Piece, capitalize, load_words, parse_prompt, replace_pieces

_DENIED = re.compile(r"(Do not|Don't|Never) ([a-z]+)\b")
_FIRST = re.compile(r"([A-Z][a-z]+) (?=\S)")
# After the verb of an order comes its object; after a noun of the same spelling comes a verb or a preposition.
_OBJECT = {
    "a", "an", "the", "all", "any", "each", "every", "both", "it", "its", "them", "their", "this", "these", "that",
    "those", "one", "two", "three", "several", "some", "how", "whether", "what", "which", "as", "out", "up", "with",
    "for", "only", "new", "from", "by", "in", "to", "into", "at", "on", "over", "nothing", "twice", "where",
}  # fmt: skip
_NOUNS = {"sum", "mean", "score", "sample", "count", "set", "map", "match", "scale", "mask", "cut", "group", "place",
          "measure", "filter", "limit", "call", "cast", "round", "split", "work", "turn", "average", "estimate",
          "sort", "crop", "update", "shift", "check", "store", "register", "draw", "use"}  # fmt: skip
_NEVER_AFTER_NOUN = {"a", "an", "the", "all", "each", "every", "both", "it", "them", "this", "these", "those", "any"}
_AFTER_JOIN = re.compile(r"(?:(?<=\band )|(?<=\bbut )|(?<=\bthen )|(?<=\bor )|(?<=[,;:] ))([a-z]+)\b")


@dataclass(frozen=True)
class Instruction:
    """`verb` is its base form; `rest` is what follows, up to the end mark; `denied` is empty, or how it is denied."""

    sentence: Piece
    verb: str
    rest: str
    end: str
    denied: str = ""


def find_orders(reading: ParsedPrompt) -> Iterator[Instruction]:
    for sentence in reading.sentences:
        if (found := _read_order(reading, sentence)) is not None:
            yield found


def say_otherwise(original: Original, log: Callable[[Instruction], str | None]) -> Paraphrase:
    """Every order that can be said so."""
    changes = []
    for order in find_orders(parse_prompt(original.task)):
        if (said := log(order)) is not None:
            changes.append((order.sentence, said))
    if not changes:
        raise NotApplicable("no sentence is an order that the rule can turn")
    return Paraphrase(replace_pieces(original.task, changes), original.function)


def has_second_order(rest: str) -> bool:
    """Does another verb follow that belongs to the same order: compute it and return it?"""
    verbs = load_words().orders
    return any(word in verbs for word in _AFTER_JOIN.findall(rest))


def _read_order(reading: ParsedPrompt, sentence: Piece) -> Instruction | None:
    text = sentence.text
    shown = reading.hidden[sentence.start : sentence.end]
    end = text[-1] if text[-1] in ".:;" else ""
    body = text.removesuffix(end) if end else text
    orders = load_words().orders
    if (denied := _DENIED.match(shown)) and denied[2] in orders:
        return Instruction(sentence, denied[2], body[denied.end() :].lstrip(), end, denied[1])
    first = _FIRST.match(shown)
    if first is None or first[1].lower() not in orders or "?" in shown:
        return None
    verb, rest = first[1].lower(), body[first.end() :]
    hidden = shown[first.end() :]
    following = re.match(r"[a-z]+", hidden)
    if hidden.startswith("\0"):
        return (
            Instruction(sentence, verb, rest, end)
            if verb not in _NOUNS or verb in ("set", "call", "draw", "use")
            else None
        )
    allowed = _NEVER_AFTER_NOUN if verb in _NOUNS else _OBJECT
    return Instruction(sentence, verb, rest, end) if following and following[0] in allowed else None


_DENIALS = {"Do not": "must not", "Don't": "must not", "Never": "must never", "": "must"}


def change_declarative(original: Original, chance: Random) -> Paraphrase:
    subject = "The method" if original.instance.is_method else "The function"
    return say_otherwise(original, lambda order: _state(subject, order))


def _state(subject: str, order: Instruction) -> str:
    return f"{subject} {_DENIALS[order.denied]} {order.verb} {order.rest}{order.end}"


DECLARATIVE = Operator(
    "declarative",
    Family.GRAMMATICAL,
    "orders become statements",
    change_declarative,
    "Turn every sentence that is an order into a statement about what the function does.",
)


_OPENINGS = ("Could you", "Can you", "Would you")


def change_questions(original: Original, chance: Random) -> Paraphrase:
    opening = chance.choice(_OPENINGS)
    return say_otherwise(original, lambda order: _ask(opening, order))


def _ask(opening: str, order: Instruction) -> str | None:
    if order.denied or order.end != ".":  # an end that announces a list stays an announcement
        return None
    return f"{opening} {order.verb} {order.rest}?"


QUESTIONS = Operator(
    "questions",
    Family.GRAMMATICAL,
    "orders become questions",
    change_questions,
    "Turn the sentence that says what the function does into a question to a programmer; leave the others as they are.",
)


# Where one of these begins, the object has ended.
_CLAUSE = re.compile(
    r" (?:if|when|unless|where|so that|before|after|by|into|to|from|with|without|in|on|at|for|over|along|under|through"
    r"|only|using|once|per|inside|within) "
)
_DOUBTFUL = re.compile(r"[,;:()]|\b(?:as|that|which|who|whose|whether|how|what|whatever|not)\b")
_DOERS = {
    "it",
    "them",
    "out",
    "up",
    "as",
    "for",
    "with",
    "from",
    "by",
    "in",
    "to",
    "into",
    "at",
    "on",
    "over",
    "whether",
}


def change_passive(original: Original, chance: Random) -> Paraphrase:
    return say_otherwise(original, _turn)


def _turn(order: Instruction) -> str | None:
    participle = load_words().orders[order.verb]
    hidden = parse_prompt(order.rest).hidden
    first = re.match(r"[a-z]+", hidden)
    if not participle or order.denied or order.end not in (".", "") or (first and first[0] in _DOERS):
        return None
    clause = _CLAUSE.search(hidden)
    stop = clause.start() if clause else len(order.rest)
    if _DOUBTFUL.search(hidden[:stop]) or has_second_order(hidden) or not order.rest[:stop].strip():
        return None
    return f"{capitalize(order.rest[:stop])} must be {participle}{order.rest[stop:]}{order.end}"


PASSIVE = Operator(
    "passive",
    Family.GRAMMATICAL,
    "orders become passive",
    change_passive,
    "Put every active sentence into the passive voice.",
)


# `it` and `its` speak of the sentence's own subject; these speak of another sentence's.
_BACK = re.compile(
    r"\b(?:this|these|they|them|their|same|both|neither|other|others|another|also|too|again|former|latter|above|below"
    r"|however|hence|likewise|respectively|respective|further|corresponding|then|otherwise|similarly|analogous\w*)\b",
    re.IGNORECASE,
)


def change_reorder(original: Original, chance: Random) -> Paraphrase:
    reading = parse_prompt(original.task)
    groups = [*_group_paragraphs(reading), *_group_sentences(reading)]
    if not groups:
        raise NotApplicable("no two sentences or paragraphs next to each other are independent")
    group = chance.choice(groups)
    shuffled = list(group)
    while shuffled == list(group):
        chance.shuffle(shuffled)
    changes = [(place, piece.text) for place, piece in zip(group, shuffled, strict=True)]
    return Paraphrase(replace_pieces(original.task, changes), original.function)


def _group_sentences(reading: ParsedPrompt) -> list[list[Piece]]:
    """Runs within a line of blocks: a sentence that stands alone, with those after it that go on with `It`."""
    groups: list[list[Piece]] = []
    for line in _find_parts(reading.text, r"[^\n]+"):
        blocks: list[list[Piece]] = []
        for sentence in _sentences_in(reading, line):
            if _is_independent(reading, sentence) and not sentence.text.endswith(":"):
                blocks.append([sentence])
            elif blocks and sentence.text.startswith(("It ", "Its ")):
                blocks[-1].append(sentence)
            else:
                # what follows may lean on the last block, which therefore stays where it is
                groups.append([_span(reading.text, block) for block in blocks[:-1]])
                blocks = []
        groups.append([_span(reading.text, block) for block in blocks])
    return [group for group in groups if len(group) > 1]


def _group_paragraphs(reading: ParsedPrompt) -> list[list[Piece]]:
    groups: list[list[Piece]] = [[]]
    for paragraph in _find_parts(reading.text, r"[^\n](?:(?!\n\n).)*(?<!\n)"):
        first = _sentences_in(reading, paragraph)[:1]
        if first and first[0].start == paragraph.start and _is_independent(reading, first[0]):
            groups[-1].append(paragraph)
        else:
            if first and _BACK.match(first[0].text):
                groups[-1] = groups[-1][:-1]
            groups.append([])
    return [group for group in groups if len(group) > 1]


def _sentences_in(reading: ParsedPrompt, part: Piece) -> list[Piece]:
    return [each for each in reading.sentences if part.start <= each.start and each.end <= part.end]


def _is_independent(reading: ParsedPrompt, sentence: Piece) -> bool:
    return sentence.text.startswith("`") and not _BACK.search(reading.hidden[sentence.start : sentence.end])


def _find_parts(text: str, pattern: str) -> list[Piece]:
    return [Piece(found.start(), found.end(), found[0]) for found in re.finditer(pattern, text, re.DOTALL)]


def _span(text: str, sentences: Sequence[Piece]) -> Piece:
    start, end = sentences[0].start, sentences[-1].end
    return Piece(start, end, text[start:end])


REORDER = Operator("reorder", Family.GRAMMATICAL, "independent sentences change places", change_reorder)
