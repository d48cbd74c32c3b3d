"""Which operators are there? One list, in the order of the documentation; an operator is a file and a line here."""

from collections.abc import Iterable

from dlbench.agreement.mutation import (
    declarative,
    name_descriptive,
    name_misleading,
    name_neutral,
    parameter_names,
    passive,
    questions,
    reorder,
    rephrase,
    synonyms,
    typos,
    upper_case,
    verbs,
)
from dlbench.agreement.mutation.interface import Operator
from dlbench.dataset.splits import find_known
from dlbench.errors import DLBenchError

OPERATORS: dict[str, Operator] = {
    part.OPERATOR.name: part.OPERATOR
    for part in (
        verbs,
        synonyms,
        upper_case,
        typos,
        passive,
        questions,
        declarative,
        reorder,
        rephrase,
        name_descriptive,
        name_neutral,
        name_misleading,
        parameter_names,
    )
}


def find_operators(names: Iterable[str] = ()) -> list[Operator]:
    """Those of the names; all for none."""
    try:
        return [find_known(name, OPERATORS, "operator") for name in dict.fromkeys(names)] or [*OPERATORS.values()]
    except DLBenchError as error:
        raise DLBenchError(error.what, mend=f"choose of {', '.join(OPERATORS)}") from None
