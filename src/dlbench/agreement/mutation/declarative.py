"""Does it matter whether a task orders or states? `Return the mean.` and `The function must return the mean.`

The verb keeps its base form after `must`, so that a second order in the same sentence stays right as it stands.
"""

from random import Random

from dlbench.agreement.mutation.interface import Family, Operator, Original, Wording
from dlbench.agreement.mutation.orders import Order, say_otherwise

_DENIALS = {"Do not": "must not", "Don't": "must not", "Never": "must never", "": "must"}


def change(original: Original, chance: Random) -> Wording:
    subject = "The method" if original.instance.is_method else "The function"
    return say_otherwise(original, lambda order: _state(subject, order))


def _state(subject: str, order: Order) -> str:
    return f"{subject} {_DENIALS[order.denied]} {order.verb} {order.rest}{order.end}"


OPERATOR = Operator(
    "declarative",
    Family.GRAMMATICAL,
    "orders become statements",
    change,
    "Turn every sentence that is an order into a statement about what the function does.",
)
