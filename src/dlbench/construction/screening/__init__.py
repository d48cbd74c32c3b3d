"""Which functions can be instances, and how large and complex are they? Step 6.

What cannot be an instance, and why not?

One rule for each reason, in the order in which they are asked: where a function stands, whether there is anything in it
to get right, how long it is, what it is about, whether tests can judge it. The first that fits is the reason.

Which functions of a project can be instances?

Those that no rule excludes. Every row is kept, with all reasons that fit it, so that what was left out can be looked at
and counted; a benchmark whose exclusions nobody can see might as well have been chosen by hand.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dlbench.construction.screening.complexity import FunctionMeasures, measure_function
from dlbench.construction.screening.duplicates import find_duplicates
from dlbench.construction.screening.parsed_module import Module, parse_module
from dlbench.construction.screening.paths import classify_path, find_used_helpers
from dlbench.construction.screening.triviality import literal_share, name_triviality, only_stores
from dlbench.construction.work_folder import Row, WorkFolder
from dlbench.dataset.target import Function
from dlbench.errors import DLBenchError

FEWEST_LINES = 5
MOST_LINES = 120
FEWEST_TESTS = 3
MOST_LITERAL = 0.6
FEWEST_CONSTANTS = 12

Fit = tuple[str, int | float | str]
"""Why a rule fits, in a sentence, and the figure that it went by."""


@dataclass(frozen=True)
class Finding:
    reason: str
    why: str
    figure: int | float | str


@dataclass(frozen=True)
class ScreenedFunction:
    """A function in its module, with what the steps before have found out about it."""

    row: dict[str, Any]
    module: Module
    function: Function
    segment: str

    @cached_property
    def measures(self) -> FunctionMeasures:
        """As the step before found them, where it did: the segment's hash says that it is the same text."""
        known = self.row.get("measures")
        if known:
            return FunctionMeasures(**(known | {"libraries": tuple(known["libraries"])}))
        return measure_function(self.segment, self.module.imports)


def apply_rules(case: ScreenedFunction) -> list[Finding]:
    """Every rule that fits, the one that counts first."""
    found = ((reason, rule(case)) for reason, rule in RULES.items())
    return [Finding(reason, *fits) for reason, fits in found if fits]


def _trivial_delegation(case: ScreenedFunction) -> Fit | None:
    what = name_triviality(case.function)
    return (f"There is nothing in it to get right: {what}.", what) if what else None


def _constructor_of_attributes(case: ScreenedFunction) -> Fit | None:
    if not only_stores(case.function):
        return None
    count = case.measures.statements
    return (f"It keeps its arguments and nothing else ({count} statements).", count)


def _too_short(case: ScreenedFunction) -> Fit | None:
    loc = case.measures.loc
    why = f"It has {loc} lines of code, fewer than {FEWEST_LINES}."
    return (why, loc) if loc < FEWEST_LINES else None


def _too_long(case: ScreenedFunction) -> Fit | None:
    loc = case.measures.loc
    why = f"It has {loc} lines of code, more than {MOST_LINES}."
    return (why, loc) if loc > MOST_LINES else None


def _generated_or_data(case: ScreenedFunction) -> Fit | None:
    if case.module.is_generated:
        return ("A program wrote this file, as a comment at its top says.", "generated")
    share, constants = literal_share(case.function)
    if share < MOST_LITERAL or constants < FEWEST_CONSTANTS:
        return None
    why = f"It is a table: {share:.0%} of its expressions are constants."
    return (why, round(share, 2))


def _not_deep_learning(case: ScreenedFunction) -> Fit | None:
    subject = case.module.subject
    if subject.find_signs(case.row["qualname"], case.function):
        return None
    count = len(subject.words)
    why = f"Its module uses no library for arrays or learning, and hardly speaks of either ({count} of our words)."
    return (why, count)


def _too_few_tests(case: ScreenedFunction) -> Fit | None:
    tests = int(case.row["tests"])
    why = f"{tests} tests execute it, fewer than {FEWEST_TESTS}."
    return (why, tests) if tests < FEWEST_TESTS else None


RULES: dict[str, Callable[[ScreenedFunction], Fit | None]] = {
    "constructor_of_attributes": _constructor_of_attributes,
    "generated_or_data": _generated_or_data,
    "trivial_delegation": _trivial_delegation,
    "too_short": _too_short,
    "too_long": _too_long,
    "not_deep_learning": _not_deep_learning,
    "too_few_tests": _too_few_tests,
}


REASONS = ("cannot_read", "test_code", *RULES, "duplicate")
"""In the order in which they are asked: the first that fits a function is the one that counts."""
MODULES_AT_ONCE = 32  # a project's sources parsed all together take gigabytes
_NEEDED = {"id": str, "path": str, "qualname": str, "first": int, "last": int, "tests": int}


