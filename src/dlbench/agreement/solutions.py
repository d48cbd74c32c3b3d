"""When are two solutions the same?

When they parse to the same code: comments, blank lines and quotes are no difference in what they do. The same solution
twice is run once and counts twice.
"""

import ast
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from dlbench.parsing import parse


@dataclass(frozen=True)
class Solution:
    id: str
    code: str


def make_solution(code: str) -> Solution:
    try:
        same = ast.unparse(parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        same = code
    return Solution(hashlib.sha256(same.encode(errors="surrogatepass")).hexdigest()[:16], code)


def gather(solutions: Sequence[Solution]) -> dict[str, list[int]]:
    """By id, in the order of their first appearance, the places at which each stands."""
    places: dict[str, list[int]] = {}
    for place, solution in enumerate(solutions):
        places.setdefault(solution.id, []).append(place)
    return places
