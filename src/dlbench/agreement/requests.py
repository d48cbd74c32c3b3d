"""What is a model asked, for each variant of each instance?

Twice: for the function, in the words of zero-shot, and for tests of it. Both see the same task under the same names, so
that what differs between two solutions of an instance is the wording and nothing else. One journal holds all answers:
sample 2v is the function for variant v, sample 2v + 1 its tests.

How is a model asked for tests of a function that it has not seen?

With the task as the solutions' prompt tells it, and with rules that make the answer usable: complete functions, each
alone, no fixture, no file, expected values written out. The solution is not asked for in the same breath: tests written
beside a solution say what that solution does.

What have all requests of a run in common?

What does a model see of a variant?

The task in its words, and the signature and the skeleton of the class under its names: a prompt that says `f1` above a
signature that says `scale` would ask for two things.
"""

import ast
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dlbench.agreement.variants import Variant
from dlbench.dataset import Instance
from dlbench.dataset.target import Function, Target, find_target, render_signature
from dlbench.generation.model import Message, Request
from dlbench.generation.sampling import draw_seed
from dlbench.generation.techniques import find_technique
from dlbench.generation.techniques.base import Question, make_question, task_of
from dlbench.generation.techniques.build import fit
from dlbench.parsing import parse

TESTS_PER_VARIANT = 5
SYSTEM = (
    "You write tests in Python for deep-learning projects. Answer with one Python code block that contains only test "
    "functions. Do not implement what is tested."
)


def build_test_prompt(task: str, name: str, count: int = TESTS_PER_VARIANT) -> list[Message]:
    """`task`: the description that the solutions' prompt has, without its last sentence; `name`: what to call."""
    rules = (
        f"Now write {count} test functions for `{name}`, named test_1 to test_{count}, in one Python code block. "
        f"Each calls `{name}` on small inputs that are written out or seeded and asserts on what it returns or raises, "
        "with expected values that follow from the description. Compare floating-point arrays and tensors with a "
        "tolerance (torch.testing.assert_close, numpy.testing.assert_allclose). Each test stands alone: no arguments, "
        "no fixtures, no files, no network. Everything that the module has is in scope already; import anything else."
    )
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": f"{task}\n\n{rules}"}]


@dataclass(frozen=True)
class RequestOptions:
    """What all requests have in common."""

    checks: int = TESTS_PER_VARIANT
    temperature: float = 0.0
    max_tokens: int = 1024
    seed: int = 0
    tokens: int = 6000
    """The most that a prompt has by estimate, 0 for any."""
    canary: str = ""


def show_question(instance: Instance, source: str, variant: Variant, canary: str = "") -> Question:
    """As `read_question`, for any technique to put into words; `source`: the text of the instance's module.

    The instance in it is made up: it has the variant's names and words, and serves for nothing but showing.
    """
    module = parse(source)
    target = find_target(source, instance.qualname, module)
    _rename_in_place(module, target, variant)
    return make_question(show_instance(instance, variant), module, target, canary)


def show_instance(instance: Instance, variant: Variant) -> Instance:
    owner, dot, _ = instance.qualname.rpartition(".")
    qualname = f"{owner}{dot}{variant.function}"
    own = f"{instance.project}/{instance.module}.{qualname}"
    return instance.model_copy(update={"id": own, "qualname": qualname, "prompt": variant.task})


def show_signature(instance: Instance, source: str, variant: Variant) -> str:
    target = find_target(source, instance.qualname)
    return render_signature(rename_target(target.node, variant.function, variant.parameters))


def rename_target(node: Function, function: str, parameters: Mapping[str, str]) -> Function:
    """The same header under other names; what is below it stays as it is."""
    renamed = copy.copy(node)
    renamed.args = copy.deepcopy(node.args)
    renamed.name = function
    for argument in _list_arguments(renamed.args):
        argument.arg = parameters.get(argument.arg, argument.arg)
    return renamed


def _rename_in_place(module: ast.Module, target: Target, variant: Variant) -> None:
    """The target, what shares its name (overloads, a property's setter), and what the class says of it by name."""
    own = target.node.name
    for statement in (target.classes[-1] if target.classes else module).body:
        if isinstance(statement, Function) and statement.name == own:
            renamed = rename_target(statement, variant.function, variant.parameters)
            statement.name, statement.args = renamed.name, renamed.args
            spoken: list[ast.AST] = [*statement.decorator_list]
        else:
            spoken = [statement] if isinstance(statement, ast.Assign | ast.AnnAssign) else []
        for node in (inner for outer in spoken for inner in ast.walk(outer)):
            if isinstance(node, ast.Name) and node.id == own:
                node.id = variant.function
    if target.node.name == own:  # it stands in a branch
        renamed = rename_target(target.node, variant.function, variant.parameters)
        target.node.name, target.node.args = renamed.name, renamed.args


def _list_arguments(arguments: ast.arguments) -> list[ast.arg]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return every + [rest for rest in (arguments.vararg, arguments.kwarg) if rest is not None]


ANSWERS = "answers.jsonl"


def count_requests(variants: Sequence[Variant]) -> int:
    return 2 * len(variants)


def make_request(
    instance: Instance, source: str, variants: Sequence[Variant], sample: int, wording: RequestOptions
) -> Request:
    """`source`: the text of the instance's module."""
    variant = variants[sample // 2]
    question = replace(show_question(instance, source, variant, wording.canary), neighbours=())
    fitted = fit(find_technique("zero-shot"), question, (), wording.tokens)
    messages: list[Message] = fitted.turns[0]
    notes: dict[str, object] = {"variant": variant.index, "operator": variant.operator, "asks_for": "solution"}
    if sample % 2:
        question = replace(question, skeleton="" if fitted.cut else question.skeleton)
        messages = build_test_prompt(task_of(question), variant.function, wording.checks)
        notes["asks_for"] = "tests"
    if fitted.cut:
        notes["cut"] = fitted.cut
    seed = draw_seed(wording.seed, instance.id, sample)
    return Request(instance.id, sample, messages, wording.temperature, wording.max_tokens, seed, notes=notes)
