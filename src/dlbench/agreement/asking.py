"""What is a model asked, for each variant of each instance?

Twice: for the function, in the words of zero-shot, and for tests of it. Both see the same task under the same names, so
that what differs between two solutions of an instance is the wording and nothing else. One journal holds all answers:
sample 2v is the function for variant v, sample 2v + 1 its tests.
"""

from collections.abc import Sequence
from dataclasses import replace

from dlbench.agreement.checks.asking import ask_for_checks
from dlbench.agreement.showing import show_question
from dlbench.agreement.variant import Variant
from dlbench.agreement.wording import Wording
from dlbench.dataset import Instance
from dlbench.generation.model import Message, Request
from dlbench.generation.sampling import draw_seed
from dlbench.generation.techniques import find_technique
from dlbench.generation.techniques.base import task_of
from dlbench.generation.techniques.build import fit

ANSWERS = "answers.jsonl"


def count_requests(variants: Sequence[Variant]) -> int:
    return 2 * len(variants)


def make_request(
    instance: Instance, source: str, variants: Sequence[Variant], sample: int, wording: Wording
) -> Request:
    """`source`: the text of the instance's module."""
    variant = variants[sample // 2]
    question = replace(show_question(instance, source, variant, wording.canary), neighbours=())
    fitted = fit(find_technique("zero-shot"), question, (), wording.tokens)
    messages: list[Message] = fitted.turns[0]
    notes: dict[str, object] = {"variant": variant.index, "operator": variant.operator, "asks_for": "solution"}
    if sample % 2:
        question = replace(question, skeleton="" if fitted.cut else question.skeleton)
        messages = ask_for_checks(task_of(question), variant.function, wording.checks)
        notes["asks_for"] = "tests"
    if fitted.cut:
        notes["cut"] = fitted.cut
    seed = draw_seed(wording.seed, instance.id, sample)
    return Request(instance.id, sample, messages, wording.temperature, wording.max_tokens, seed, notes=notes)
