"""Collect the evidence on a failed candidate: status, tests, error, undefined names, statement that failed.

Rules, LLM judge and annotators see the same evidence, so they differ by judgement only. If a project is not prepared,
the evidence notes it and nothing is guessed.
"""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from dlbench.analysis.bugs.names import Names, find_candidate_names, parse_candidate, read_imports
from dlbench.dataset import Benchmark, Instance
from dlbench.dataset.target import Function, Target, TargetError, find_target
from dlbench.execution.evaluate import find_code
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Outcome, Status

Key = tuple[str, int]
"""Instance and sample index."""

ARRAYS = frozenset(["np", "numpy", "torch", "jnp", "tf", "F", "T", "tl"])
"""Names under which modules import array libraries."""
_FRAMEWORKS = {"torch", "tensorflow", "jax", "keras", "numpy", "paddle", "mxnet"}
_MAX_STATEMENT = 200
CANDIDATE, LIBRARY, PROJECT, CALLER, TEST = "candidate", "library", "project", "caller", "test"
"""Where an error was raised: in the candidate, in a library it called, in project code it called, in project code that
called it, or in the test."""

_FRAME = re.compile(r"^(?P<path>[^\s:][^:\n]*?):(?P<mark>candidate:)?(?P<line>\d+): in (?P<name>\S+)", re.M)
_ERROR = re.compile(
    r"^(?:E\s+)?(?P<type>[A-Za-z_][\w.]*?(?:Error|Exception|Warning|Exit|Interrupt|Iteration|Failed))(?::\s?(?P<text>.*))?$",
    re.S,
)
_SHAPE = re.compile(
    r"(?<![\w.])\(\d+,?(?: ?\d+,?)*\)|(?:(?<![\w.])|(?<=input)|(?<=size)|(?<=shape))\[\d+(?:, ?\d+)*\]|\b\d+(?:x\d+)+\b"
)
_SHAPED = re.compile(r"shape|size|dim|broadcast|rank|axis|axes|mat1|tensor a|channels", re.I)
_DTYPE = re.compile(
    r"\b(?:u?int(?:8|16|32|64)|b?float(?:16|32|64)|complex(?:64|128)|dtype|object_|<U\d+|Float|Double|Long|Half|Byte|Bool)\b"
)
_QUOTED = re.compile(r"'([^']+)'")


@dataclass(frozen=True)
class Failure:
    """A verdict that is not `pass`, with the code it is about."""

    run: str
    instance: Instance
    verdict: Mapping[str, Any]
    code: str | None
    """None if the answer has no code or the run folder has no samples."""

    @property
    def key(self) -> Key:
        return self.instance.id, self.verdict["sample"]

    @property
    def id(self) -> str:
        return f"{self.run}:{self.instance.id}#{self.verdict['sample']}"


@dataclass(frozen=True)
class RunFailures:
    failures: tuple[Failure, ...]
    harness_errors: int
    """Our faults; they are no bugs of the model and are left out."""
    unknown: int
    """Verdicts on instances that the benchmark does not have."""


def find_failures(
    run: str, benchmark: Benchmark, verdicts: Iterable[Mapping[str, Any]], samples: Mapping[Key, Sample]
) -> RunFailures:
    failures: list[Failure] = []
    harness_errors = unknown = 0
    for verdict in verdicts:
        instance = benchmark.instances.get(verdict["instance"])
        if instance is None:
            unknown += 1
        elif verdict["status"] == Status.HARNESS_ERROR:
            harness_errors += 1
        elif verdict["status"] != Status.PASS:
            code = _extract_code(samples.get((instance.id, verdict["sample"])), instance.qualname)
            failures.append(Failure(run, instance, verdict, code))
    return RunFailures(tuple(failures), harness_errors, unknown)


@lru_cache(maxsize=4096)  # at temperature 0 samples repeat
def _extract_code(sample: Sample | None, qualname: str) -> str | None:
    return None if sample is None else find_code(sample, qualname).code


@dataclass(frozen=True)
class Raised:
    type: str = ""
    """Name of the error class, without its module."""
    text: str = ""
    site: str = ""
    line: int = 0
    """Line of the deepest candidate frame, counted in the module; 0 without one."""
    called: str = ""
    """The first function below the candidate on the way to the error, if Python recorded a frame for it."""
    shapes: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()

    @property
    def quoted(self) -> list[str]:
        return _QUOTED.findall(self.text)


def read_message(verdict: Mapping[str, Any], instance: Instance) -> Raised:
    message = str(verdict.get("message", ""))
    error_lines = [line[1:].strip() for line in message.split("\n") if line.startswith("E ")]
    kind, text = _split_error("\n".join(error_lines) if error_lines else message.strip())
    target = instance.path, instance.qualname.rpartition(".")[2]
    frames = list(_FRAME.finditer(message))
    own = [place for place, one in enumerate(frames) if one["mark"] or (one["path"], one["name"]) == target]
    deepest = max(own, default=None)
    site = _find_site(frames, deepest, instance)
    return Raised(
        type=kind,
        text=text,
        site=TEST if kind in ("AssertionError", "Failed") and site in ("", CALLER) else site,
        line=int(frames[deepest]["line"]) if deepest is not None else 0,
        called=frames[deepest + 1]["name"] if deepest is not None and deepest + 1 < len(frames) else "",
        shapes=tuple(dict.fromkeys(_SHAPE.findall(text))) if _SHAPED.search(text) else (),
        dtypes=tuple(dict.fromkeys(_DTYPE.findall(text))),
    )


