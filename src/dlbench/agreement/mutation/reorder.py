"""Does it matter in which order independent things are said?

Sentences that each explain a thing of their own, beginning with its name in code, may change places; so may paragraphs
of that kind. What refers back (`it`, `the same`, `then`, `otherwise`) stays behind what it refers to.
"""

import re
from collections.abc import Sequence
from random import Random

from dlbench.agreement.mutation.interface import Family, Operator, Original, Unfit, Wording
from dlbench.agreement.mutation.text import Piece, Reading, read, replace_pieces

# `it` and `its` speak of the sentence's own subject; these speak of another sentence's.
_BACK = re.compile(
    r"\b(?:this|these|they|them|their|same|both|neither|other|others|another|also|too|again|former|latter|above|below"
    r"|however|hence|likewise|respectively|respective|further|corresponding|then|otherwise|similarly|analogous\w*)\b",
    re.IGNORECASE,
)


def change(original: Original, chance: Random) -> Wording:
    reading = read(original.task)
    groups = [*_group_paragraphs(reading), *_group_sentences(reading)]
    if not groups:
        raise Unfit("no two sentences or paragraphs next to each other are independent")
    group = chance.choice(groups)
    shuffled = list(group)
    while shuffled == list(group):
        chance.shuffle(shuffled)
    changes = [(place, piece.text) for place, piece in zip(group, shuffled, strict=True)]
    return Wording(replace_pieces(original.task, changes), original.function)


def _group_sentences(reading: Reading) -> list[list[Piece]]:
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


def _group_paragraphs(reading: Reading) -> list[list[Piece]]:
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


def _sentences_in(reading: Reading, part: Piece) -> list[Piece]:
    return [each for each in reading.sentences if part.start <= each.start and each.end <= part.end]


def _is_independent(reading: Reading, sentence: Piece) -> bool:
    return sentence.text.startswith("`") and not _BACK.search(reading.hidden[sentence.start : sentence.end])


def _find_parts(text: str, pattern: str) -> list[Piece]:
    return [Piece(found.start(), found.end(), found[0]) for found in re.finditer(pattern, text, re.DOTALL)]


def _span(text: str, sentences: Sequence[Piece]) -> Piece:
    start, end = sentences[0].start, sentences[-1].end
    return Piece(start, end, text[start:end])


OPERATOR = Operator("reorder", Family.GRAMMATICAL, "independent sentences change places", change)
