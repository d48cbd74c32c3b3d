"""What is known of a failure, that anybody may judge by?

The verdict's status and tests; the error, where it was raised and by which call; names that nobody has; how the code
differs from the reference. Rules, a model and a person are given the same, so that they differ by judgement and not by
what they were told. The reference is read from the prepared workspace while this runs and is never stored; where a
project is not prepared the evidence says so, and nothing is guessed.
"""

import ast
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from dlbench.analysis.bugs.difference import Difference, compare, read_reference
from dlbench.analysis.bugs.failures import Failure
from dlbench.analysis.bugs.messages import Raised, read_message
from dlbench.analysis.bugs.naming import Names, study_names
from dlbench.dataset.target import Function, Target, TargetError, find_target, parse_statements
from dlbench.errors import DLBenchError
from dlbench.execution.names import find_names
from dlbench.runs.verdict import Outcome

ARRAYS = frozenset(["np", "numpy", "torch", "jnp", "tf", "F", "T", "tl"])
"""Names under which modules import the libraries of arrays."""
_WORDS = {
    literal: re.compile(rf"\b({words})\b", re.I)
    for literal, words in {
        "0": "zero|zeros|zeroes|positive|negative|non-negative|empty|none|nothing|first",
        "1": "one|ones|first|single|unit|once",
        "2": "two|half|halves|twice|double|doubled|second|squared?|pairs?",
        "-1": "last|minus",
        "0.5": "half|middle|centre|center",
        "3": "three|third",
        "100": "percent|percentage",
    }.items()
}
_NOTHING = re.compile(r"(?!)")
_FRAMEWORKS = {"torch", "tensorflow", "jax", "keras", "numpy", "paddle", "mxnet"}


@dataclass(frozen=True)
class Evidence:
    id: str
    instance: str
    sample: int
    status: str
    raised: Raised
    passed: int
    failed: int
    others: tuple[str, ...] = ()
    """Errors of other tests, by type, where they are of another type than the first."""
    statement: str = ""
    """The candidate's statement in which it was raised, or below which."""
    names: Names = field(default_factory=Names)
    missing: tuple[str, ...] = ()
    """What is taken from a library that does not have it."""
    difference: Difference | None = None
    """None where the reference is not at hand, or the code does not parse."""
    is_numeric: bool = False
    """Candidate or reference work with a library of arrays."""
    frameworks: tuple[str, ...] = ()
    """Frameworks that the candidate imports and the module does not."""
    untold: tuple[str, ...] = ()
    """Constants and errors of the reference that the candidate has not, and that neither prompt nor header states."""
    told: tuple[str, ...] = ()
    """The same, that are stated."""
    notes: tuple[str, ...] = ()
    """What could not be found out, and why."""

    def as_record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Around:
    """The module of an instance, as it was fetched."""

    source: str
    target: Target


def collect(failure: Failure, around: Around | None, missing: Mapping[str, bool] | None = None) -> Evidence:
    """`missing`: by path into a library, whether it lacks it; None where nobody was asked."""
    verdict = failure.verdict
    raised = read_message(verdict, failure.instance)
    counts = Counter(verdict["tests"].values())
    known: dict[str, Any] = {
        "id": failure.id,
        "instance": failure.instance.id,
        "sample": verdict["sample"],
        "status": verdict["status"],
        "raised": raised,
        "passed": counts[Outcome.PASSED],
        "failed": sum(counts.values()) - counts[Outcome.PASSED],
        "others": _other_errors(verdict, raised),
    }
    notes: list[str] = []
    tree = parse(failure.code)
    if failure.code is None:
        notes.append("there is no code to look at")
    elif tree is None:
        notes.append("the code does not parse")
    if around is None:
        notes.append(f"the project {failure.instance.project} is not prepared here: no reference to compare with")
    if around is not None and missing is None:
        notes.append("nobody asked the project's environment which names it has")
    if tree is not None and around is not None:
        try:
            known |= _compare(failure, tree, around, raised, missing or {}, notes)
        except RecursionError:  # a sum of a thousand terms, as a model that repeats itself writes it
            notes.append("the code is nested too deeply to be compared")
    return Evidence(**known, notes=tuple(notes))


