"""What is known of a failure, that anybody may judge by?

The verdict's status and tests; the error, where it was raised and by which call; names that nobody has; how the code
differs from the reference. Rules, a model and a person are given the same, so that they differ by judgement and not by
what they were told. The reference is read from the prepared workspace while this runs and is never stored; where a
project is not prepared the evidence says so, and nothing is guessed.

What is a failure, before anybody asks why?

A verdict that is not `pass` with the code that it is about. Our own faults are none of the model's bugs, so a
`harness_error` is never among them, and is counted aloud.

What did a test say when it failed, and where was it raised?

A verdict's message is a list of frames and the error's own lines, in the short form of the warm judge or in pytest's.
It is taken apart here and nowhere else: which error, whether in the candidate, in a library that it called, in the
project around it or in the test; which call; which shapes and types it speaks of.

Which names does a candidate use that nobody has?

Found without running it: names that neither the candidate, nor its module, nor Python binds; attributes of `self` that
the module's text never mentions; and what it takes from libraries, to be looked up in the project's environment.
"""

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from dlbench.analysis.bugs.ast_diff import Difference, compare, read_reference
from dlbench.dataset import Benchmark, Instance
from dlbench.dataset.target import Function, Target, TargetError, dotted_name, find_target, parse_statements
from dlbench.errors import DLBenchError
from dlbench.execution.evaluate import find_code
from dlbench.execution.names import find_names
from dlbench.parsing import parse
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Outcome, Status

Key = tuple[str, int]


@dataclass(frozen=True)
class Failure:
    run: str
    instance: Instance
    verdict: Mapping[str, Any]
    code: str | None
    """None where the answer holds no code, or the run folder has no samples."""
    prompt: str
    """What was asked, in our words."""

    @property
    def key(self) -> Key:
        return self.instance.id, self.verdict["sample"]

    @property
    def id(self) -> str:
        return f"{self.run}:{self.instance.id}#{self.verdict['sample']}"


@dataclass(frozen=True)
class Gathered:
    failures: tuple[Failure, ...]
    passed: int
    harness_errors: int
    unknown: int
    """Verdicts on instances that the benchmark does not have."""


def gather(
    run: str,
    benchmark: Benchmark,
    verdicts: Iterable[Mapping[str, Any]],
    samples: Mapping[Key, Sample],
    prompts: Mapping[Key, str] | None = None,
) -> Gathered:
    """`prompts`: what was asked where it was not the instance's own prompt."""
    failures: list[Failure] = []
    passed = faults = unknown = 0
    for verdict in verdicts:
        instance = benchmark.instances.get(verdict["instance"])
        if instance is None:
            unknown += 1
        elif verdict["status"] == Status.PASS:
            passed += 1
        elif verdict["status"] == Status.HARNESS_ERROR:
            faults += 1
        else:
            key = instance.id, verdict["sample"]
            prompt = (prompts or {}).get(key) or instance.prompt
            code = _find_code(samples.get(key), instance.qualname)
            failures.append(Failure(run, instance, verdict, code, prompt))
    return Gathered(tuple(failures), passed, faults, unknown)


@lru_cache(maxsize=4096)  # at temperature 0 a model says the same again
def _find_code(sample: Sample | None, qualname: str) -> str | None:
    return None if sample is None else find_code(sample, qualname).code


CANDIDATE, LIBRARY, PROJECT, CALLER, TEST = "candidate", "library", "project", "caller", "test"
"""Where: in the candidate's own lines, in a library below it, in the project below it, in code around it that uses what
it gave, or in the test."""

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
class Raised:
    type: str = ""
    """The error's own name, without its module."""
    text: str = ""
    site: str = ""
    line: int = 0
    """Of the deepest frame in the candidate, as the module is counted; 0 where there is none."""
    called: str = ""
    """The first function that the candidate called on the way to the error, where Python saw it."""
    shapes: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()

    @property
    def quoted(self) -> list[str]:
        """The words that the message puts into quotation marks."""
        return _QUOTED.findall(self.text)


