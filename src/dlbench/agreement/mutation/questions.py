"""Does it matter whether a task orders or asks? `Return the mean.` and `Could you return the mean?`"""

from random import Random

from dlbench.agreement.mutation.interface import Family, Operator, Original, Wording
from dlbench.agreement.mutation.orders import Order, say_otherwise

_OPENINGS = ("Could you", "Can you", "Would you")


def change(original: Original, chance: Random) -> Wording:
    opening = chance.choice(_OPENINGS)
    return say_otherwise(original, lambda order: _ask(opening, order))


def _ask(opening: str, order: Order) -> str | None:
    if order.denied or order.end != ".":  # an end that announces a list stays an announcement
        return None
    return f"{opening} {order.verb} {order.rest}?"


OPERATOR = Operator(
    "questions",
    Family.GRAMMATICAL,
    "orders become questions",
    change,
    "Turn the sentence that says what the function does into a question to a programmer; leave the others as they are.",
)
