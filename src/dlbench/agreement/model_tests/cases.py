"""Split a model's answer into test cases, and find the statements that each case needs.

A parametrised test is as many cases as it has rows, since one wrong expectation must not cost the others. A case brings
its imports, data and helpers and nothing else, so that another test's failing line cannot fail it.
"""

import ast
import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dlbench.dataset.target import Function, dotted_name
from dlbench.execution.names import find_changed, find_names
from dlbench.extraction import syntax
from dlbench.extraction.fences import split
from dlbench.extraction.reasoning import without_reasoning

_MAX_CASES = 21
"""Of one parametrised test: one more than the limit per answer, so that exceeding the limit is noticed."""
ASSERTION = "assertion"
"""The name of a test that is an assertion at module level."""


@dataclass(frozen=True)
class Case:
    """The statements that run one test, or why it cannot run."""

    name: str
    statements: tuple[ast.stmt, ...] = ()
    rejected: str = ""


def find_cases(node: ast.stmt) -> list[Case]:
    """The cases of a statement; none if it is not a test."""
    if isinstance(node, Function) and node.name.startswith("test"):
        return list(_read_test(node))
    if isinstance(node, ast.ClassDef):
        methods = [one for one in node.body if isinstance(one, Function) and one.name.startswith("test")]
        return [case for method in methods for case in _read_test(method, node)]
    asserts = not isinstance(node, Function | ast.Import | ast.ImportFrom) and any(map(_asserts, ast.walk(node)))
    return [Case(ASSERTION, (node,))] if asserts else []


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    name = dotted_name(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    return name.lower().startswith("assert") or name == "raises"


def _read_test(test: Function, owner: ast.ClassDef | None = None) -> Iterator[Case]:
    name = f"{owner.name}.{test.name}" if owner is not None else test.name
    if reason := _reject(test):
        yield Case(name, rejected=reason)
        return
    bare, tables = _without_tables(test)
    setups: list[Function] = []
    if owner is not None:
        others = [one for one in owner.body if not (isinstance(one, Function) and one.name.startswith("test"))]
        kept = copy.copy(owner)
        kept.body = [*others, bare]
        made = ast.Call(ast.Name(owner.name, ast.Load()), [], [])
        if any(dotted_name(base).endswith("TestCase") for base in owner.bases):
            made.args = [ast.Constant(test.name)]
            # runs setUp and tearDown, and raises what fails
            yield Case(name, (kept, _call(ast.Attribute(made, "debug", ast.Load()), [])))
            return
        setups = [one for one in others if isinstance(one, Function) and one.name in {"setup_method", "setUp", "setup"}]
    for arguments in _expand(tables):
        if arguments is None:
            yield Case(name, rejected="its parametrize table is not a literal")
            return
        missing = _find_required(bare) - {argument for argument, _ in arguments} - ({"self"} if owner else set())
        if missing or any(len(_find_required(one)) > 1 for one in setups):
            yield Case(name, rejected=f"needs fixtures: {', '.join(sorted(missing)) or 'of its setup'}")
            return
        if owner is None:
            yield Case(name, (bare, _call(ast.Name(bare.name, ast.Load()), arguments)))
            continue
        case = ast.Name("_case", ast.Load())
        calls = [_call(ast.Attribute(case, one.name, ast.Load()), []) for one in setups]
        assign = ast.fix_missing_locations(ast.Assign([ast.Name("_case", ast.Store())], made))
        yield Case(name, (kept, assign, *calls, _call(ast.Attribute(case, bare.name, ast.Load()), arguments)))


_Arguments = list[tuple[str, ast.expr]]


def _call(function: ast.expr, arguments: _Arguments) -> ast.stmt:
    return ast.fix_missing_locations(ast.Expr(ast.Call(function, [], [ast.keyword(*pair) for pair in arguments])))


def _reject(node: Function) -> str:
    if isinstance(node, ast.AsyncFunctionDef):
        return "a coroutine"
    if _yields(node):
        return "a generator, so a call runs nothing"
    marks = {dotted_name(one).rpartition(".")[2] for one in node.decorator_list}
    excluded = marks & {"skip", "skipif", "xfail", "fixture"}
    return f"marked {', '.join(sorted(excluded))}" if excluded else ""


def _yields(node: ast.AST) -> bool:
    """Whether the function itself yields; inner functions do not count."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp)
    return any(
        isinstance(child, ast.Yield | ast.YieldFrom) or (not isinstance(child, inner) and _yields(child))
        for child in ast.iter_child_nodes(node)
    )


def _without_tables(node: Function) -> tuple[Function, list[ast.Call]]:
    """The function without pytest marks, and its `parametrize` marks."""
    bare = copy.copy(node)
    marks = [one for one in node.decorator_list if "mark" in dotted_name(one).split(".")]
    bare.decorator_list = [one for one in node.decorator_list if one not in marks]
    tables = [one for one in marks if isinstance(one, ast.Call) and dotted_name(one).endswith(".parametrize")]
    return bare, tables


def _expand(tables: list[ast.Call]) -> list[_Arguments | None]:
    """The arguments of each case, with all tables crossed; None if a table is not a literal."""
    cases: list[_Arguments] = [[]]
    for table in tables:
        rows = _read_table(table)
        if rows is None:
            return [None]
        # cut after each table: all of them crossed may not fit into memory
        cases = [[*case, *row] for row in rows for case in cases][:_MAX_CASES]
    return list(cases)


def _read_table(table: ast.Call) -> list[_Arguments] | None:
    match table.args:
        case [ast.Constant(value=str(text)), ast.List(elts=rows) | ast.Tuple(elts=rows)]:
            names = [name.strip() for name in text.split(",") if name.strip()]
        case [ast.List(elts=parts) | ast.Tuple(elts=parts), ast.List(elts=rows) | ast.Tuple(elts=rows)]:
            names = [str(part.value) for part in parts if isinstance(part, ast.Constant)]
        case _:
            return None
    found: list[_Arguments] = []
    for row in rows:
        if isinstance(row, ast.Call) and dotted_name(row.func).endswith("param"):
            values = row.args
        elif len(names) == 1:
            values = [row]
        else:
            values = row.elts if isinstance(row, ast.Tuple | ast.List) else []
        if len(values) != len(names) or any(isinstance(value, ast.Starred) for value in values):
            return None  # the length of `*MORE` is unknown
        found.append(list(zip(names, values, strict=True)))
    return found


def _find_required(node: Function) -> set[str]:
    positional = [*node.args.posonlyargs, *node.args.args]
    required = positional[: len(positional) - len(node.args.defaults)]
    keywords = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return {one.arg for one in required} | {one.arg for one, default in keywords if default is None}


@dataclass(frozen=True)
class Part:
    """A statement that tests may need. Analysed once, since a file has many tests."""

    place: int
    statement: ast.stmt
    gives: frozenset[str]
    """Names that it binds, and names whose objects it changes in place."""
    used: frozenset[str]
    is_needed_by_all: bool


def read_part(place: int, statement: ast.stmt) -> Part:
    text = _write([statement])
    names = find_names(text)
    return Part(place, statement, names.bound | find_changed(text), names.used, _is_needed_by_all(statement))


def find_needed(test: Sequence[ast.stmt], around: Sequence[Part]) -> list[ast.stmt]:
    """The statements of `around`, in their order, that the test needs, directly or through one another."""
    needed = set(find_names(_write(test)).used)
    kept: list[ast.stmt] = []
    for part in reversed(around):
        if part.gives & needed or part.is_needed_by_all:
            kept.append(part.statement)
            needed |= part.used
    return kept[::-1]


def _write(statements: Sequence[ast.stmt]) -> str:
    return ast.unparse(ast.Module(list(statements), []))


def _is_needed_by_all(statement: ast.stmt) -> bool:
    """Star imports, whose names are unknown, and random seeds."""
    match statement:
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name))):
            return name in ("seed", "manual_seed", "set_seed", "set_random_seed")
    return False


_MAX_LENGTH = 200_000
_MAX_PIECES = 60
_MAX_DEPTH = 150
"""Levels of a syntax tree; walking it takes a few of Python's thousand frames per level."""

_BEGINS = re.compile(r"[^\s#)\]}]")
_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b")
_TEST = re.compile(r"^(?:(?:async[ \t]+)?def[ \t]+(test\w*)|class[ \t]+(Test\w*))", re.MULTILINE)


class Statements(NamedTuple):
    whole: list[ast.stmt]
    broken: list[str]
    """Names of the tests that are truncated or are not Python."""


def read_statements(answer: str) -> Statements:
    """The module-level statements of its code blocks, in order; of the whole text if there is no block."""
    visible, _ = without_reasoning(answer[:_MAX_LENGTH].replace("\r\n", "\n"))
    blocks, outside = split(visible)
    texts = [block.text for block in blocks if not block.is_foreign] or [outside]
    read = [_read(syntax.dedent(text)) for text in texts]
    found = keep_compiling([one for part in read for one in part.whole])
    return Statements(found.whole, [*(name for part in read for name in part.broken), *found.broken])


def keep_compiling(statements: list[ast.stmt]) -> Statements:
    """Separate statements that parse but do not compile (`return` at module level) or are nested too deeply."""
    found = Statements([], [])
    for one in statements:
        if _compiles(one):
            found.whole.append(one)
        elif isinstance(one, Function | ast.ClassDef) and one.name.startswith(("test", "Test")):
            found.broken.append(one.name)
    return found


def _compiles(statement: ast.stmt) -> bool:
    if _is_too_deep(statement):
        return False
    try:
        compile(ast.unparse(statement), "<test>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_too_deep(statement: ast.stmt) -> bool:
    level: list[ast.AST] = [statement]
    for _ in range(_MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def _read(text: str) -> Statements:
    pieces = [text] if syntax.parse(text) is not None else _cut(text)
    found = Statements([], [])
    here = 0
    while here < len(pieces):
        for end in range(here + 1, min(len(pieces), here + _MAX_PIECES) + 1):
            tree = syntax.parse("\n".join(pieces[here:end]))
            if tree is not None:
                found.whole.extend(tree.body)
                here = end
                break
        else:
            if test := _TEST.search(pieces[here]):
                found.broken.append(test[1] or test[2])
            here += 1
    return found


def _cut(text: str) -> list[str]:
    """Split at every unindented line, except one that continues the statement above it."""
    pieces: list[list[str]] = []
    for line in text.split("\n"):
        continues = _CONTINUES.match(line) or (pieces and pieces[-1][-1].startswith("@"))
        if not pieces or (_BEGINS.match(line) and not continues):
            pieces.append([])
        pieces[-1].append(line)
    return ["\n".join(piece) for piece in pieces]
