"""What do the differences from the reference say?

Each edit, each statement that is missing or added, speaks for one kind of bug, or for two. Where candidate and
reference have little in common the edits are chance, and what counts is what the whole lacks and has.
"""

import builtins
import re
from collections.abc import Iterator

from dlbench.analysis.bugs.difference import Difference
from dlbench.analysis.bugs.edits import Edit
from dlbench.analysis.bugs.evidence import Evidence
from dlbench.analysis.bugs.marks import DECISIVE, HINT, MIDDLING, STRONG, WEAK, Mark
from dlbench.analysis.bugs.messages import CANDIDATE, LIBRARY, PROJECT
from dlbench.validation.mutation_operators import COMPARISONS

_AXES = ("axis", "dim", "axes", "dims", "keepdim", "keepdims", "keep_dims")
_RESHAPES = re.compile(
    r"\.?(reshape|ravel|flatten|squeeze|unsqueeze|transpose|permute|expand_dims|view|swapaxes|T)\b"
    r"|\[None|\[\.\.\., None"
)
_CONVERSIONS = re.compile(
    r"^\.?(round|str|list|tolist|tuple|int|float|float32|astype|clip|abs|item|numpy|Tuple|List|Dict|copy)\b"
)
_BOUNDS = re.compile(r"\b(max|min|maximum|minimum|clip|clamp|clamp_min|nan_to_num|IfExp|BoolOp)\b")
_DTYPES = re.compile(r"\b(u?int\d+|b?float\d+|complex\d+|double|half|long|float|int)$")
_FILLS = re.compile(r"\b(zeros|ones|full|zeros_like|ones_like|new_zeros|new_ones)$")
_SHAPED = re.compile(r"shape|ndim|\bdim|len\(|size|empty")
_VALUED = re.compile(r"dtype|nan|isfinite|isinf|== 0|> 0|< 0|eps|float|int8")
_NUMBER = re.compile(r"-?\d+(\.\d+)?$")
_REFUSED = (CANDIDATE, LIBRARY, PROJECT)


def mark_changes(evidence: Evidence) -> Iterator[Mark]:
    difference = evidence.difference
    if difference is None:
        return
    if difference.signature:
        yield Mark("misinterpretation", WEAK, f"another signature: {difference.signature}")
    if difference.defaults and not difference.signature:
        yield Mark("constant_error", STRONG, f"other defaults: {difference.defaults}")
    if evidence.frameworks:
        yield Mark(
            "misinterpretation",
            STRONG,
            f"works with {', '.join(evidence.frameworks)}, which the module does not use",
            "library",
        )
    if difference.gives_nothing:
        yield Mark("silly_mistake", DECISIVE - HINT, "nothing is ever returned")
    if difference.is_near:
        for edit in difference.edits:
            yield from _mark_edit(edit, evidence, difference)
        yield from _mark_removed(evidence, difference)
        yield from _mark_added(evidence, difference)
    yield from _mark_whole(evidence, difference)


def _mark_edit(edit: Edit, evidence: Evidence, difference: Difference) -> Iterator[Mark]:
    told = f"{edit.old} became {edit.new or 'nothing'}"
    match edit.kind:
        case "constant":
            yield from _mark_constant(edit, evidence, told)
        case "operator":
            yield Mark("operation_error", STRONG, f"another operator: {told}", "algebra")
        case "sign":
            yield Mark("operation_error", STRONG, f"another sign: {told}", "algebra")
        case "connective":
            yield Mark("operation_error", STRONG, f"another connective: {told}")
        case "comparison":
            turned = COMPARISONS.get(edit.old) == edit.new
            yield Mark("silly_mistake" if turned else "operation_error", STRONG, f"another comparison: {told}")
        case "condition negated" | "swapped" | "nothing returned" | "unused":
            yield Mark("silly_mistake", DECISIVE - HINT, f"{edit.kind}: {told}")
        case "attribute":
            yield from _mark_attribute(edit, told)
        case "fixed":
            if edit.old in difference.unused_parameters or (edit.old in difference.parameters and edit.new != "None"):
                yield Mark(
                    "prompt_biased",
                    DECISIVE - HINT,
                    f"the parameter {edit.old} is not used, {edit.new} stands in its place",
                )
            else:
                yield Mark("wrong_input_type", STRONG, f"{told} in {edit.where or 'an expression'}", "type")
        case "replaced":
            yield from _mark_replaced(edit, told)
        case "wrapped":
            yield from _mark_wrapped(edit, evidence, told)
        case "unwrapped":
            yield from _mark_unwrapped(edit, told)
        case "keyword added" | "arguments":
            yield Mark("wrong_input_type", WEAK, f"{edit.where} is called with {edit.new}", "arguments")
        case "keyword dropped":
            yield Mark("silly_mistake", WEAK, f"{edit.where} is called without {edit.old}")
        case "name" if hasattr(builtins, edit.old):
            yield Mark("operation_error", STRONG, f"another function: {told}", "algebra")
        case "name" if edit.new not in evidence.names.undefined:
            yield Mark("silly_mistake", WEAK, f"another variable: {told}")


