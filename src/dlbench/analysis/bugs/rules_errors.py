"""What do status and error say by themselves?

An undefined name, an attribute that is not there, an unknown argument: these are known from the message, whatever the
code looks like. What only says that a value was wrong is left to the comparison with the reference.
"""

import re
from collections.abc import Iterator

from dlbench.analysis.bugs.evidence import Evidence
from dlbench.analysis.bugs.marks import DECISIVE, HINT, MIDDLING, STRONG, WEAK, Mark
from dlbench.analysis.bugs.messages import CALLER, CANDIDATE, LIBRARY, PROJECT, TEST
from dlbench.runs.verdict import Status

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
