"""Request solutions and tests for each variant of a prompt, and read the answers.

The request for tests does not ask for the function: tests written beside a solution repeat what the solution does. One
journal holds all answers: sample 2v is the function for variant v, sample 2v + 1 its tests. Names that a variant shows
are mapped back to the project's before anything is compared or run. Two solutions are the same if they parse to the
same code; the same solution written twice runs once and counts twice.
"""

import ast
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dlbench.agreement.model_tests import ModelTest, read_model_tests
from dlbench.agreement.rename_back import map_back
from dlbench.agreement.variants import Variant
from dlbench.dataset import Instance
from dlbench.dataset.target import Function, Target, find_target
from dlbench.errors import DLBenchError
from dlbench.extraction import extract
from dlbench.generation.model import Message, Request
from dlbench.generation.sampling import draw_seed
from dlbench.generation.sources import fit
from dlbench.generation.techniques import Question, find_technique, make_question, task_of
from dlbench.jsonl import read_lines
from dlbench.parsing import parse
from dlbench.scoring.tally import group_by

ANSWERS = "answers.jsonl"
TESTS_PER_VARIANT = 5
SYSTEM = (
    "You write tests in Python for deep-learning projects. Answer with one Python code block that contains only test "
    "functions. Do not implement what is tested."
)


@dataclass(frozen=True)
class RequestOptions:
    tests: int = TESTS_PER_VARIANT
    temperature: float = 0.0
    max_tokens: int = 1024
    seed: int = 0
    prompt_tokens: int = 6000
    """The estimated length of a prompt at most; 0 for no limit."""
    canary: str = ""


def make_request(
    instance: Instance, source: str, variants: Sequence[Variant], sample: int, options: RequestOptions
) -> Request:
    variant = variants[sample // 2]
    question = replace(show_question(instance, source, variant, options.canary), neighbours=())
    fitted = fit(find_technique("zero-shot"), question, (), options.prompt_tokens)
    messages: list[Message] = fitted.turns[0]
    notes: dict[str, object] = {"variant": variant.index, "operator": variant.operator, "asks_for": "solution"}
    if sample % 2:
        question = replace(question, skeleton="" if "cut" in fitted.notes else question.skeleton)
        messages = build_test_prompt(task_of(question), variant.function, options.tests)
        notes["asks_for"] = "tests"
    notes |= fitted.notes
    seed = draw_seed(options.seed, instance.id, sample)
    return Request(instance.id, sample, messages, options.temperature, options.max_tokens, seed, notes=notes)


def build_test_prompt(task: str, name: str, count: int = TESTS_PER_VARIANT) -> list[Message]:
    """`task` is the description in the prompt for the function, without its last sentence; `name` is what to call."""
    rules = (
        f"Now write {count} test functions for `{name}`, named test_1 to test_{count}, in one Python code block. "
        f"Each calls `{name}` on small inputs that are written out or seeded and asserts on what it returns or raises, "
        "with expected values that follow from the description. Compare floating-point arrays and tensors with a "
        "tolerance (torch.testing.assert_close, numpy.testing.assert_allclose). Each test stands alone: no arguments, "
        "no fixtures, no files, no network. Everything that the module has is in scope already; import anything else."
    )
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": f"{task}\n\n{rules}"}]


def show_question(instance: Instance, source: str, variant: Variant, canary: str = "") -> Question:
    """As `make_question`, with the variant's task, and its names in the signature and in the skeleton of the class."""
    module = parse(source)
    target = find_target(source, instance.qualname, module)
    _rename_in_place(module, target, variant)
    owner, dot, _ = instance.qualname.rpartition(".")
    qualname = f"{owner}{dot}{variant.function}"
    shown_id = f"{instance.project}/{instance.module}.{qualname}"
    shown = instance.model_copy(update={"id": shown_id, "qualname": qualname, "prompt": variant.task})
    return make_question(shown, module, target, canary)


def rename_target(node: Function, function: str, parameters: Mapping[str, str]) -> None:
    """Give the function and its parameters other names, in place; its body stays as it is."""
    node.name = function
    for argument in ast.iter_child_nodes(node.args):  # not those of a lambda
        if isinstance(argument, ast.arg):
            argument.arg = parameters.get(argument.arg, argument.arg)


def _rename_in_place(module: ast.Module, target: Target, variant: Variant) -> None:
    """Rename the target, what shares its name (overloads, a property's setter), and uses of the name in the class."""
    own = target.node.name
    for statement in (target.classes[-1] if target.classes else module).body:
        if isinstance(statement, Function) and statement.name == own:
            rename_target(statement, variant.function, variant.parameters)
            uses: list[ast.AST] = [*statement.decorator_list]
        else:
            uses = [statement] if isinstance(statement, ast.Assign | ast.AnnAssign) else []
        for node in (inner for outer in uses for inner in ast.walk(outer)):
            if isinstance(node, ast.Name) and node.id == own:
                node.id = variant.function
    if target.node.name == own:  # inside a branch
        rename_target(target.node, variant.function, variant.parameters)


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
    return group_by(range(len(solutions)), lambda index: solutions[index].id)


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
