"""Screen the functions of a project: which can become instances, and why the others cannot (step 6).

Rules are applied in order; the first that applies is the reason. Every row is kept with all reasons that apply, so that
exclusions can be inspected and counted.
"""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from dlbench.construction import Row, WorkFolder
from dlbench.construction.screening.complexity import FunctionMeasures, measure_function
from dlbench.construction.screening.parsed_module import Module, classify_path, find_used_helpers, parse_module
from dlbench.construction.screening.triviality import literal_share, name_triviality, only_stores
from dlbench.dataset.similarity import normal_form, shingle
from dlbench.dataset.target import Function
from dlbench.errors import DLBenchError

FEWEST_LINES = 5
MOST_LINES = 120
FEWEST_TESTS = 3
MOST_LITERAL = 0.6
FEWEST_CONSTANTS = 12

Hit = tuple[str, int | float | str]
"""Why a rule applies, as a sentence, and the figure it is based on."""


@dataclass(frozen=True)
class ScreenedFunction:
    """A function in its module, with its row from the earlier steps."""

    row: dict[str, Any]
    module: Module
    function: Function
    segment: str

    @cached_property
    def measures(self) -> FunctionMeasures:
        """The measures of the earlier step if there are any; the segment's hash ensures that the text is the same."""
        known = self.row.get("measures")
        if known:
            return FunctionMeasures(**(known | {"libraries": tuple(known["libraries"])}))
        return measure_function(self.segment, self.module.imports)


REASONS = (
    "cannot_read", "test_code", "constructor_of_attributes", "generated_or_data", "trivial_delegation", "too_short",
    "too_long", "not_deep_learning", "too_few_tests", "duplicate",
)  # fmt: skip
"""In order: the first reason that applies is the one that counts."""


def find_reasons(screened: ScreenedFunction) -> dict[str, Hit]:
    """All reasons of the function itself that apply, in the order of REASONS."""
    function, subject = screened.function, screened.module.subject
    loc, tests = screened.measures.loc, int(screened.row["tests"])
    found: dict[str, Hit] = {}
    if only_stores(function):
        count = screened.measures.statements
        found["constructor_of_attributes"] = (f"It only stores its arguments ({count} statements).", count)
    share, constants = literal_share(function)
    if screened.module.is_generated:
        found["generated_or_data"] = ("A comment at the top of the file says that it is generated.", "generated")
    elif share >= MOST_LITERAL and constants >= FEWEST_CONSTANTS:
        found["generated_or_data"] = (f"It is a table: {share:.0%} of its expressions are constants.", round(share, 2))
    if what := name_triviality(function):
        found["trivial_delegation"] = (f"It is trivial: {what}.", what)
    if loc < FEWEST_LINES:
        found["too_short"] = (f"It has {loc} lines of code, fewer than {FEWEST_LINES}.", loc)
    if loc > MOST_LINES:
        found["too_long"] = (f"It has {loc} lines of code, more than {MOST_LINES}.", loc)
    if not subject.find_signs(screened.row["qualname"], function):
        count = len(subject.words)
        why = f"Its module uses no array or learning library and hardly mentions the subject ({count} known words)."
        found["not_deep_learning"] = (why, count)
    if tests < FEWEST_TESTS:
        found["too_few_tests"] = (f"{tests} tests execute it, fewer than {FEWEST_TESTS}.", tests)
    return found


_REQUIRED = {"id": str, "path": str, "qualname": str, "first": int, "last": int, "tests": int}


def screen(rows: Iterable[Row], read_source: Callable[[str], str], paths: Iterable[str] = ()) -> list[Row]:
    """Add `kept`, `reason`, `why`, `figure`, all `reasons`, and `measures` if the function can be read.

    `paths` are all Python files of the project: test helpers that the project itself imports are not test code.
    Duplicates are searched among functions that the other rules keep, so that one of each group remains.
    """
    checked = _check(rows)
    # Rows are grouped by file; all parsed sources of a project together would take gigabytes.
    read_module = lru_cache(32)(lambda path: parse_module(path, read_source(path)))
    used = find_used_helpers(paths, read_source)
    left: dict[str, str] = {}
    found: dict[str, dict[str, Hit]] = {}
    measures: dict[str, Row] = {}
    for row in checked:
        name = row["id"]
        kind = classify_path(row["path"])
        if kind and row["path"] not in used:
            found[name] = {"test_code": (f"Its file belongs to {kind}.", kind)}
            continue
        screened = _find_function(row, read_module)
        if isinstance(screened, str):
            found[name] = {"cannot_read": (f"It cannot be read: {screened}.", screened)}
            continue
        found[name] = find_reasons(screened)
        measures[name] = asdict(screened.measures)
        if not found[name]:
            left[name] = screened.segment
    for name, kept in find_duplicates(left).items():
        found[name] = {"duplicate": (f"It is a copy or near copy of {kept}.", kept)}
    return [_mark(row, found[row["id"]], measures.get(row["id"])) for row in checked]


