"""Does a wording still ask for the same?

An operator or a model that drops a number, turns an axis around or loses a "not" asks for something else, and every
answer to it would count against the model that was asked. So each wording is held against the original: signature,
code, strings, shapes, numbers, names and types survive, what is stated and denied is as much and in the same order, no
sentence is lost, and the meaning is close. It is strict: a right wording that it cannot tell from a wrong one is
dropped as well.
"""

import ast
import builtins
import keyword
import re
from collections import Counter

from dlbench.agreement.mutation.facts import COUNTED, Facts, find_exchanged, find_facts, find_turned, looks_like_name
from dlbench.agreement.mutation.interface import Original, Wording
from dlbench.agreement.mutation.similarity import Measure
from dlbench.agreement.mutation.text import Kind, read, replace_pieces
from dlbench.agreement.naming import map_back
from dlbench.agreement.showing import rename_target
from dlbench.agreement.variant import Variant
from dlbench.dataset.target import render_signature
from dlbench.parsing import parse

_SAID = {
    Kind.CODE: "code",
    Kind.STRING: "a quoted string",
    Kind.SHAPE: "a shape",
    Kind.NUMBER: "a number",
    "numbers": "a number",
    "axes": "an axis or a place",
    "directions": "a direction or comparison",
    "types": "a type",
    "logic": "a condition",
}
_FEWEST = 3
"""Words that only one sentence has: of so many, one at least is left when the sentence is said otherwise."""


def find_fault(original: Original, wording: Wording, measure: Measure) -> str:
    """Why the wording may not stand for the original; empty where it may."""
    if not wording.task.strip():
        return "nothing is left of the text"
    return (
        _find_bad_name(original, wording) or _find_change(original, wording) or _find_drift(original, wording, measure)
    )


def _find_bad_name(original: Original, wording: Wording) -> str:
    renamed = dict(wording.parameters)
    if wording.function != original.function:
        renamed[original.function] = wording.function
    text = original.task
    for new in renamed.values():
        if not new.isidentifier() or keyword.iskeyword(new) or hasattr(builtins, new):
            return f"{new!r} cannot be a name here"
        if new in original.taken or re.search(rf"\b{re.escape(new)}\b", text):
            return f"the name {new!r} is taken"
    if len(set(renamed.values())) != len(renamed):
        return "two things have one name"
    return _find_other_signature(original, wording) if renamed else ""


def _find_other_signature(original: Original, wording: Wording) -> str:
    if original.node is None:
        return "" if not wording.parameters else "parameters are renamed without a signature"
    instance = original.instance
    own = render_signature(original.node, decorators=False)
    shown = render_signature(rename_target(original.node, wording.function, wording.parameters), decorators=False)
    variant = Variant(instance.id, 1, "", wording.task, wording.function, wording.parameters)
    back = map_back(f"{shown} ...", variant)
    if ast.dump(parse(back)) != ast.dump(parse(f"{own} ...")):
        return f"the signature {shown!r} is another one"
    return ""


def _find_change(original: Original, wording: Wording) -> str:
    before, after = find_facts(original.task), find_facts(_under_own_names(original, wording))
    for exact in before.exact:
        if said := _differ(before.exact[exact], after.exact[exact]):
            return f"{_SAID[exact]} is not as it was: {said}"
    if said := _differ(*_count_names(before, after)):
        return f"a name is not as it was: {said}"
    if before.negations != after.negations:
        return f"{before.negations} negations became {after.negations}"
    if turned := find_turned(before, after):
        return f"a negation was added or lost: {', '.join(turned)}"
    if exchanged := find_exchanged(before, after):
        return f"the opposite is said: {exchanged}"
    for kind in COUNTED[1:]:
        if said := _differ(before.counted[kind], after.counted[kind]):
            return f"{_SAID[kind]} is not as it was: {said}"
    return _find_disorder(before, after) or _find_lost_sentence(before, after)


def _find_disorder(before: Facts, after: Facts) -> str:
    """Sentences may change places, and may be joined or cut; within them the order stays."""
    if Counter(before.order) == Counter(after.order):
        return ""
    for part in ("about", "done"):
        flat = [token for sentence in before.order for token in getattr(sentence, part)]
        again = [token for sentence in after.order for token in getattr(sentence, part)]
        if flat != again:
            moved = next((one for one, other in zip(flat, again, strict=False) if one != other), "")
            return f"what is stated stands in another order, from {moved!r} on"
    return "" if len(before.order) != len(after.order) else "something is stated or denied in another sentence"


def _find_lost_sentence(before: Facts, after: Facts) -> str:
    """A condition may hold no number and no name; without its sentence the task is another all the same."""
    for own in before.own:
        if len(own) >= _FEWEST and not own & after.vocabulary:
            return f"a sentence is lost, the one with {', '.join(sorted(own)[:5])}"
    return ""


def _find_drift(original: Original, wording: Wording, measure: Measure) -> str:
    close = measure.compare(original.task, _under_own_names(original, wording))
    if close >= measure.threshold:
        return ""
    return f"the meaning is not close: similarity {close:.2f} by {measure.name}, below {measure.threshold:.2f}"


def _under_own_names(original: Original, wording: Wording) -> str:
    """New names stand nowhere else, so that changing them back is exact."""
    own = {new: old for old, new in wording.parameters.items()}
    if wording.function != original.function:
        own[wording.function] = original.function
    if not own:
        return wording.task
    names = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, own))})(?!\w)")
    fixed = [piece for piece in read(wording.task).fixed if piece.kind in (Kind.CODE, Kind.NAME)]
    return replace_pieces(
        wording.task, [(piece, names.sub(lambda found: own[found[0]], piece.text)) for piece in fixed]
    )


def _count_names(before: Facts, after: Facts) -> tuple[Counter[str], Counter[str]]:
    known = before.names | {token for token in after.tokens if looks_like_name(token)}
    first, second = (Counter({name: facts.tokens[name] for name in known}) for facts in (before, after))
    return first, second


def _differ(before: Counter[str], after: Counter[str]) -> str:
    lost, added = before - after, after - before
    said = [f"{_list(lost)} lost"] if lost else []
    said += [f"{_list(added)} added"] if added else []
    return ", ".join(said)


def _list(words: Counter[str]) -> str:
    return ", ".join(sorted(words)[:5])
