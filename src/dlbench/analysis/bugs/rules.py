"""Which kind of bug is it, by rules that anybody can read?

Every rule looks at the evidence and gives points to a category, with its reason; the category with most points is the
answer, and all reasons are kept. Confidence is the share of the points that speak for the answer, less where few speak
at all: a number to sort by, not a probability.

What does one piece of evidence speak for, and how loudly?

What do status and error say by themselves?

An undefined name, an attribute that is not there, an unknown argument: these are known from the message, whatever the
code looks like. What only says that a value was wrong is left to the comparison with the reference.

What do the differences from the reference say?

Each edit, each statement that is missing or added, speaks for one kind of bug, or for two. Where candidate and
reference have little in common the edits are chance, and what counts is what the whole lacks and has.
"""

import builtins
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dlbench.analysis.bugs.ast_diff import Difference, Edit
from dlbench.analysis.bugs.evidence import CALLER, CANDIDATE, LIBRARY, PROJECT, TEST, Evidence
from dlbench.analysis.bugs.taxonomy import OTHER, read_categories
from dlbench.runs.verdict import Status
from dlbench.validation.mutation_operators import COMPARISONS

DECISIVE, STRONG, MIDDLING, WEAK, HINT = 10.0, 7.0, 4.0, 2.0, 1.0
"""An error that can have but one cause; a change that is nearly always of one kind; …; what only breaks a tie."""


@dataclass(frozen=True)
class Mark:
    category: str
    points: float
    reason: str
    kind: str = OTHER


_ARGUMENTS = re.compile(
    r"unexpected keyword|positional argument|required positional|multiple values|invalid keyword|keyword argument"
    r"|takes (no|at most|at least|exactly|from)|missing \d+ required|not an allowed value|not understood|must be one of"
)
_OPERANDS = re.compile(r"unsupported operand|not supported between|bad operand")
_SHAPES = re.compile(r"shape|broadcast|dimension|size of tensor|mat1|ndim|axis|axes", re.I)
_UNFIT = re.compile(
    r"broadcast|size of tensor a|mat1 and mat2|matmul|not aligned|size-incompatible|incompatible shapes"
    r"|invalid for input of size|cannot reshape|equal size|sizes of tensors must match|dot_general requires"
    r"|same number of dimensions|dimensions? .* must match|must match the existing size|inner dimensions",
    re.I,
)
_EXPECTED = re.compile(
    r"expected input\[|to have \d+ channels|expected (?:\d+d|.*dimension)|found array with dim"
    r"|expects? .*\d-?d(?:imensional)? (?:input|array)|must have at least \d+ dim",
    re.I,
)
_GRADIENT = re.compile(
    r"requires? grad|leaf variable|inplace operation|in-place operation|backward through the graph", re.I
)
_TRUTH = re.compile(r"truth value of|boolean value of tensor|ambiguous", re.I)
_DEVICE = re.compile(r"same device|expected all tensors|on device|cuda", re.I)
_TRACED = re.compile(r"^(?:Tracer\w*|Concretization\w*|NonConcrete\w*|UnexpectedTracer\w*)Error$")
_OUTSIDE = re.compile(
    r"out of bounds|out of range|is not a valid|invalid|not understood|unknown|unsupported|not support|must be", re.I
)
_TENSORS = ("ndarray", "Tensor", "numpy", "torch", "array", "jax", "EagerTensor", "DataFrame", "Series")


def mark_status(evidence: Evidence) -> Iterator[Mark]:
    match evidence.status:
        case Status.SYNTAX_ERROR:
            yield Mark("syntax_error", 2 * DECISIVE, "the code does not parse")
        case Status.TIMEOUT | Status.OUT_OF_MEMORY:
            more = evidence.difference is not None and "loop" in evidence.difference.added
            reason = "it took more time or memory than there is"
            yield Mark(
                "performance", STRONG - HINT, reason, "tensors" if evidence.status == Status.OUT_OF_MEMORY else "other"
            )
            if more:
                yield Mark("performance", DECISIVE - HINT, "it has a loop that the reference has not")
        case Status.NO_CODE | Status.MISSING_TARGET:
            yield Mark("misinterpretation", STRONG, "the answer does not hold the function that was asked for")
        case Status.TAMPERED:
            yield Mark("misinterpretation", MIDDLING, "it reached for the judge instead of solving the task")