def read_message(verdict: Mapping[str, Any], instance: Instance) -> Raised:
    message = str(verdict.get("message", ""))
    told = [line[1:].strip() for line in message.split("\n") if line.startswith("E ")]
    text = "\n".join(told) if told else message.strip()
    kind, said = _read_error(text)
    frames = [
        (match["path"], bool(match["mark"]), int(match["line"]), match["name"]) for match in _FRAME.finditer(message)
    ]
    name = instance.qualname.rpartition(".")[2]
    own = [
        place
        for place, (path, marked, _, function) in enumerate(frames)
        if marked or (path == instance.path and function == name)
    ]
    site = _find_site(frames, own, instance) if frames else ""
    shapes = tuple(dict.fromkeys(_SHAPE.findall(said))) if _SHAPED.search(said) else ()
    return Raised(
        type=kind,
        text=said,
        site=TEST if kind in ("AssertionError", "Failed") and site in ("", CALLER) else site,
        line=frames[own[-1]][2] if own else 0,
        called=frames[own[-1] + 1][3] if own and own[-1] + 1 < len(frames) else "",
        shapes=shapes,
        dtypes=tuple(dict.fromkeys(_DTYPE.findall(said))),
    )


def _read_error(text: str) -> tuple[str, str]:
    if text.startswith("assert "):
        return "AssertionError", text
    found = _ERROR.match(text)
    if found:
        return found["type"].rpartition(".")[2], (found["text"] or "").strip()
    # a library's own error may be called anything; it stands before the first colon
    head, colon, rest = text.partition(": ")
    if colon and re.fullmatch(r"[A-Za-z_][\w.]*", head):
        return head.rpartition(".")[2], rest.strip()
    return "", text


def _find_site(frames: list[tuple[str, bool, int, str]], own: list[int], instance: Instance) -> str:
    path = frames[-1][0]
    if not own:
        return TEST if path in instance.test_files else CALLER
    if own[-1] == len(frames) - 1:
        return CANDIDATE
    return PROJECT if _top(path) == _top(instance.path) else LIBRARY


def _top(path: str) -> str:
    parts = path.split("/")
    return parts[1] if parts[0] in ("src", "lib") and len(parts) > 1 else parts[0]


_BUILTINS = frozenset(dir(builtins)) | {"__class__", "__file__", "__name__"}


@dataclass(frozen=True)
class Names:
    undefined: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    """Those of the undefined that are called, or look like a class."""
    unknown_of_self: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    """What is taken from libraries: `numpy.foo`, as a path of names; what the module takes itself is left out."""


def study_names(code: str, tree: ast.Module, source: str) -> Names:
    """`source`: the module around the candidate."""
    around = read_module(source)
    found = find_names(code)
    undefined = found.used - found.bound - around.bound - _BUILTINS
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    objects = {
        node.value.id for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    made_up = {name for name in undefined if name in called or (name[:1].isupper() and name in objects)}
    own = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    stored = {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return Names(
        undefined=tuple(sorted(undefined)),
        called=tuple(sorted(made_up)),
        unknown_of_self=tuple(sorted(own - stored - around.words)),
        wanted=tuple(sorted(_find_wanted(tree, around))),
    )


@dataclass(frozen=True)
class ModuleNames:
    """What a module's text holds."""

    bound: frozenset[str]
    imports: dict[str, str]
    """A name, and the path that it stands for."""
    words: frozenset[str]
    """Every name and attribute."""
    used: frozenset[str]
    """Paths into libraries that the module takes itself, and that therefore exist."""


@lru_cache(maxsize=256)
def read_module(source: str) -> ModuleNames:
    tree = parse(source)
    imports = read_imports(tree.body)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    words = names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    words |= {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    bound = find_names(source).bound | set(imports)
    return ModuleNames(frozenset(bound), imports, frozenset(words), frozenset(find_paths(tree, imports)))


def read_imports(statements: Iterable[ast.stmt]) -> dict[str, str]:
    """Absolute imports only: what a module takes from its own package cannot be looked up without running it."""
    found: dict[str, str] = {}
    for node in statements:
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def find_paths(tree: ast.AST, imports: dict[str, str]) -> set[str]:
    """`np.linalg.norm` as `numpy.linalg.norm`, for every name that an import brought."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            root, _, rest = dotted_name(node).partition(".")
            if root in imports and _is_path(node):
                found.add(f"{imports[root]}.{rest}")
    return found


def _is_path(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _find_wanted(tree: ast.Module, around: ModuleNames) -> set[str]:
    own = read_imports(node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    paths = find_paths(tree, around.imports | own) | set(own.values())
    return paths - around.used - set(around.imports.values())


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
class ModuleSource:
    """The module of an instance, as it was fetched."""

    source: str
    target: Target


def collect(failure: Failure, around: ModuleSource | None, missing: Mapping[str, bool] | None = None) -> Evidence:
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
    tree = parse_candidate(failure.code)
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
    failure: Failure,
    tree: ast.Module,
    around: ModuleSource,
    raised: Raised,
    missing: Mapping[str, bool],
    notes: list[str],
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
def parse_candidate(code: str | None) -> ast.Module | None:
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
    tree = parse_candidate(code)
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