def _split_error(text: str) -> tuple[str, str]:
    if text.startswith("assert "):
        return "AssertionError", text
    if found := _ERROR.match(text):
        return found["type"].rpartition(".")[2], (found["text"] or "").strip()
    # A library may name its errors freely; the name stands before the first colon.
    head, colon, rest = text.partition(": ")
    if colon and re.fullmatch(r"[A-Za-z_][\w.]*", head):
        return head.rpartition(".")[2], rest.strip()
    return "", text


def _find_site(frames: list[re.Match[str]], deepest: int | None, instance: Instance) -> str:
    if not frames:
        return ""
    path = frames[-1]["path"]
    if deepest is None:
        return TEST if path in instance.test_files else CALLER
    if deepest == len(frames) - 1:
        return CANDIDATE
    return PROJECT if _top_folder(path) == _top_folder(instance.path) else LIBRARY


def _top_folder(path: str) -> str:
    parts = path.split("/")
    return parts[1] if parts[0] in ("src", "lib") and len(parts) > 1 else parts[0]


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
    """Error types of other tests that differ from the first."""
    statement: str = ""
    """The candidate's statement that raised the error or called what raised it."""
    names: Names = field(default_factory=Names)
    missing: tuple[str, ...] = ()
    is_numeric: bool = False
    """Candidate or reference uses an array library."""
    frameworks: tuple[str, ...] = ()
    """Frameworks that the candidate imports and the module never names."""
    notes: tuple[str, ...] = ()
    """What could not be determined, and why."""


@dataclass(frozen=True)
class ModuleSource:
    """The module of an instance as fetched, and the target in it."""

    source: str
    target: Target


def collect(failure: Failure, module: ModuleSource | None, missing: Collection[str] | None = None) -> Evidence:
    """`missing`: library paths that the environment lacks; None if it was not queried."""
    verdict = failure.verdict
    raised = read_message(verdict, failure.instance)
    counts = Counter(verdict["tests"].values())
    known: dict[str, Any] = {}
    notes: list[str] = []
    tree = parse_candidate(failure.code)
    if failure.code is None:
        notes.append("there is no code")
    elif tree is None:
        notes.append("the code does not parse")
    if module is None:
        notes.append(f"the project {failure.instance.project} is not prepared here: its module cannot be read")
    elif missing is None:
        notes.append("the project's environment was not asked which names it has")
    if tree is not None and module is not None:
        try:
            names = find_candidate_names(failure.code or "", module.source)
            function = find_function(tree, failure.instance.qualname)
            if function is None:
                notes.append("the code does not define the target as a function")
            known = {
                "names": names,
                "missing": tuple(path for path in names.wanted if path in (missing or ())),
                "is_numeric": bool(ARRAYS & (_list_names(tree) | _list_names(module.target.node))),
                "frameworks": _find_frameworks(tree, module.source),
                "statement": _find_statement(function, raised, module.target) if function else "",
            }
        except RecursionError:  # such as a sum of a thousand terms, from a model that repeats itself
            notes.append("the code is nested too deeply to be analysed")
    return Evidence(
        id=failure.id,
        instance=failure.instance.id,
        sample=verdict["sample"],
        status=verdict["status"],
        raised=raised,
        passed=counts[Outcome.PASSED],
        failed=sum(counts.values()) - counts[Outcome.PASSED],
        others=_other_errors(verdict, raised),
        notes=tuple(notes),
        **known,
    )


def find_function(tree: ast.Module, qualname: str) -> Function | None:
    """The target in an answer: under its full name, or as a method without its class."""
    for name in (qualname, qualname.rpartition(".")[2]):
        try:
            return find_target(ast.unparse(tree), name).node
        except (TargetError, SyntaxError):
            continue
    return None


def mentions(text: str, literal: object) -> bool:
    """Whether the text contains this number or word as a whole."""
    return bool(re.search(rf"(?<![\w.]){re.escape(str(literal))}(?![\w]|\.\d)", text))


def _list_names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _other_errors(verdict: Mapping[str, Any], raised: Raised) -> tuple[str, ...]:
    errors = verdict.get("errors")
    texts = [str(text) for text in errors.values()] if isinstance(errors, dict) else []
    types = [text.partition(":")[0].rpartition(".")[2].strip() for text in texts]
    return tuple(name for name in dict.fromkeys(types) if name.isidentifier() and name != raised.type)


def _find_frameworks(tree: ast.Module, source: str) -> tuple[str, ...]:
    tops = {path.partition(".")[0] for path in read_imports(ast.walk(tree)).values()}
    return tuple(sorted(top for top in tops & _FRAMEWORKS if not mentions(source, top)))


def _find_statement(function: Function, raised: Raised, target: Target) -> str:
    """By line: the candidate is spliced in where the reference was."""
    if not raised.line or not raised.site:
        return ""
    line = raised.line - target.node.lineno + function.lineno
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    around = [node for node in statements if node.lineno <= line <= (node.end_lineno or node.lineno)]
    if not around:
        return ""
    innermost = min(around, key=lambda node: (node.end_lineno or node.lineno) - node.lineno)
    return ast.unparse(innermost).split("\n")[0][:_MAX_STATEMENT]
