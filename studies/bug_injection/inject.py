"""Inject bugs into a function: a few of every category, drawn with a seed.

Two of three injected bugs are also rewritten in other words, so that they differ from the reference in more than the
bug.
"""

import ast
import random
from collections import Counter
from collections.abc import Iterator

from bug_injection import branches, calls, computation, names
from bug_injection.rewrite import rewrite
from bug_injection.subject import InjectedBug, Injector, Subject, cut_sentences, make_subject, write
from dlbench.analysis.bugs.evidence import mentions
from dlbench.dataset import Instance
from dlbench.dataset.target import find_target
from dlbench.parsing import parse
from dlbench.validation.mutants import compiles

INJECTORS: dict[str, tuple[Injector, ...]] = {
    "misinterpretation": (calls.misread,),
    "syntax_error": (branches.break_syntax,),
    "silly_mistake": (computation.slip_in_logic, calls.slip),
    "prompt_biased": (computation.follow_example,),
    "missing_corner_case": (branches.drop_corner_case,),
    "wrong_input_type": (calls.pass_wrong_input,),
    "hallucinated_object": (names.hallucinate,),
    "wrong_attribute": (names.mistake_attribute,),
    "non_prompted": (calls.do_more,),
    "operation_error": (computation.miscompute,),
    "performance": (branches.waste_resources,),
    "undefined_reference": (names.leave_undefined,),
    "constant_error": (computation.mistake_constant,),
}
UNSTATED = "prompt_missing_information"
RARE = ("syntax_error", "performance")
"""The status alone reveals these, and endless work runs into the time limit: only one function in three gets them."""
_MAX_PER_OPERATOR = 4


def inject_bugs(instance: Instance, source: str, most: int, seed: int) -> list[InjectedBug]:
    """Up to `most` bugs per category, its operators in turn. None equals the reference."""
    target = find_target(source, instance.qualname)
    subject = make_subject(target.node, instance.prompt, parse(source), f"{seed}:{instance.id}")
    found: list[InjectedBug] = []
    for category, injectors in INJECTORS.items():
        if category in RARE and subject.rng.random() > 0.35:
            continue
        bugs = [bug for injector in injectors for bug in _apply(subject, category, injector)]
        found += _take_turns(bugs, subject.rng)[:most]
    return found + _take_turns(list(_hide_requirement(subject)), subject.rng)[:most]


def _apply(subject: Subject, category: str, injector: Injector) -> Iterator[InjectedBug]:
    seen = {write(subject.function)}
    counts: Counter[str] = Counter()
    for kind, operator, made in injector(subject):
        counts[operator] += 1
        if counts[operator] > _MAX_PER_OPERATOR:
            continue
        is_text = isinstance(made, str)
        code = made if isinstance(made, str) else write(rewrite(made, subject.rng))
        if code not in seen and compiles(code) is not is_text:
            seen.add(code)
            yield InjectedBug(category, kind, operator, code)


def _hide_requirement(subject: Subject) -> Iterator[InjectedBug]:
    """Cut what the prompt says about a constant or an error, and change it in the code."""
    changed = [(str(literal), made) for literal, made in computation.find_constants(subject)]
    header = ast.unparse(subject.function.args)
    for operator, pairs in [("a constant", changed), ("an error", list(branches.drop_error(subject)))]:
        for literal, made in pairs:
            left = cut_sentences(subject.prompt, literal)
            code = write(rewrite(made, subject.rng))
            if mentions(subject.prompt, literal) and left.strip() and not mentions(header, literal) and compiles(code):
                yield InjectedBug(UNSTATED, "other", f"{operator} that the prompt does not state", code, left)


def _take_turns(bugs: list[InjectedBug], rng: random.Random) -> list[InjectedBug]:
    """The first bug of each operator in a random order, then the second of each, and so on."""
    order = {operator: rng.random() for operator in sorted({bug.operator for bug in bugs})}
    turns: Counter[str] = Counter()
    keyed = []
    for place, bug in enumerate(bugs):
        keyed.append((turns[bug.operator], order[bug.operator], place, bug))
        turns[bug.operator] += 1
    return [each[-1] for each in sorted(keyed, key=lambda each: each[:3])]