def _mark_constant(edit: Edit, evidence: Evidence, told: str) -> Iterator[Mark]:
    refused = evidence.raised.site in _REFUSED and evidence.raised.type not in ("AssertionError", "")
    literal = edit.old.strip("'\"")
    if edit.where in _AXES:
        if refused and _NUMBER.match(edit.new) and abs(int(float(edit.new))) > 4:
            yield Mark("wrong_input_type", DECISIVE, f"{edit.where}: {told}, and the call refuses it", "arguments")
        yield Mark("operation_error", STRONG, f"another {edit.where}: {told}", "shape")
    elif edit.where == "dtype" or _DTYPES.search(edit.new.strip("'\"")):
        if refused and not _DTYPES.search(edit.new.strip("'\"")):
            yield Mark("wrong_input_type", DECISIVE, f"dtype: {told}, and the call refuses it", "arguments")
        yield Mark("operation_error", STRONG, f"another type: {told}", "casting")
    elif edit.where in ("index", "range"):
        yield Mark("operation_error", STRONG, f"another bound: {told}")
    elif edit.new == "None":
        yield Mark("wrong_input_type", STRONG, f"{edit.where or 'something'} gets None for {edit.old}", "type")
    elif literal in evidence.untold:
        yield Mark("prompt_missing_information", STRONG + HINT, f"{edit.old} is stated nowhere in the prompt")
        yield Mark("constant_error", MIDDLING, f"another constant: {told}")
    else:
        is_text = edit.old[:1] in "'\""
        yield Mark("constant_error", STRONG, f"another constant: {told}", "other" if is_text else "tensor")


def _mark_attribute(edit: Edit, told: str) -> Iterator[Mark]:
    if _FILLS.search(edit.old) and _FILLS.search(edit.new):
        yield Mark("constant_error", STRONG, f"filled with another value: {told}", "tensor")
    elif _DTYPES.search(edit.old) and _DTYPES.search(edit.new):
        yield Mark("operation_error", STRONG, f"another type: {told}", "casting")
    else:
        yield Mark("operation_error", STRONG - HINT, f"another function: {told}", "algebra")


def _mark_replaced(edit: Edit, told: str) -> Iterator[Mark]:
    if _NUMBER.match(edit.new) and _SHAPED.search(edit.old):
        yield Mark("prompt_biased", DECISIVE - HINT, f"a size is fixed: {told}")
    elif edit.new == "None":
        yield Mark("wrong_input_type", STRONG, f"{edit.where or 'something'} gets None for {edit.old}", "type")
    elif edit.where in ("index", "range"):
        yield Mark("operation_error", MIDDLING, f"another bound: {told}")
    elif edit.where in _AXES:
        yield Mark("operation_error", STRONG, f"another {edit.where}: {told}", "shape")
    else:
        yield Mark("misinterpretation", WEAK, f"another expression: {told}")


def _mark_wrapped(edit: Edit, evidence: Evidence, told: str) -> Iterator[Mark]:
    helper = edit.new.partition("(")[0]
    if helper in evidence.names.undefined:
        return
    if edit.where == "return":
        if _RESHAPES.search(edit.new):
            yield Mark("misinterpretation", DECISIVE - HINT, f"the result is given back through {edit.new}", "shape")
        elif _CONVERSIONS.search(edit.new):
            yield Mark("non_prompted", DECISIVE - HINT, f"the result is given back through {edit.new}")
        else:
            yield Mark("misinterpretation", WEAK, f"the result is given back through {edit.new}")
    elif edit.where in ("index", "range"):
        yield Mark("operation_error", STRONG, f"a bound: {told}")
    elif _RESHAPES.search(edit.new):
        yield Mark("wrong_input_type", STRONG, f"{edit.where or 'a call'} gets {edit.old} through {edit.new}", "shape")
    elif _CONVERSIONS.search(edit.new):
        yield Mark("wrong_input_type", STRONG, f"{edit.where or 'a call'} gets {edit.old} through {edit.new}", "type")
    else:
        yield Mark("operation_error", WEAK, f"{edit.old} goes through {edit.new}")


