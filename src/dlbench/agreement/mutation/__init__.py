"""Say a task in other words: each operator is a small file behind one interface, and one guard judges them all."""

from dlbench.agreement.mutation.difference import show_difference
from dlbench.agreement.mutation.interface import Family, Operator
from dlbench.agreement.mutation.make import Dropped, Variants, gather_variants, make_variants
from dlbench.agreement.mutation.names import OPERATORS, find_operators

__all__ = [
    "OPERATORS",
    "Dropped",
    "Family",
    "Operator",
    "Variants",
    "find_operators",
    "gather_variants",
    "make_variants",
    "show_difference",
]