def screen_project(work: WorkFolder, project: str, tree: Path) -> Counter[str]:
    """Read functions.jsonl, write screened.jsonl, and count the reasons; kept functions count as `kept`."""

    def read_source(path: str) -> str:
        return (tree / path).read_text(encoding="utf-8-sig")

    paths = [path.relative_to(tree).as_posix() for path in sorted(tree.rglob("*.py"))]
    if not paths:
        raise DLBenchError("the tree contains no Python file", where=str(tree), fix="give the project's source folder")
    rows = [_explain_few_tests(row) for row in screen(work.read("functions", project), read_source, paths)]
    work.write("screened", rows, project)
    return Counter(row["reason"] or "kept" for row in rows)


def _explain_few_tests(row: Row) -> Row:
    """Refine the reason `too_few_tests` when tests exist but need the network, are too slow, or fail."""
    failing = row.get("failing") or {}
    for kind, reason in (("network", "tests_need_network"), ("slow", "tests_too_slow"), ("failed", "tests_fail")):
        if row["reason"] == "too_few_tests" and failing.get(kind):
            return row | {"reason": reason, "why": f"{row['tests']} tests pass; of the others: {failing}"}
    return row


def _check(rows: Iterable[Row]) -> list[Row]:
    found: dict[str, Row] = {}
    fix = "repeat the step extract"
    for row in rows:
        for name, kind in _REQUIRED.items():
            if not isinstance(row.get(name), kind):
                what = f"{name!r} is missing or invalid: {row.get(name)!r}"
                raise DLBenchError(what, where=str(row.get("id", "functions")), fix=fix)
        if row["id"] in found:
            raise DLBenchError("two functions have this id", where=row["id"], fix=fix)
        found[row["id"]] = row
    return list(found.values())


def _mark(row: Row, hits: dict[str, Hit], measures: Row | None) -> Row:
    reasons = [{"reason": reason, "why": why, "figure": figure} for reason, (why, figure) in hits.items()]
    first = reasons[0] if reasons else {"reason": "", "why": "", "figure": None}
    return row | first | {"kept": not reasons, "reasons": reasons} | ({"measures": measures} if measures else {})


def _find_function(row: Row, read_module: Callable[[str], Module]) -> ScreenedFunction | str:
    """The function, or why it cannot be read."""
    if "<locals>" in row["qualname"]:
        return "it is defined inside another function"
    try:
        module = read_module(row["path"])
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"{type(error).__name__}: {error}"
    function = module.functions.get(row["first"])
    if function is None or function.name != row["qualname"].rpartition(".")[2]:
        return f"{row['qualname']} does not start in line {row['first']}"
    segment = module.text(row["first"], row["last"])
    if row.get("sha256") and hashlib.sha256(segment.encode()).hexdigest() != row["sha256"]:
        return "the source has changed"
    return ScreenedFunction(row, module, function, segment)


def find_duplicates(segments: Mapping[str, str], threshold: float = 0.85) -> dict[str, str]:
    """Each function to drop, with the one kept of its group: the shortest id, then the alphabetically first.

    Two instances of the same code would count one skill twice. Two functions are near copies if the sets of five-token
    shingles of their normal forms overlap by `threshold` (Jaccard); groups are the connected components."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(segments, key=_preference):
        groups[normal_form(segments[name])].append(name)
    forms = {names[0]: form for form, names in groups.items()}
    kept = _join(list(forms), find_near(forms, threshold))
    return {name: kept[names[0]] for names in groups.values() for name in names if name != kept[names[0]]}


def find_near(texts: Mapping[str, str], threshold: float) -> Iterator[tuple[str, str]]:
    """Yield every pair of near copies once.

    Two sets can overlap that much only if they share one of their rarest members (prefix filtering). Sets are indexed
    by those members only, which avoids comparing all pairs.
    """
    shingles = {name: shingle(text) for name, text in texts.items()}
    counts = Counter(member for found in shingles.values() for member in found)
    # Rarest first; the order among equally rare members does not affect which pairs are found.
    rank = {member: index for index, member in enumerate(sorted(counts, key=counts.__getitem__))}
    sets = [(name, {rank[member] for member in found}) for name, found in shingles.items()]
    sets.sort(key=lambda pair: (len(pair[1]), pair[0]))
    by_member: dict[int, list[int]] = defaultdict(list)
    for index, (name, members) in enumerate(sets):
        least = math.ceil(threshold * len(members) - 1e-9)
        rarest = sorted(members)[: len(members) - least + 1]
        for other in sorted({other for member in rarest for other in by_member[member]}):
            other_name, others = sets[other]
            shared = len(members & others)
            if len(others) >= least and shared / (len(members) + len(others) - shared) >= threshold:
                yield other_name, name
        for member in rarest:
            by_member[member].append(index)


def _join(names: list[str], pairs: Iterator[tuple[str, str]]) -> dict[str, str]:
    """The preferred name of each name's group."""
    groups = {name: {name} for name in names}
    for one, other in pairs:
        if groups[one] is not groups[other]:
            joined = groups[one] | groups[other]
            groups |= dict.fromkeys(joined, joined)
    return {name: min(group, key=_preference) for name, group in groups.items()}


def _preference(name: str) -> tuple[int, str]:
    return len(name), name
