"""Find the qualified names of the functions that the trace recorded by file and line.

A function whose qualified name does not identify the same lines (defined twice, or inside another function) is left
out with the reason, and so is test code.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from dlbench.construction.collect import is_test_code
from dlbench.construction.screening.complexity import measure_function
from dlbench.construction.screening.parsed_module import parse_module
from dlbench.construction.trace import Trace
from dlbench.construction.work_folder import Row
from dlbench.dataset import Project
from dlbench.dataset.target import Function, TargetError, find_target, render_signature
from dlbench.dataset.validation import module_of
from dlbench.parsing import parse


@dataclass
class Extracted:
    rows: list[Row]
    """One row for each function."""
    left_out: list[Row]


def extract(project: Project, tree: Path, trace: Trace) -> Extracted:
    direct, deeper = _count_tests(trace)
    failing = _count_failing(trace)
    rows: list[Row] = []
    left_out: list[Row] = []
    by_path: dict[str, list[int]] = {}
    for number, (path, _, name) in enumerate(trace.functions):
        if not name.startswith("<"):
            by_path.setdefault(path, []).append(number)
    for path, numbers in sorted(by_path.items()):
        for number, why, row in _read_file(project, tree, path, numbers, trace):
            if why:
                _, line, name = trace.functions[number]
                left_out.append({"path": path, "line": line, "name": name, "why": why})
            else:
                counts = {"direct_tests": direct[number], "tests": direct[number] + deeper[number]}
                rows.append(row | counts | {"number": number, "failing": failing.get(number, {})})
    return Extracted(rows, left_out)


def measure(tree: Path, rows: list[Row]) -> Iterator[Row]:
    """Add size and complexity measures to the rows, which are grouped by file."""
    for path, group in groupby(rows, key=itemgetter("path")):
        module = parse_module(path, (tree / path).read_text(encoding="utf-8"))
        for row in group:
            segment = module.text(row["first"], row["last"])
            yield row | {"measures": asdict(measure_function(segment, module.imports))}


def _count_tests(trace: Trace) -> tuple[Counter[int], Counter[int]]:
    direct: Counter[int] = Counter()
    deeper: Counter[int] = Counter()
    for test in trace.tests:
        if test.outcome == "passed":
            direct.update(test.direct)
            deeper.update(test.deeper)
    return direct, deeper


_NETWORK = re.compile(
    r"gaierror|name resolution|Name or service not known|Network is unreachable|ConnectionError|ConnectionRefused"
    r"|URLError|Max retries exceeded|Couldn't connect|offline mode|LocalEntryNotFoundError|ProxyError|Errno 101"
)


def _count_failing(trace: Trace) -> dict[int, dict[str, int]]:
    """Count the tests of each function that did not pass, by the apparent cause."""
    found: dict[int, Counter[str]] = {}
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
            found.setdefault(number, Counter())[kind] += 1
    return {number: dict(counts) for number, counts in found.items()}


def _read_file(
    project: Project, tree: Path, path: str, numbers: list[int], trace: Trace
) -> Iterator[tuple[int, str, Row]]:
    """Each function of a file with the reason why it is left out, or with its row."""
    module = name_module(path, project.import_root)
    why = "it is test code" if is_test_code(path) else "" if module else "it is outside the packages"
    source, parsed, names, functions = "", None, {}, trace.functions
    if not why:
        try:
            source = (tree / path).read_text(encoding="utf-8")
            parsed = parse(source)
            names = {(line, name): qualname for qualname, line, name in walk_functions(parsed, "")}
        except (OSError, UnicodeDecodeError, SyntaxError) as error:
            why = f"the file cannot be read: {error}"
    for number in numbers:
        _, line, name = functions[number]
        qualname = names.get((line, name))
        if why or qualname is None:
            yield number, why or "it is defined inside another function", {}
            continue
        try:
            target = find_target(source, qualname, parsed)
        except TargetError as error:
            yield number, str(error), {}
            continue
        if target.first != line:
            yield number, f"{qualname} is defined again later", {}
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
        yield number, "", row


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
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield f"{prefix}{node.name}", first, node.name
        elif isinstance(node, ast.ClassDef):
            yield from walk_functions(node, f"{prefix}{node.name}.")
        elif not isinstance(node, ast.expr):
            yield from walk_functions(node, prefix)
