"""Find the qualified names of the functions that the trace recorded by file and line."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from dlbench.construction import Row
from dlbench.construction.collect import is_test_code
from dlbench.construction.screening.complexity import measure_function
from dlbench.construction.screening.parsed_module import parse_module
from dlbench.construction.trace import Place, Trace
from dlbench.dataset import Project
from dlbench.dataset.target import Function, TargetError, find_target, first_line, render_signature
from dlbench.dataset.validation import module_of
from dlbench.parsing import parse


def extract(project: Project, tree: Path, trace: Trace) -> tuple[list[Row], list[Row]]:
    """A row for each function, and a row for each that is left out."""
    passing = [test for test in trace.tests if test.outcome == "passed"]
    direct = Counter(number for test in passing for number in test.direct)
    deeper = Counter(number for test in passing for number in test.deeper)
    failing = _count_failing(trace)
    rows: list[Row] = []
    left_out: list[Row] = []
    by_path: defaultdict[str, list[Place]] = defaultdict(list)
    for place in trace.functions:
        if not place[2].startswith("<"):
            by_path[place[0]].append(place)
    for path, places in sorted(by_path.items()):
        for (_, line, name), found in _read_file(project, tree, path, places):
            if isinstance(found, str):
                left_out.append({"path": path, "line": line, "name": name, "why": found})
            else:
                number = trace.numbers[path, line, name]
                counts = {"direct_tests": direct[number], "tests": direct[number] + deeper[number]}
                rows.append(found | counts | {"number": number, "failing": failing.get(number, {})})
    return rows, left_out


def measure(tree: Path, rows: list[Row]) -> Iterator[Row]:
    """Add size and complexity measures to the rows, which are grouped by file."""
    for path, group in groupby(rows, key=itemgetter("path")):
        module = parse_module(path, (tree / path).read_text(encoding="utf-8"))
        for row in group:
            segment = module.text(row["first"], row["last"])
            yield row | {"measures": asdict(measure_function(segment, module.imports))}


_NETWORK = re.compile(
    r"gaierror|name resolution|Name or service not known|Network is unreachable|ConnectionError|ConnectionRefused"
    r"|URLError|Max retries exceeded|Couldn't connect|offline mode|LocalEntryNotFoundError|ProxyError|Errno 101"
)


def _count_failing(trace: Trace) -> dict[int, dict[str, int]]:
    """Count the tests of each function that did not pass, by the apparent cause."""
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for test in trace.tests:
        if test.outcome == "passed":
            continue
        kind = "skipped" if test.outcome == "skipped" else "failed"
        # A socket denied by the sandbox, or the error that libraries raise instead.
        if _NETWORK.search(test.message) or ("socket.py" in test.message and "PermissionError" in test.message):
            kind = "network"
        elif "took longer than" in test.message:
            kind = "slow"
        for number in (*test.direct, *test.deeper):
            found[number][kind] += 1
    return {number: dict(counts) for number, counts in found.items()}


def _read_file(project: Project, tree: Path, path: str, places: list[Place]) -> Iterator[tuple[Place, Row | str]]:
    """Each function of a file with its row, or with the reason why it is left out."""
    module = name_module(path, project.import_root)
    why = "it is test code" if is_test_code(path) else "" if module else "it is outside the packages"
    try:
        source = "" if why else (tree / path).read_text(encoding="utf-8")
        parsed = parse(source)
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        source, parsed, why = "", ast.Module([], []), f"the file cannot be read: {error}"
    names = {(line, name): qualname for qualname, line, name in walk_functions(parsed, "")}
    for place in places:
        qualname = names.get(place[1:])
        if why or qualname is None:
            yield place, why or "it is defined inside another function"
            continue
        try:
            target = find_target(source, qualname, parsed)
        except TargetError as error:
            yield place, str(error)
            continue
        row: Row = {
            "id": f"{project.name}/{module}.{qualname}",
            "path": path,
            "qualname": qualname,
            "first": target.first,
            "last": target.last,
            "sha256": target.sha256,
            "signature": render_signature(target.node, decorators=False),
            "docstring": target.docstring is not None,
        }
        yield place, row if target.first == place[1] else f"{qualname} is defined again later"


def name_module(path: str, import_root: str) -> str:
    """The dotted name under which a file is imported; empty if it cannot be."""
    prefix = "" if import_root == "." else f"{import_root}/"
    if not path.startswith(prefix):
        return ""
    module = module_of(path, import_root)
    return module if all(part.isidentifier() for part in module.split(".")) else ""


def walk_functions(scope: ast.AST, prefix: str) -> Iterator[tuple[str, int, str]]:
    """Functions of a module and of its classes: qualified name, first line, bare name."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, Function):
            yield f"{prefix}{node.name}", first_line(node), node.name
        elif isinstance(node, ast.ClassDef):
            yield from walk_functions(node, f"{prefix}{node.name}.")
        elif not isinstance(node, ast.expr):
            yield from walk_functions(node, prefix)