def mark_error(evidence: Evidence) -> Iterator[Mark]:
    raised = evidence.raised
    match raised.type:
        case "NameError" | "UnboundLocalError":
            yield from _mark_name(evidence)
        case "ModuleNotFoundError" | "ImportError":
            yield from _mark_import(evidence)
        case "AttributeError":
            yield from _mark_attribute(evidence)
        case (
            "TypeError"
            | "ValueError"
            | "RuntimeError"
            | "AxisError"
            | "IndexError"
            | "KeyError"
            | "ZeroDivisionError"
            | "InvalidArgumentError"
        ):
            yield from _mark_value(evidence)
        case "LinAlgError":
            yield Mark("missing_corner_case", WEAK, "a matrix that cannot be decomposed or solved", "value")
            yield Mark("operation_error", HINT, "a matrix that cannot be decomposed or solved", "algebra")
        case kind if _TRACED.match(kind):
            yield Mark("wrong_input_type", MIDDLING, "a traced value stands where a known one is wanted", "type")
        case "AssertionError" | "Failed":
            yield from _mark_assertion(evidence)
        case "RecursionError":
            yield Mark("performance", WEAK, "it calls itself without an end")
        case _ if raised.site in (LIBRARY, PROJECT):
            yield Mark("wrong_input_type", WEAK, f"{raised.called or 'a call'} refuses what it was given")


def mark_names(evidence: Evidence) -> Iterator[Mark]:
    """Found without running: weaker than an error, since the line may never be reached."""
    if evidence.raised.type in ("NameError", "UnboundLocalError"):
        return
    for name in evidence.names.called:
        yield Mark("hallucinated_object", MIDDLING, f"nobody defines {name}, which is called")
    for name in set(evidence.names.undefined) - set(evidence.names.called):
        yield Mark("undefined_reference", MIDDLING, f"nobody assigns {name}")
    for path in evidence.missing:
        name = path.rpartition(".")[2]
        if name[:1].isupper():
            yield Mark("hallucinated_object", WEAK, f"the environment has no {path}", "misused")
        else:
            yield Mark("wrong_attribute", WEAK, f"the environment has no {path}", "api")
    for name in evidence.names.unknown_of_self:
        yield Mark("undefined_reference", HINT, f"the module never speaks of self.{name}")


def _mark_name(evidence: Evidence) -> Iterator[Mark]:
    name = next(iter(evidence.raised.quoted), "")
    if evidence.raised.type == "NameError" and (name in evidence.names.called or _is_class(name)):
        yield Mark(
            "hallucinated_object",
            DECISIVE,
            f"{name} is called and nobody defines it",
            "missing" if _is_class(name) else "other",
        )
    else:
        yield Mark("undefined_reference", DECISIVE, f"{name or 'a variable'} is read and not assigned")


def _mark_import(evidence: Evidence) -> Iterator[Mark]:
    name = next(iter(evidence.raised.quoted), "")
    top = name.partition(".")[0]
    if evidence.raised.type == "ImportError":
        yield Mark("wrong_attribute", DECISIVE, f"{name} cannot be imported from a module that is there", "import")
    elif top in evidence.frameworks:
        yield Mark("misinterpretation", DECISIVE, f"{top} is not what the project works with", "library")
    elif "." in name:
        yield Mark("wrong_attribute", DECISIVE, f"there is a {top}, but no {name}", "import")
    else:
        yield Mark("hallucinated_object", DECISIVE, f"there is no module {name}", "missing")