def _mark_unwrapped(edit: Edit, told: str) -> Iterator[Mark]:
    if _BOUNDS.search(edit.old):
        yield Mark("missing_corner_case", STRONG, f"a boundary is not handled: {told}", "value")
    elif edit.where in ("index", "range"):
        yield Mark("operation_error", STRONG, f"a bound: {told}")
    else:
        yield Mark("operation_error", WEAK, f"an operation is missing: {told}")
        yield Mark("misinterpretation", HINT, f"an operation is missing: {told}")


def _mark_removed(evidence: Evidence, difference: Difference) -> Iterator[Mark]:
    if len(difference.removed) > max(3, 0.4 * difference.statements[0]) and not _is_case(difference):
        return
    undefined = bool(evidence.names.undefined)
    for place, (kind, text) in enumerate(zip(difference.removed, difference.removed_text, strict=False)):
        shaped = "shape" if _SHAPED.search(text) else "value" if _VALUED.search(text) else "other"
        if kind == "branch":
            then = difference.removed[place + 1] if place + 1 < len(difference.removed) else ""
            if then == "refusal" and evidence.untold and not evidence.told:
                yield Mark(
                    "prompt_missing_information",
                    DECISIVE - HINT,
                    f"{evidence.untold[0]} is stated nowhere in the prompt",
                )
            yield Mark("missing_corner_case", STRONG, f"a case is not handled: {text.partition(':')[0]}", shaped)
        elif kind == "catch":
            yield Mark("missing_corner_case", STRONG, "an error is not caught")
        elif kind == "step" and not undefined:
            yield Mark("silly_mistake", WEAK, f"a step is not done: {text}")
            yield Mark("misinterpretation", HINT, f"a step is not done: {text}")


def _mark_added(evidence: Evidence, difference: Difference) -> Iterator[Mark]:
    if difference.repeated:
        yield Mark("silly_mistake", DECISIVE - HINT, f"done twice: {difference.repeated[0]}")
        return
    added = [kind for kind in difference.added if kind not in ("import", "return")]
    if "refusal" in added:
        yield Mark("non_prompted", STRONG, "it refuses something of its own accord")
    elif "branch" in added and not difference.removed and difference.branches > 0:
        case = difference.added_text[difference.added.index("branch")].split("\n")[0]
        yield Mark("non_prompted", STRONG, f"a case that nobody asked for: {case}")
    elif added and not difference.removed and not difference.edits and "loop" not in added:
        yield Mark("non_prompted", WEAK, f"a step that nobody asked for: {difference.added_text[0]}")


def _mark_whole(evidence: Evidence, difference: Difference) -> Iterator[Mark]:
    lost = len(difference.removed) / max(1, difference.statements[0])
    alike = f"{difference.likeness:.0%} of the statements are the reference's"
    if difference.is_near:
        if lost > 0.3 and len(difference.removed) > 3 and not _is_case(difference):
            yield Mark("misinterpretation", STRONG, alike, "functionality")
        if difference.unused_parameters:
            yield Mark("prompt_biased", HINT, f"{', '.join(difference.unused_parameters)} is not used")
        return
    passing = evidence.passed / max(1, evidence.passed + evidence.failed)
    # another author's words are no misreading: what most tests pass on does what was asked
    points = STRONG if passing < 0.2 else MIDDLING if passing < 0.5 else WEAK
    yield Mark("misinterpretation", points - HINT, f"{alike}, and {passing:.0%} of the tests pass", "functionality")
    if evidence.raised.type in ("AssertionError", "Failed", ""):
        yield from _mark_far(evidence, difference, passing)


def _mark_far(evidence: Evidence, difference: Difference, passing: float) -> Iterator[Mark]:
    """Of a solution in other words: what the whole of it lacks and has."""
    for name in difference.unused_parameters:
        if name not in ("self", "cls") and passing > 0:
            yield Mark("prompt_biased", MIDDLING + HINT, f"{name} is not used")
    if difference.refusals < 0 and "DID NOT RAISE" in evidence.raised.text:
        yield Mark("missing_corner_case", STRONG, "it refuses less than the reference")
    elif difference.branches < 0 and passing > 0.5:
        yield Mark("missing_corner_case", MIDDLING + HINT, "most tests pass, and it has fewer branches")
    elif passing > 0.3:
        yield Mark("operation_error", MIDDLING, "many tests pass, with as many branches", "algebra")
    if difference.refusals > 0:
        yield Mark("non_prompted", STRONG, "it refuses something of its own accord")
    extra = [name for name in difference.extra_calls if _CONVERSIONS.search(name)]
    if extra:
        yield Mark("non_prompted", WEAK, f"it also calls {', '.join(extra)}")


def _is_case(difference: Difference) -> bool:
    """Is nothing different but that one condition is not asked, with all that hangs on it?"""
    return difference.removed[:1] in (("branch",), ("catch",)) and not difference.edits and not difference.added
