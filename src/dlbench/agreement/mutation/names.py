"""Which operators are there? One list, in the order of the documentation; an operator is a file and a line here."""

from collections.abc import Iterable

from dlbench.agreement.mutation.declarative import OPERATOR as DECLARATIVE
from dlbench.agreement.mutation.interface import Operator
from dlbench.agreement.mutation.name_descriptive import OPERATOR as NAME_DESCRIPTIVE
from dlbench.agreement.mutation.name_misleading import OPERATOR as NAME_MISLEADING
from dlbench.agreement.mutation.name_neutral import OPERATOR as NAME_NEUTRAL
from dlbench.agreement.mutation.parameter_names import OPERATOR as PARAMETER_NAMES
from dlbench.agreement.mutation.passive import OPERATOR as PASSIVE
from dlbench.agreement.mutation.questions import OPERATOR as QUESTIONS
from dlbench.agreement.mutation.reorder import OPERATOR as REORDER
from dlbench.agreement.mutation.rephrase import OPERATOR as REPHRASE
from dlbench.agreement.mutation.synonyms import OPERATOR as SYNONYMS
from dlbench.agreement.mutation.typos import OPERATOR as TYPOS
from dlbench.agreement.mutation.upper_case import OPERATOR as UPPER_CASE
from dlbench.agreement.mutation.verbs import OPERATOR as VERBS
from dlbench.dataset.splits import find_known
from dlbench.errors import DLBenchError

OPERATORS: dict[str, Operator] = {
    one.name: one
    for one in (
        VERBS,
        SYNONYMS,
        UPPER_CASE,
        TYPOS,
        PASSIVE,
        QUESTIONS,
        DECLARATIVE,
        REORDER,
        REPHRASE,
        NAME_DESCRIPTIVE,
        NAME_NEUTRAL,
        NAME_MISLEADING,
        PARAMETER_NAMES,
    )
}


def find_operators(names: Iterable[str] = ()) -> list[Operator]:
    """Those of the names; all for none."""
    try:
        return [find_known(name, OPERATORS, "operator") for name in dict.fromkeys(names)] or [*OPERATORS.values()]
    except DLBenchError as error:
        raise DLBenchError(error.what, mend=f"choose of {', '.join(OPERATORS)}") from None