def _mark_attribute(evidence: Evidence) -> Iterator[Mark]:
    raised = evidence.raised
    quoted = raised.quoted
    owner, name = (quoted[0], quoted[-1]) if len(quoted) > 1 else ("", quoted[-1] if quoted else "")
    if raised.site in (TEST, CALLER):
        yield from _mark_unusable()
        return
    # a module's own __getattr__ stands below the candidate, and speaks of what the candidate wrote
    if raised.site not in (CANDIDATE, "") and raised.called != "__getattr__":
        yield Mark("wrong_input_type", MIDDLING, f"what the candidate handed on has no {name}", "type")
        return
    if evidence.frameworks:
        yield Mark(
            "misinterpretation",
            DECISIVE,
            f"written for {evidence.frameworks[0]}, which the module does not use",
            "library",
        )
    is_module = raised.text.startswith("module ")
    if is_module and _is_class(name):
        yield Mark("hallucinated_object", DECISIVE, f"{owner} has no class {name}", "misused")
    elif is_module:
        yield Mark("wrong_attribute", DECISIVE, f"{owner} has no {name}", "api")
    elif name in evidence.names.unknown_of_self or f"self.{name}" in evidence.statement:
        yield Mark("undefined_reference", DECISIVE, f"self has no {name}")
    elif owner == "NoneType":
        yield Mark("silly_mistake", HINT, "None is used as if it were a value")
        yield Mark("missing_corner_case", WEAK, "None is used as if it were a value")
    elif _is_of_reference(evidence, name):
        yield Mark("wrong_input_type", WEAK, f"a {owner} stands where another type was expected", "type")
    else:
        yield Mark("wrong_attribute", DECISIVE, f"a {owner} has no {name}", "api" if _is_tensor(owner) else "other")


def _mark_value(evidence: Evidence) -> Iterator[Mark]:
    raised = evidence.raised
    if raised.site == CANDIDATE and evidence.statement.startswith("raise "):
        yield from _mark_refusal(evidence)
        return
    if raised.site in (TEST, CALLER):
        yield from _mark_unusable()
        return
    if raised.type == "TypeError" and _ARGUMENTS.search(raised.text):
        own = evidence.instance.rpartition(".")[2]
        if re.match(rf"(\w+\.)*{re.escape(own)}\(\)", raised.text) and raised.site != CANDIDATE:
            yield Mark("misinterpretation", MIDDLING, "the function does not take the arguments that it should")
        else:
            yield Mark("wrong_input_type", STRONG, "a call with arguments that the function does not take", "arguments")
        return
    if raised.type == "TypeError" and _OPERANDS.search(raised.text):
        yield Mark("operation_error", WEAK, "an operator is used on types that it does not know")
        yield Mark("wrong_input_type", WEAK, "an operator is used on types that it does not know", "type")
        return
    if raised.type in ("IndexError", "KeyError", "ZeroDivisionError") and raised.site == CANDIDATE:
        yield Mark("missing_corner_case", WEAK, f"{raised.type} on an input that has to be handled")
        return
    if _GRADIENT.search(raised.text) or _DEVICE.search(raised.text):
        reason = "a tensor with another gradient or device than the operation takes"
        yield Mark("wrong_input_type", MIDDLING, reason, "type")
    elif _TRUTH.search(raised.text):
        yield Mark("operation_error", MIDDLING, "an array is used as if it were one truth value")
        yield Mark("wrong_input_type", HINT, "an array is used as if it were one truth value", "type")
    elif _EXPECTED.search(raised.text):
        yield Mark("wrong_input_type", MIDDLING, "a shape that a call does not take", "shape")
    elif _UNFIT.search(raised.text):
        yield Mark("operation_error", MIDDLING, "shapes do not fit in an operation", "shape")
        yield Mark("wrong_input_type", HINT, "shapes do not fit in an operation", "shape")
    elif _SHAPES.search(raised.text) and not _OUTSIDE.search(raised.text):
        yield Mark("wrong_input_type", MIDDLING, "a shape that a call does not take", "shape")
    elif raised.site in (LIBRARY, PROJECT) or raised.dtypes or raised.type in ("TypeError", "AxisError"):
        kind = "arguments" if _OUTSIDE.search(raised.text) else "type"
        yield Mark("wrong_input_type", MIDDLING, f"{raised.called or 'a call'} refuses what it was given", kind)


