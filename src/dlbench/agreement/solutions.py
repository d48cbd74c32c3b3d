"""Read the solutions and tests that a model wrote for each variant.

Names that a variant shows are mapped back to the project's before anything is compared or run. Two solutions are the
same if they parse to the same code; the same solution written twice runs once and counts twice.
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
from dlbench.dataset.target import Function
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
        normal = ast.unparse(parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        normal = code
    return Solution(hashlib.sha256(normal.encode(errors="surrogatepass")).hexdigest()[:16], code)


def write_copy(node: Function, number: int) -> str:
    """The function with a first line that has no effect; each `number` gives a different text."""
    twin = parse(ast.unparse(node)).body[0]
    assert isinstance(twin, Function)
    twin.decorator_list = []
    at = 1 if ast.get_docstring(twin) is not None else 0
    twin.body.insert(at, parse(f"_copy = {number}").body[0])
    return ast.unparse(ast.fix_missing_locations(twin)) + "\n"


def group_identical(solutions: Sequence[Solution]) -> dict[str, list[int]]:
    """Indices by solution id, in order of first appearance."""
    groups: dict[str, list[int]] = {}
    for index, solution in enumerate(solutions):
        groups.setdefault(solution.id, []).append(index)
    return groups


@dataclass
class Answers:
    """The answers for one instance, by the index of the variant. An answer without code has no solution."""

    solutions: dict[int, Solution | None] = field(default_factory=dict)
    tests: dict[int, list[ModelTest]] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)

    @property
    def usable(self) -> dict[int, Solution]:
        return {index: solution for index, solution in self.solutions.items() if solution is not None}

    @property
    def all_tests(self) -> list[ModelTest]:
        return [test for index in sorted(self.tests) for test in self.tests[index]]


def read_answers(
    path: Path, instances: Mapping[str, Instance], variants: Mapping[str, Sequence[Variant]]
) -> dict[str, Answers]:
    """Answers for these instances; others in the file are skipped."""
    found: dict[str, Answers] = {one: Answers() for one in instances}
    for number, record in read_lines(path):
        if record.get("instance") not in instances:
            continue
        try:
            instance, sample, text = instances[record["instance"]], int(record["sample"]), str(record["answer"])
            variant = variants[instance.id][sample // 2]
        except (KeyError, IndexError, ValueError, TypeError):
            fix = "the folder holds answers to other variants; choose another --out"
            raise DLBenchError("an answer to an unknown variant", where=f"{path}:{number}", fix=fix) from None
        answers = found[instance.id]
        answers.records.append(record)
        if sample % 2:
            parsed = read_model_tests(text, instance.qualname, variant)
            answers.tests[variant.index] = parsed.tests
            answers.dropped += parsed.dropped
        else:
            owner, dot, _ = instance.qualname.rpartition(".")
            code = extract(text, f"{owner}{dot}{variant.function}").code
            answers.solutions[variant.index] = make_solution(map_back(code, variant)) if code is not None else None
    return found
