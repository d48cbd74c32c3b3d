"""Classify a failure by rules over its evidence: status, error raised, undefined names.

Each rule adds points to a category and gives a reason; the category with the most points wins. Confidence is a value to
sort by, not a probability.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dlbench.analysis.bugs.evidence import CALLER, CANDIDATE, LIBRARY, PROJECT, TEST, Evidence
from dlbench.analysis.bugs.taxonomy import OTHER, read_categories
from dlbench.runs.verdict import Status

DECISIVE, STRONG, MEDIUM, WEAK, HINT = 10.0, 7.0, 4.0, 2.0, 1.0
"""From an error with only one possible cause to what only breaks a tie."""


@dataclass(frozen=True)
class RuleHit:
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
_WRONG_SHAPE = RuleHit("wrong_input_type", MEDIUM, "a call does not accept the shape", "shape")
_BY_ARRAY_MESSAGE = {
    r"requires? grad|leaf variable|inplace operation|in-place operation|backward through the graph"
    r"|same device|expected all tensors|on device|cuda": [
        RuleHit("wrong_input_type", MEDIUM, "a tensor has the wrong gradient state or device", "type")
    ],
    r"truth value of|boolean value of tensor|ambiguous": [
        RuleHit("operation_error", MEDIUM, "an array is used as a single truth value"),
        RuleHit("wrong_input_type", HINT, "an array is used as a single truth value", "type"),
    ],
    r"expected input\[|to have \d+ channels|expected (?:\d+d|.*dimension)|found array with dim"
    r"|expects? .*\d-?d(?:imensional)? (?:input|array)|must have at least \d+ dim": [_WRONG_SHAPE],
    r"broadcast|size of tensor a|mat1 and mat2|matmul|not aligned|size-incompatible|incompatible shapes"
    r"|invalid for input of size|cannot reshape|equal size|sizes of tensors must match|dot_general requires"
    r"|same number of dimensions|dimensions? .* must match|must match the existing size|inner dimensions": [
        RuleHit("operation_error", MEDIUM, "shapes do not match in an operation", "shape"),
        RuleHit("wrong_input_type", HINT, "shapes do not match in an operation", "shape"),
    ],
}
"""By pattern; the first one that matches counts."""
_TRACED = re.compile(r"^(?:Tracer\w*|Concretization\w*|NonConcrete\w*|UnexpectedTracer\w*)Error$")
_OUT_OF_DOMAIN = re.compile(
    r"out of bounds|out of range|is not a valid|invalid|not understood|unknown|unsupported|not support|must be", re.I
)
_TENSORS = ("ndarray", "Tensor", "numpy", "torch", "array", "jax", "EagerTensor", "DataFrame", "Series")

_TAMPERED = RuleHit("misinterpretation", MEDIUM, "the code tampered with the judge instead of solving the task")
_NO_TARGET = RuleHit("misinterpretation", STRONG, "the answer does not contain the requested function")
_BY_STATUS = {
    Status.SYNTAX_ERROR: RuleHit("syntax_error", 2 * DECISIVE, "the code does not parse"),
    Status.TIMEOUT: RuleHit("performance", STRONG - HINT, "the time limit was exceeded"),
    Status.OUT_OF_MEMORY: RuleHit("performance", STRONG - HINT, "the memory limit was exceeded", "tensors"),
    Status.NO_CODE: _NO_TARGET,
    Status.MISSING_TARGET: _NO_TARGET,
    Status.TAMPERED: _TAMPERED,
    Status.UNCONFIRMED: _TAMPERED,
}


def hit_by_error(evidence: Evidence) -> Iterator[RuleHit]:
    raised = evidence.raised
    match raised.type:
        case "NameError" | "UnboundLocalError":
            yield _hit_name(evidence)
        case "ModuleNotFoundError" | "ImportError":
            yield _hit_import(evidence)
        case "AttributeError" | "TypeError" | "ValueError" | "RuntimeError" | "InvalidArgumentError":
            yield from _hit_value(evidence)
        case "AxisError" | "IndexError" | "KeyError" | "ZeroDivisionError":
            yield from _hit_value(evidence)
        case "LinAlgError":
            reason = "a matrix cannot be decomposed or solved"
            yield RuleHit("missing_corner_case", WEAK, reason, "value")
            yield RuleHit("operation_error", HINT, reason, "algebra")
        case kind if _TRACED.match(kind):
            yield RuleHit("wrong_input_type", MEDIUM, "a traced value is used where a concrete one is needed", "type")
        case "AssertionError" | "Failed":
            yield from _hit_assertion(evidence)
        case "RecursionError":
            yield RuleHit("performance", WEAK, "the recursion does not end")
        case _ if raised.site in (LIBRARY, PROJECT):
            yield RuleHit("wrong_input_type", WEAK, f"{raised.called or 'a call'} rejects its input")


def hit_by_names(evidence: Evidence) -> Iterator[RuleHit]:
    """Static findings are weaker than an error: the line may never run."""
    if evidence.frameworks:
        used = ", ".join(evidence.frameworks)
        yield RuleHit("misinterpretation", STRONG, f"it uses {used}, which the module does not use", "library")
    if evidence.raised.type in ("NameError", "UnboundLocalError"):
        return
    for name in evidence.names.called:
        yield RuleHit("hallucinated_object", MEDIUM, f"{name} is called but not defined")
    for name in sorted(set(evidence.names.undefined) - set(evidence.names.called)):
        yield RuleHit("undefined_reference", MEDIUM, f"{name} is never assigned")
    for path in evidence.missing:
        if path.rpartition(".")[2][:1].isupper():
            yield RuleHit("hallucinated_object", WEAK, f"the environment has no {path}", "misused")
        else:
            yield RuleHit("wrong_attribute", WEAK, f"the environment has no {path}", "api")
    for name in evidence.names.unknown_of_self:
        yield RuleHit("undefined_reference", HINT, f"the module never mentions self.{name}")


def _hit_name(evidence: Evidence) -> RuleHit:
    name = next(iter(evidence.raised.quoted), "")
    if evidence.raised.type == "NameError" and (name in evidence.names.called or _is_class(name)):
        kind = "missing" if _is_class(name) else OTHER
        return RuleHit("hallucinated_object", DECISIVE, f"{name} is called but not defined", kind)
    return RuleHit("undefined_reference", DECISIVE, f"{name or 'a variable'} is read before it is assigned")


def _hit_import(evidence: Evidence) -> RuleHit:
    name = next(iter(evidence.raised.quoted), "")
    top = name.partition(".")[0]
    if evidence.raised.type == "ImportError":
        return RuleHit("wrong_attribute", DECISIVE, f"{name} cannot be imported from an existing module", "import")
    if top in evidence.frameworks:
        return RuleHit("misinterpretation", DECISIVE, f"the project does not use {top}", "library")
    if "." in name:
        return RuleHit("wrong_attribute", DECISIVE, f"{top} exists, {name} does not", "import")
    return RuleHit("hallucinated_object", DECISIVE, f"there is no module {name}", "missing")


def _hit_attribute(evidence: Evidence) -> Iterator[RuleHit]:
    raised = evidence.raised
    quoted = raised.quoted
    owner, name = (quoted[0], quoted[-1]) if len(quoted) > 1 else ("", quoted[-1] if quoted else "")
    # A module's own __getattr__ is below the candidate, but the attribute is one the candidate wrote.
    if raised.site not in (CANDIDATE, "") and raised.called != "__getattr__":
        yield RuleHit("wrong_input_type", MEDIUM, f"an object that the candidate passed on has no {name}", "type")
        return
    if evidence.frameworks:
        reason = f"written for {evidence.frameworks[0]}, which the module does not use"
        yield RuleHit("misinterpretation", DECISIVE, reason, "library")
    is_module = raised.text.startswith("module ")
    if is_module and _is_class(name):
        yield RuleHit("hallucinated_object", DECISIVE, f"{owner} has no class {name}", "misused")
    elif is_module:
        yield RuleHit("wrong_attribute", DECISIVE, f"{owner} has no {name}", "api")
    elif name in evidence.names.unknown_of_self or f"self.{name}" in evidence.statement:
        yield RuleHit("undefined_reference", DECISIVE, f"self has no {name}")
    elif owner == "NoneType":
        yield RuleHit("silly_mistake", HINT, "None is used as a value")
        yield RuleHit("missing_corner_case", WEAK, "None is used as a value")
    else:
        kind = "api" if any(word in owner for word in _TENSORS) else OTHER
        yield RuleHit("wrong_attribute", DECISIVE, f"a {owner} has no {name}", kind)


def _hit_value(evidence: Evidence) -> Iterator[RuleHit]:
    raised = evidence.raised
    if raised.site in (TEST, CALLER):
        for category in ("misinterpretation", "non_prompted"):
            yield RuleHit(category, HINT, "the caller could not use the result")
    elif raised.type == "AttributeError":
        yield from _hit_attribute(evidence)
    elif raised.site == CANDIDATE and evidence.statement.startswith("raise "):
        yield RuleHit("non_prompted", MEDIUM, "a check of the candidate rejects valid input")
    elif raised.type == "TypeError" and _ARGUMENTS.search(raised.text):
        target = evidence.instance.rpartition(".")[2]
        if re.match(rf"(\w+\.)*{re.escape(target)}\(\)", raised.text) and raised.site != CANDIDATE:
            yield RuleHit("misinterpretation", MEDIUM, "the function does not accept the required arguments")
        else:
            yield RuleHit("wrong_input_type", STRONG, "a call passes arguments that do not exist", "arguments")
    elif raised.type == "TypeError" and _OPERANDS.search(raised.text):
        yield RuleHit("operation_error", WEAK, "an operator does not support these types")
        yield RuleHit("wrong_input_type", WEAK, "an operator does not support these types", "type")
    elif raised.type in ("IndexError", "KeyError", "ZeroDivisionError") and raised.site == CANDIDATE:
        yield RuleHit("missing_corner_case", WEAK, f"{raised.type} on valid input")
    else:
        yield from _hit_array_message(evidence)


def _hit_array_message(evidence: Evidence) -> Iterator[RuleHit]:
    raised = evidence.raised
    known = [hits for pattern, hits in _BY_ARRAY_MESSAGE.items() if re.search(pattern, raised.text, re.I)]
    if known:
        yield from known[0]
    elif _SHAPES.search(raised.text) and not _OUT_OF_DOMAIN.search(raised.text):
        yield _WRONG_SHAPE
    elif raised.site in (LIBRARY, PROJECT) or raised.dtypes or raised.type in ("TypeError", "AxisError"):
        kind = "arguments" if _OUT_OF_DOMAIN.search(raised.text) else "type"
        yield RuleHit("wrong_input_type", MEDIUM, f"{raised.called or 'a call'} rejects its input", kind)


def _hit_assertion(evidence: Evidence) -> Iterator[RuleHit]:
    text = evidence.raised.text
    if "DID NOT RAISE" in text or "DID NOT WARN" in text:
        yield RuleHit("missing_corner_case", MEDIUM, "a required error or warning is not raised")
    elif evidence.raised.shapes and _SHAPES.search(text):
        yield RuleHit("misinterpretation", WEAK, "the result has the wrong shape", "shape")
        yield RuleHit("operation_error", HINT, "the result has the wrong shape", "shape")
    if re.match(r"assert None\b", text):
        yield RuleHit("silly_mistake", WEAK, "nothing is returned")


def _is_class(name: str) -> bool:
    return name[:1].isupper() and not name.isupper()


_OF_ARRAYS = {"misinterpretation", "missing_corner_case", "wrong_input_type", "operation_error", "constant_error"}
"""Categories whose subcategories are about tensors; without tensors in the code, the subcategory is `other`."""


@dataclass(frozen=True)
class Classified:
    category: str
    kind: str
    confidence: float
    points: dict[str, float]
    reasons: tuple[str, ...]
    """Reasons for the chosen category, strongest first."""


def classify(evidence: Evidence) -> Classified:
    hits = [RuleHit("misinterpretation", HINT, "no rule matches anything else")]
    hits += [_BY_STATUS[Status(evidence.status)]] if evidence.status in _BY_STATUS else []
    hits += [*hit_by_error(evidence), *hit_by_names(evidence)]
    points: dict[str, float] = {}
    for hit in hits:
        # A second reason for the same category adds little to the first.
        points[hit.category] = max(points.get(hit.category, 0.0), hit.points) + HINT * (hit.category in points) / 2
    category = max(points, key=lambda one: (points[one], one))
    chosen = sorted((hit for hit in hits if hit.category == category), key=lambda hit: -hit.points)
    kind = next((hit.kind for hit in chosen if hit.kind != OTHER), OTHER)
    if (category in _OF_ARRAYS and not evidence.is_numeric) or kind not in read_categories()[category].kinds:
        kind = OTHER
    return Classified(
        category=category,
        kind=kind,
        confidence=round(min(1.0, points[category] / STRONG) * points[category] / sum(points.values()), 3),
        points=points,
        reasons=tuple(dict.fromkeys(hit.reason for hit in chosen)),
    )