def _mark_unusable() -> Iterator[Mark]:
    for category in ("misinterpretation", "non_prompted"):
        yield Mark(category, HINT, "the caller could not use what it got")


def _mark_refusal(evidence: Evidence) -> Iterator[Mark]:
    difference = evidence.difference
    own = difference is not None and any(text[:100] == evidence.statement[:100] for text in difference.added_text)
    if own or (difference is not None and difference.refusals > 0):
        yield Mark("non_prompted", DECISIVE, "it refuses, by a check of its own, what it should take")
    else:
        yield Mark("silly_mistake", WEAK, "it refuses what it should take, by a check that the reference has too")


def _mark_assertion(evidence: Evidence) -> Iterator[Mark]:
    text = evidence.raised.text
    if "DID NOT RAISE" in text or "DID NOT WARN" in text:
        yield Mark("missing_corner_case", MIDDLING, "it does not refuse what it should refuse")
    elif evidence.raised.shapes and _SHAPES.search(text):
        yield Mark("misinterpretation", WEAK, "the result has another shape", "shape")
        yield Mark("operation_error", HINT, "the result has another shape", "shape")
    if re.match(r"assert None\b", text):
        yield Mark("silly_mistake", WEAK, "nothing is returned")


def _is_class(name: str) -> bool:
    return name[:1].isupper() and not name.isupper()


def _is_tensor(name: str) -> bool:
    return any(word in name for word in _TENSORS)


def _is_of_reference(evidence: Evidence, name: str) -> bool:
    """Does the reference take the same attribute from something? Then it is the object that is wrong."""
    difference = evidence.difference
    if difference is None:
        return False
    changed = [edit.new for edit in difference.edits if edit.kind == "attribute"]
    added = [*difference.added_text, *(edit.new for edit in difference.edits)]
    return (
        not any(new.endswith(f".{name}") for new in changed)
        and not any(f".{name}" in text for text in added)
        and name not in difference.extra_calls
    )


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
            yield from _mark_changed_attribute(edit, told)
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


def _mark_changed_attribute(edit: Edit, told: str) -> Iterator[Mark]:
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


RULES: tuple[Callable[[Evidence], Iterator[Mark]], ...] = (mark_status, mark_error, mark_names, mark_changes)

_OF_ARRAYS = {"misinterpretation", "missing_corner_case", "wrong_input_type", "operation_error", "constant_error"}
"""Whose subcategories speak of tensors: without any in the code, it is the other one."""


@dataclass(frozen=True)
class Classified:
    category: str
    kind: str
    confidence: float
    points: dict[str, float]
    reasons: tuple[str, ...]
    """Of the chosen category, the strongest first."""


def classify(evidence: Evidence) -> Classified:
    # where nothing speaks, the task was misread as far as anybody can tell
    marks = [Mark("misinterpretation", HINT, "nothing says otherwise")]
    marks += [mark for rule in RULES for mark in rule(evidence)]
    points: dict[str, float] = {}
    for mark in marks:
        # the second reason of a kind says little that the first did not
        points[mark.category] = max(points.get(mark.category, 0.0), mark.points) + HINT * (mark.category in points) / 2
    category = max(points, key=lambda one: (points[one], one))
    chosen = sorted((mark for mark in marks if mark.category == category), key=lambda mark: -mark.points)
    kind = next((mark.kind for mark in chosen if mark.kind != OTHER), OTHER)
    if category in _OF_ARRAYS and not evidence.is_numeric:
        kind = OTHER
    known = read_categories()[category].kinds
    strength = min(1.0, points[category] / STRONG)
    return Classified(
        category=category,
        kind=kind if kind in known else OTHER,
        confidence=round(strength * points[category] / sum(points.values()), 3),
        points=points,
        reasons=tuple(dict.fromkeys(mark.reason for mark in chosen)),
    )