class _Unreadable(Exception):
    pass


def screen(
    rows: Iterable[Row], read_source: Callable[[str], str], paths: Iterable[str] = (), threshold: float = 0.85
) -> list[Row]:
    """The rows with `kept`, `reason`, `why`, `figure`, all `reasons`, and `measures` where the function was read.

    `paths` are all Python files of the project: which helpers for tests are more than that shows in who imports them.
    Duplicates are looked for among what the other rules leave, so that no function is lost together with its twin.
    """
    given = _check(rows)
    modules = _Modules(read_source)
    used = find_used_helpers(paths, read_source)
    left: dict[str, str] = {}
    findings: dict[str, list[Finding]] = {}
    measures: dict[str, Row] = {}
    for row in given:
        name = row["id"]
        place = classify_path(row["path"])
        if place and row["path"] not in used:
            findings[name] = [Finding("test_code", f"It stands among {place}.", place)]
            continue
        try:
            case = modules.find(row)
        except _Unreadable as problem:
            findings[name] = [Finding("cannot_read", f"It cannot be read: {problem}.", str(problem))]
            continue
        findings[name] = apply_rules(case)
        measures[name] = asdict(case.measures)
        if not findings[name]:
            left[name] = case.segment
    for name, kept in find_duplicates(left, threshold).items():
        findings[name] = [Finding("duplicate", f"It is the same, or nearly, as {kept}.", kept)]
    return [_mark(row, findings[row["id"]], measures.get(row["id"])) for row in given]


def screen_project(
    work: WorkFolder, project: str, tree: Path, explain: Callable[[Row], Row] = lambda row: row
) -> Counter[str]:
    """Reads functions.jsonl, writes screened.jsonl, and counts reasons; what is kept counts under `kept`.

    `explain`: who knows more of a row than its source says.
    """

    def read_source(path: str) -> str:
        return (tree / path).read_text(encoding="utf-8-sig")

    paths = [path.relative_to(tree).as_posix() for path in sorted(tree.rglob("*.py"))]
    if not paths:
        raise DLBenchError("there is no Python file", where=str(tree), fix="give the folder of the project's source")
    rows = [explain(row) for row in screen(work.read("functions", project), read_source, paths)]
    work.write("screened", rows, project)
    return Counter(row["reason"] or "kept" for row in rows)


def _check(rows: Iterable[Row]) -> list[Row]:
    found: dict[str, Row] = {}
    fix = "run the step functions again"
    for row in rows:
        for name, kind in _NEEDED.items():
            if not isinstance(row.get(name), kind):
                what = f"a function without {name!r}, or with a strange one: {row.get(name)!r}"
                raise DLBenchError(what, where=str(row.get("id", "functions")), fix=fix)
        if row["id"] in found:
            raise DLBenchError("two functions have this id", where=row["id"], fix=fix)
        found[row["id"]] = row
    return list(found.values())


def _mark(row: Row, findings: list[Finding], measures: Row | None) -> Row:
    reasons = [asdict(finding) for finding in findings]
    first = reasons[0] if reasons else {"reason": "", "why": "", "figure": None}
    return row | first | {"kept": not reasons, "reasons": reasons} | ({"measures": measures} if measures else {})


class _Modules:
    """The files of a project, each read and parsed once where the rows come file by file."""

    def __init__(self, read_source: Callable[[str], str]) -> None:
        self._read_source = read_source
        self._read: dict[str, Module | _Unreadable] = {}

    def find(self, row: Row) -> ScreenedFunction:
        if "<locals>" in row["qualname"]:
            raise _Unreadable("it is defined inside another function")
        module = self._module(row["path"])
        function = module.functions.get(row["first"])
        if function is None or function.name != row["qualname"].rpartition(".")[2]:
            raise _Unreadable(f"{row['qualname']} does not begin in line {row['first']}")
        segment = module.text(row["first"], row["last"])
        if row.get("sha256") and hashlib.sha256(segment.encode()).hexdigest() != row["sha256"]:
            raise _Unreadable("the source is another than it was")
        return ScreenedFunction(row, module, function, segment)

    def _module(self, path: str) -> Module:
        if path not in self._read:
            if len(self._read) >= MODULES_AT_ONCE:
                self._read.clear()
            try:
                self._read[path] = parse_module(path, self._read_source(path))
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
                self._read[path] = _Unreadable(f"{type(error).__name__}: {error}")
        found = self._read[path]
        if isinstance(found, _Unreadable):
            raise found
        return found