def _compare(
    failure: Failure, tree: ast.Module, around: Around, raised: Raised, missing: Mapping[str, bool], notes: list[str]
) -> dict[str, Any]:
    function = find_function(tree, failure.instance.qualname)
    names = names_of(failure.code or "", around.source)
    known: dict[str, Any] = {
        "names": names,
        "missing": tuple(path for path in names.wanted if missing.get(path)),
        "is_numeric": bool(ARRAYS & (_roots(tree) | _roots(around.target.node))),
        "frameworks": _find_frameworks(tree, around.source),
    }
    if function is None:
        notes.append("the code does not define the target as a function")
        return known
    reference = read_reference(around.target.text)
    difference = compare(reference, function)
    lacking = _find_lacking(difference)
    header = ast.unparse(around.target.node.args)
    asked = f"{failure.prompt}\n{header}"
    return known | {
        "difference": difference,
        "statement": _find_statement(function, raised, around.target),
        "told": tuple(one for one in lacking if speaks_of(asked, one)),
        "untold": tuple(one for one in lacking if not speaks_of(asked, one)),
    }


@lru_cache(maxsize=4096)
def parse(code: str | None) -> ast.Module | None:
    if code is None:
        return None
    try:
        tree = ast.Module(parse_statements(code), [])
        find_names(ast.unparse(tree))
    except (DLBenchError, SyntaxError):  # a parameter twice is refused by Python's symbol tables, after its parser
        return None
    except RecursionError:  # too deep to be compared, which is said where it is
        pass
    return tree


@lru_cache(maxsize=8192)  # asked once for the environments, and once more for each failure
def names_of(code: str, source: str) -> Names:
    tree = parse(code)
    return Names() if tree is None else study_names(ast.unparse(tree), tree, source)


def find_function(tree: ast.Module, qualname: str) -> Function | None:
    """The target in an answer: under its full name, or alone as a method without its class."""
    for name in (qualname, qualname.rpartition(".")[2]):
        try:
            return find_target(ast.unparse(tree), name).node
        except (TargetError, SyntaxError):
            continue
    return None


def states(text: str, literal: object) -> bool:
    """Does the text name this number or word?"""
    return bool(re.search(rf"(?<![\w.]){re.escape(str(literal))}(?![\w]|\.\d)", text))


def speaks_of(text: str, literal: str) -> bool:
    """The same, or in words: nobody writes `0` where "not negative" says it."""
    return states(text, literal) or bool(_WORDS.get(literal, _NOTHING).search(text))


def _roots(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _other_errors(verdict: Mapping[str, Any], raised: Raised) -> tuple[str, ...]:
    errors = verdict.get("errors")
    texts = [str(text) for text in errors.values()] if isinstance(errors, dict) else []
    kinds = [text.partition(":")[0].rpartition(".")[2].strip() for text in texts]
    return tuple(kind for kind in dict.fromkeys(kinds) if kind.isidentifier() and kind != raised.type)


def _find_frameworks(tree: ast.Module, source: str) -> tuple[str, ...]:
    tops = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            tops |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            tops.add(node.module.partition(".")[0])
    return tuple(sorted(top for top in tops if top in _FRAMEWORKS and not states(source, top)))


def _find_lacking(difference: Difference) -> tuple[str, ...]:
    """Constants that were changed, and errors that are not raised."""
    constants = [
        edit.old.strip("'\"") for edit in difference.edits if edit.kind == "constant" and edit.where != "index"
    ]
    return tuple(dict.fromkeys([*constants, *difference.missing_raises]))


def _find_statement(function: Function, raised: Raised, target: Target) -> str:
    """By its line: a candidate stands in its module where the reference stood."""
    if not raised.line or raised.site == "":
        return ""
    offset = raised.line - target.node.lineno + function.lineno
    inside = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    found = [node for node in inside if node.lineno <= offset <= (node.end_lineno or node.lineno)]
    if not found:
        return ""
    inner = min(found, key=lambda node: (node.end_lineno or node.lineno) - node.lineno)
    text = ast.unparse(inner)
    return text.split("\n")[0][:200]
