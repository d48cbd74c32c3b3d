"""Does it matter in whose words the task is told? A model tells it anew; no rule could."""

from dlbench.agreement.mutation.interface import Family, Operator

OPERATOR = Operator(
    "rephrase",
    Family.GRAMMATICAL,
    "the whole task in a model's words",
    order="Say the whole text in other words and other sentences, as another programmer would.",
)
