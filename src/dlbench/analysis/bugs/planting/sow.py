"""Which bugs are planted into a function?

One or a few of every category, drawn with a seed. The category is what the planter says. Two of three plants are put
into other words, so that they do not stand beside the reference letter by letter.
"""

import ast
import random
from collections import Counter
from collections.abc import Iterator

from dlbench.analysis.bugs.evidence import states
from dlbench.analysis.bugs.planting import branching, calling, computing, naming
from dlbench.analysis.bugs.planting.rewriting import reword
from dlbench.analysis.bugs.planting.subject import InjectedBug, Planter, Subject, cut_sentences, make_subject, write
from dlbench.dataset import Instance
from dlbench.dataset.target import find_target
from dlbench.parsing import parse
from dlbench.validation.mutants import compiles

PLANTERS: dict[str, tuple[Planter, ...]] = {
    "misinterpretation": (calling.misread,),
    "syntax_error": (branching.break_syntax,),
    "silly_mistake": (computing.slip_in_logic, calling.slip),
    "prompt_biased": (computing.follow_example,),
    "missing_corner_case": (branching.forget_corner,),
    "wrong_input_type": (calling.pass_wrong_input,),
    "hallucinated_object": (naming.hallucinate,),
    "wrong_attribute": (naming.mistake_attribute,),
    "non_prompted": (calling.do_more,),
    "operation_error": (computing.miscompute,),
    "performance": (branching.waste,),
    "undefined_reference": (naming.leave_undefined,),
    "constant_error": (computing.mistake_constant,),
}
UNTOLD = "prompt_missing_information"
SELDOM = ("syntax_error", "performance")
"""Known by the verdict's status alone, and endless work takes until its end: only in a third of the functions."""
_TAKEN = 4


def inject_bugs(instance: Instance, source: str, most: int, seed: int) -> list[InjectedBug]:
    """Up to `most` of every category, operators of a category taking turns; nothing that equals the reference."""
    target = find_target(source, instance.qualname)
    subject = make_subject(target.node, instance.prompt, parse(source), f"{seed}:{instance.id}")
    found: list[InjectedBug] = []
    for category, planters in PLANTERS.items():
        if category in SELDOM and subject.chance.random() > 0.35:
            continue
        plants = _spread([one for planter in planters for one in _plant(subject, category, planter)], subject.chance)
        found += plants[:most]
    return found + _spread(list(_leave_untold(subject)), subject.chance)[:most]


def _plant(subject: Subject, category: str, planter: Planter) -> Iterator[InjectedBug]:
    seen = {write(subject.function)}
    counts: Counter[str] = Counter()
    for kind, operator, made in planter(subject):
        counts[operator] += 1
        if counts[operator] > _TAKEN:
            continue
        is_text = isinstance(made, str)
        code = made if isinstance(made, str) else write(reword(made, subject.chance))
        if code not in seen and compiles(code) is not is_text:
            seen.add(code)
            yield InjectedBug(category, kind, operator, code)


def _leave_untold(subject: Subject) -> Iterator[InjectedBug]:
    """What the prompt says of a constant or an error is cut from it, and the code does it in another way."""
    changed = [(str(literal), made) for literal, made in computing.find_constants(subject)]
    header = ast.unparse(subject.function.args)
    for operator, pairs in [("a constant", changed), ("an error", list(branching.forget_refusal(subject)))]:
        for literal, made in pairs:
            left = cut_sentences(subject.prompt, literal)
            code = write(reword(made, subject.chance))
            if states(subject.prompt, literal) and left.strip() and not states(header, literal) and compiles(code):
                yield InjectedBug(UNTOLD, "other", f"{operator} that is not told", code, left)


def _spread(plants: list[InjectedBug], chance: random.Random) -> list[InjectedBug]:
    """Operators take turns, in a random order: the first of each, then the second of each."""
    operators = sorted({one.operator for one in plants})
    order = {operator: chance.random() for operator in operators}
    turns: Counter[str] = Counter()
    keyed = []
    for place, one in enumerate(plants):
        keyed.append((turns[one.operator], order[one.operator], place, one))
        turns[one.operator] += 1
    return [each[-1] for each in sorted(keyed, key=lambda each: each[:3])]
