"""What did the model write, for each variant: which solution, and which tests?

Names that a variant showed are mapped back to the project's before anything is compared or run. An answer without code
is no solution; it cannot be chosen where another can.

When are two solutions the same?

When they parse to the same code: comments, blank lines and quotes are no difference in what they do. The same solution
twice is run once and counts twice.
"""

import ast
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dlbench.agreement.model_tests import ModelTest, read_model_tests
from dlbench.agreement.rename_back import map_back
from dlbench.agreement.variants import Variant
from dlbench.dataset import Instance
from dlbench.errors import DLBenchError
from dlbench.extraction import extract
from dlbench.jsonl import read_lines
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


def group_identical(solutions: Sequence[Solution]) -> dict[str, list[int]]:
    """By id, in the order of their first appearance, the places at which each stands."""
    places: dict[str, list[int]] = {}
    for place, solution in enumerate(solutions):
        places.setdefault(solution.id, []).append(place)
    return places


@dataclass
class Answers:
    """Of one instance; by the variant's index."""

    solutions: dict[int, Solution | None] = field(default_factory=dict)
    checks: dict[int, list[ModelTest]] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)

    @property
    def usable(self) -> dict[int, Solution]:
        return {index: solution for index, solution in self.solutions.items() if solution is not None}

    @property
    def all_checks(self) -> list[ModelTest]:
        return [check for index in sorted(self.checks) for check in self.checks[index]]


def read_answers(
    path: Path, instances: Mapping[str, Instance], variants: Mapping[str, Sequence[Variant]]
) -> dict[str, Answers]:
    """Of the instances that are asked about; others in the file are not looked at."""
    found: dict[str, Answers] = {one: Answers() for one in instances}
    for number, record in read_lines(path):
        if record.get("instance") not in instances:
            continue
        try:
            instance, sample, text = instances[record["instance"]], int(record["sample"]), str(record["answer"])
            variant = variants[instance.id][sample // 2]
        except (KeyError, IndexError, ValueError, TypeError):
            fix = "the folder holds answers to other variants; choose another --out"
            raise DLBenchError("an answer to no known variant", where=f"{path}:{number}", fix=fix) from None
        answers = found[instance.id]
        answers.records.append(record)
        if sample % 2:
            reading = read_model_tests(text, instance.qualname, variant)
            answers.checks[variant.index] = reading.checks
            answers.dropped += reading.dropped
        else:
            answers.solutions[variant.index] = _read_solution(text, instance, variant)
    return found


def _read_solution(text: str, instance: Instance, variant: Variant) -> Solution | None:
    owner, dot, _ = instance.qualname.rpartition(".")
    code = extract(text, f"{owner}{dot}{variant.function}").code
    return make_solution(map_back(code, variant)) if code is not None else None
