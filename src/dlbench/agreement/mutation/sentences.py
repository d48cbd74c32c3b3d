"""Grammatical operators: passive voice, questions, statements and reordering.

The first three rewrite imperative sentences; a sentence that is not clearly an imperative stays as it is.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from dlbench.agreement.mutation.base import Family, NotApplicable, Original, Paraphrase, operator
from dlbench.agreement.mutation.text import ParsedPrompt, Piece, capitalize, load_words, parse_prompt

_NEGATED = re.compile(r"(Do not|Don't|Never) ([a-z]+)\b")
_FIRST = re.compile(r"([A-Z][a-z]+) (?=\S)")
# An object follows an imperative verb; a verb or a preposition follows a noun of the same spelling.
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
class Imperative:
    """`verb` is the base form; `rest` is what follows, up to the end mark; `negation` is empty or `Do not`, `Never`."""

    sentence: Piece
    verb: str
    rest: str
    end: str
    negation: str = ""


def rewrite_imperatives(original: Original, rewrite: Callable[[Imperative], str | None]) -> Paraphrase:
    """Rewrite every imperative sentence for which `rewrite` has a text."""
    prompt = parse_prompt(original.task)
    found = [one for sentence in prompt.sentences if (one := _read_imperative(prompt, sentence)) is not None]
    changes = [(one.sentence, text) for one in found if (text := rewrite(one)) is not None]
    if not changes:
        raise NotApplicable("the rule applies to no imperative sentence")
    return original.rewrite(changes)


def _read_imperative(prompt: ParsedPrompt, sentence: Piece) -> Imperative | None:
    text = sentence.text
    shown = prompt.hidden[sentence.start : sentence.end]
    end = text[-1] if text[-1] in ".:;" else ""
    body = text.removesuffix(end) if end else text
    verbs = load_words().imperatives
    if (negated := _NEGATED.match(shown)) and negated[2] in verbs:
        return Imperative(sentence, negated[2], body[negated.end() :].lstrip(), end, negated[1])
    first = _FIRST.match(shown)
    if first is None or first[1].lower() not in verbs or "?" in shown:
        return None
    verb, hidden = first[1].lower(), shown[first.end() :]
    if hidden.startswith("\0"):
        is_imperative = verb not in _NOUNS or verb in ("set", "call", "draw", "use")
    else:
        following = re.match(r"[a-z]+", hidden)
        allowed = _NEVER_AFTER_NOUN if verb in _NOUNS else _OBJECT
        is_imperative = following is not None and following[0] in allowed
    return Imperative(sentence, verb, body[first.end() :], end) if is_imperative else None


# Where one of these begins, the object has ended.
_CLAUSE = re.compile(
    r" (?:if|when|unless|where|so that|before|after|by|into|to|from|with|without|in|on|at|for|over|along|under|through"
    r"|only|using|once|per|inside|within) "
)
_UNCLEAR = re.compile(r"[,;:()]|\b(?:as|that|which|who|whose|whether|how|what|whatever|not)\b")
_NO_OBJECT = {
    "it", "them", "out", "up", "as", "for", "with", "from", "by", "in", "to", "into", "at", "on", "over", "whether",
}  # fmt: skip


@operator(
    "passive",
    Family.GRAMMATICAL,
    "`Return the mean if …` → `The mean must be returned if …`",
    instruction="Put every active sentence into the passive voice.",
    order=5,
)
def change_passive(original: Original, rng: Random) -> Paraphrase:
    """Only imperatives of one verb, and only where the end of the object is certain."""
    return rewrite_imperatives(original, _to_passive)


def _to_passive(one: Imperative) -> str | None:
    participle = load_words().imperatives[one.verb]
    hidden = parse_prompt(one.rest).hidden
    first = re.match(r"[a-z]+", hidden)
    if not participle or one.negation or one.end not in (".", "") or (first and first[0] in _NO_OBJECT):
        return None
    clause = _CLAUSE.search(hidden)
    stop = clause.start() if clause else len(one.rest)
    if _UNCLEAR.search(hidden[:stop]) or _has_second_verb(hidden) or not one.rest[:stop].strip():
        return None
    return f"{capitalize(one.rest[:stop])} must be {participle}{one.rest[stop:]}{one.end}"


def _has_second_verb(rest: str) -> bool:
    """Another verb of the same imperative follows: compute it and return it."""
    return any(word in load_words().imperatives for word in _AFTER_JOIN.findall(rest))


@operator(
    "questions",
    Family.GRAMMATICAL,
    "`Return the mean.` → `Could you return the mean?`",
    instruction="Turn the sentence that says what the function does into a question to a programmer; "
    "leave the others as they are.",
    order=6,
)
def change_questions(original: Original, rng: Random) -> Paraphrase:
    opening = rng.choice(("Could you", "Can you", "Would you"))
    return rewrite_imperatives(
        original,
        # a sentence that announces a list keeps its colon
        lambda one: f"{opening} {one.verb} {one.rest}?" if not one.negation and one.end == "." else None,
    )


_MODALS = {"Do not": "must not", "Don't": "must not", "Never": "must never", "": "must"}


@operator(
    "declarative",
    Family.GRAMMATICAL,
    "`Return the mean.` → `The function must return the mean.`",
    instruction="Turn every sentence that is an order into a statement about what the function does.",
    order=7,
)
def change_declarative(original: Original, rng: Random) -> Paraphrase:
    """The verb keeps its base form after `must`, so a second verb in the sentence stays correct."""
    noun = "The method" if original.instance.is_method else "The function"
    return rewrite_imperatives(original, lambda one: f"{noun} {_MODALS[one.negation]} {one.verb} {one.rest}{one.end}")


# These refer to another sentence; `it` and `its` refer to the subject of their own.
_BACK = re.compile(
    r"\b(?:this|these|they|them|their|same|both|neither|other|others|another|also|too|again|former|latter|above|below"
    r"|however|hence|likewise|respectively|respective|further|corresponding|then|otherwise|similarly|analogous\w*)\b",
    re.IGNORECASE,
)


@operator("reorder", Family.GRAMMATICAL, "independent sentences or paragraphs exchanged", order=8)
def change_reorder(original: Original, rng: Random) -> Paraphrase:
    """Exchange sentences or paragraphs that begin with a name in code; what refers back stays behind its referent."""
    prompt = parse_prompt(original.task)
    groups = [*_group_paragraphs(prompt), *_group_sentences(prompt)]
    if not groups:
        raise NotApplicable("no two neighbouring sentences or paragraphs are independent")
    group = rng.choice(groups)
    shuffled = list(group)
    while shuffled == list(group):
        rng.shuffle(shuffled)
    changes = [(place, piece.text) for place, piece in zip(group, shuffled, strict=True)]
    return original.rewrite(changes)


def _group_sentences(prompt: ParsedPrompt) -> list[list[Piece]]:
    """Runs of blocks within a line: an independent sentence with the sentences after it that begin with `It`."""
    groups: list[list[Piece]] = []
    for line in _find_parts(prompt.text, r"[^\n]+"):
        blocks: list[list[Piece]] = []
        for sentence in _sentences_in(prompt, line):
            if _is_independent(prompt, sentence) and not sentence.text.endswith(":"):
                blocks.append([sentence])
            elif blocks and sentence.text.startswith(("It ", "Its ")):
                blocks[-1].append(sentence)
            else:
                # this sentence may refer to the last block, which therefore stays in place
                groups.append([_span(prompt.text, block) for block in blocks[:-1]])
                blocks = []
        groups.append([_span(prompt.text, block) for block in blocks])
    return [group for group in groups if len(group) > 1]


def _group_paragraphs(prompt: ParsedPrompt) -> list[list[Piece]]:
    groups: list[list[Piece]] = [[]]
    for paragraph in _find_parts(prompt.text, r"[^\n](?:(?!\n\n).)*(?<!\n)"):
        first = _sentences_in(prompt, paragraph)[:1]
        if first and first[0].start == paragraph.start and _is_independent(prompt, first[0]):
            groups[-1].append(paragraph)
        else:
            if first and _BACK.match(first[0].text):
                groups[-1] = groups[-1][:-1]
            groups.append([])
    return [group for group in groups if len(group) > 1]


def _sentences_in(prompt: ParsedPrompt, part: Piece) -> list[Piece]:
    return [one for one in prompt.sentences if part.start <= one.start and one.end <= part.end]


def _is_independent(prompt: ParsedPrompt, sentence: Piece) -> bool:
    return sentence.text.startswith("`") and not _BACK.search(prompt.hidden[sentence.start : sentence.end])


def _find_parts(text: str, pattern: str) -> list[Piece]:
    return [Piece(found.start(), found.end(), found[0]) for found in re.finditer(pattern, text, re.DOTALL)]


def _span(text: str, sentences: Sequence[Piece]) -> Piece:
    start, end = sentences[0].start, sentences[-1].end
    return Piece(start, end, text[start:end])
