"""Does it matter who does it? `Return the mean if it exists.` and `The mean must be returned if it exists.`

Only orders of one verb, and only where the end of its object can be told for sure.
"""

import re
from random import Random

from dlbench.agreement.mutation.interface import Family, Operator, Original, Wording
from dlbench.agreement.mutation.orders import Order, has_second_order, say_otherwise
from dlbench.agreement.mutation.text import capitalised, read
from dlbench.agreement.mutation.words import read_words

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


def change(original: Original, chance: Random) -> Wording:
    return say_otherwise(original, _turn)


def _turn(order: Order) -> str | None:
    participle = read_words().orders[order.verb]
    hidden = read(order.rest).hidden
    first = re.match(r"[a-z]+", hidden)
    if not participle or order.denied or order.end not in (".", "") or (first and first[0] in _DOERS):
        return None
    clause = _CLAUSE.search(hidden)
    stop = clause.start() if clause else len(order.rest)
    if _DOUBTFUL.search(hidden[:stop]) or has_second_order(hidden) or not order.rest[:stop].strip():
        return None
    return f"{capitalised(order.rest[:stop])} must be {participle}{order.rest[stop:]}{order.end}"


OPERATOR = Operator(
    "passive",
    Family.GRAMMATICAL,
    "orders become passive",
    change,
    "Put every active sentence into the passive voice.",
)
