"""Which test is one test? How a function, a class or a table of cases becomes statements that run it.

A parametrised test is as many tests as it has cases, since one wrong expectation must not cost the others. Tests that
want fixtures, or are coroutines, cannot be run by calling them, and are refused with the reason.

What does a test need of what was written around it?

A test that is run alone must bring its imports, its data and its helpers, and nothing else: another test's failing line
must not fail this one. Found from the names it uses, backwards: what binds them, what changes them in place, and what
those need in turn.

Which statements does a model's answer hold, whole?

Tests come in fences with prose between, and the last one is often cut off. What is cut off or is no Python is dropped
alone, and by name where it was meant for a test; what stands before and after it is kept.
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

_MOST_CASES = 21
"""Of one table: one more than is taken of an answer, so that it is seen and said that there are more."""
ASSERTION = "assertion"
"""The name of a test that has none: it stands at the margin."""


@dataclass(frozen=True)
class Case:
    """One test, with what runs it; or why it cannot be run."""

    name: str
    statements: tuple[ast.stmt, ...] = ()
    refused: str = ""


def find_cases(node: ast.stmt) -> list[Case]:
    """Of a statement that is a test; none where it is not."""
    if isinstance(node, Function) and node.name.startswith("test"):
        return list(_read_function(node))
    if isinstance(node, ast.ClassDef):
        methods = [one for one in node.body if isinstance(one, Function) and one.name.startswith("test")]
        return [case for method in methods for case in _read_method(node, method)]
    if is_assertion(node):
        return [Case(ASSERTION, (node,))]
    return []


def is_assertion(node: ast.stmt) -> bool:
    """Does the statement itself assert something, however deep, and define nothing?"""
    if isinstance(node, Function | ast.ClassDef | ast.Import | ast.ImportFrom):
        return False
    return any(_asserts(inner) for inner in ast.walk(node))


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    name = dotted_name(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    return name.lower().startswith("assert") or name == "raises"


def _read_function(node: Function) -> Iterator[Case]:
    refused = _refuse(node)
    if refused:
        yield Case(node.name, refused=refused)
        return
    bare, tables = _without_tables(node)
    for arguments in _expand(tables):
        if arguments is None:
            yield Case(node.name, refused="its table of cases cannot be read")
            return
        wanted = _find_required(bare) - {name for name, _ in arguments}
        if wanted:
            yield Case(node.name, refused=f"it wants {', '.join(sorted(wanted))}, which nobody gives")
            return
        yield Case(node.name, (bare, _call(ast.Name(bare.name, ast.Load()), arguments)))


def _read_method(owner: ast.ClassDef, method: Function) -> Iterator[Case]:
    name = f"{owner.name}.{method.name}"
    refused = _refuse(method)
    if refused:
        yield Case(name, refused=refused)
        return
    kept = copy.copy(owner)
    bare, tables = _without_tables(method)
    others = [one for one in owner.body if not (isinstance(one, Function) and one.name.startswith("test"))]
    kept.body = [*others, bare]
    made = ast.Call(ast.Name(owner.name, ast.Load()), [], [])
    if any(dotted_name(base).endswith("TestCase") for base in owner.bases):
        made.args = [ast.Constant(method.name)]
        # runs what sets up and tears down, and raises what fails
        yield Case(name, (kept, _call(ast.Attribute(made, "debug", ast.Load()), [])))
        return
    setups = [one for one in others if isinstance(one, Function) and one.name in {"setup_method", "setUp", "setup"}]
    for arguments in _expand(tables):
        if arguments is None:
            yield Case(name, refused="its table of cases cannot be read")
            return
        wanted = _find_required(bare) - {"self"} - {argument for argument, _ in arguments}
        if wanted or any(len(_find_required(one)) > 1 for one in setups):
            yield Case(name, refused=f"it wants {', '.join(sorted(wanted)) or 'an argument to set up'}")
            return
        case = ast.Name("_case", ast.Load())
        calls = [_call(ast.Attribute(case, one.name, ast.Load()), []) for one in setups]
        assign = ast.fix_missing_locations(ast.Assign([ast.Name("_case", ast.Store())], made))
        yield Case(name, (kept, assign, *calls, _call(ast.Attribute(case, bare.name, ast.Load()), arguments)))


_Arguments = list[tuple[str, ast.expr]]


def _call(function: ast.expr, arguments: _Arguments) -> ast.stmt:
    return ast.fix_missing_locations(ast.Expr(ast.Call(function, [], [ast.keyword(*pair) for pair in arguments])))


def _refuse(node: Function) -> str:
    if isinstance(node, ast.AsyncFunctionDef):
        return "it is a coroutine"
    if _yields(node):
        return "it is a generator, of which a call runs nothing"
    marks = {dotted_name(one).rpartition(".")[2] for one in node.decorator_list}
    refused = marks & {"skip", "skipif", "xfail", "fixture"}
    return f"it is marked {', '.join(sorted(refused))}" if refused else ""


def _yields(node: ast.AST) -> bool:
    """Itself: what functions inside of it do is their own."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp)
    return any(
        isinstance(child, ast.Yield | ast.YieldFrom) or (not isinstance(child, inner) and _yields(child))
        for child in ast.iter_child_nodes(node)
    )


def _without_tables(node: Function) -> tuple[Function, list[ast.Call]]:
    """Without marks of pytest, of which only tables of cases say what to run."""
    bare = copy.copy(node)
    marks = [one for one in node.decorator_list if "mark" in dotted_name(one).split(".")]
    bare.decorator_list = [one for one in node.decorator_list if one not in marks]
    tables = [one for one in marks if isinstance(one, ast.Call) and dotted_name(one).endswith(".parametrize")]
    return bare, tables


def _expand(tables: list[ast.Call]) -> list[_Arguments | None]:
    """The arguments of each case, all tables crossed; None where a table is not written out."""
    cases: list[_Arguments] = [[]]
    for table in tables:
        rows = _read_table(table)
        if rows is None:
            return [None]
        # cut with each table: all of them crossed may be more than fit into memory
        cases = [[*case, *row] for row in rows for case in cases][:_MOST_CASES]
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
            return None  # how many rows `*MORE` stands for is not written here
        found.append(list(zip(names, values, strict=True)))
    return found


def _find_required(node: Function) -> set[str]:
    positional = [*node.args.posonlyargs, *node.args.args]
    required = positional[: len(positional) - len(node.args.defaults)]
    keywords = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return {one.arg for one in required} | {one.arg for one, default in keywords if default is None}


_SEEDS = ("seed", "manual_seed", "set_seed", "set_random_seed")


@dataclass(frozen=True)
class Part:
    """A statement that tests may need, and what is known of it: worked out once, for a file has many tests."""

    place: int
    statement: ast.stmt
    gives: frozenset[str]
    """Names that it binds, and names whose objects it changes in place."""
    used: frozenset[str]
    is_for_all: bool


def read_part(place: int, statement: ast.stmt) -> Part:
    text = _write([statement])
    names = find_names(text)
    return Part(place, statement, names.bound | find_changed(text), names.used, _is_for_all(statement))


def find_needed(test: Sequence[ast.stmt], around: Sequence[Part]) -> list[ast.stmt]:
    """Those statements of `around`, in their order, that the test cannot do without."""
    wanted = set(find_names(_write(test)).used)
    kept: list[ast.stmt] = []
    for part in reversed(around):
        if part.gives & wanted or part.is_for_all:
            kept.append(part.statement)
            wanted |= part.used
    return kept[::-1]


def _write(statements: Sequence[ast.stmt]) -> str:
    return ast.unparse(ast.Module(list(statements), []))


def _is_for_all(statement: ast.stmt) -> bool:
    """Names nobody can tell, and numbers that come of a seed."""
    match statement:
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name))):
            return name in _SEEDS
    return False


_LONGEST = 200_000
_MOST_PIECES = 60
_DEEPEST = 150
"""Nodes of a statement below each other; what goes through it needs a few of Python's thousand frames for each."""

_BEGINS = re.compile(r"[^\s#)\]}]")
_GOES_ON = re.compile(r"(?:else|elif|except|finally)\b")
_TEST = re.compile(r"^(?:(?:async[ \t]+)?def[ \t]+(test\w*)|class[ \t]+(Test\w*))", re.MULTILINE)


class Statements(NamedTuple):
    whole: list[ast.stmt]
    broken: list[str]
    """Names of the tests that are cut off or are no Python."""


def read_statements(answer: str) -> Statements:
    """Those at the margin of its code blocks, in order; of the whole text where there is no block."""
    said, _ = without_reasoning(answer[:_LONGEST].replace("\r\n", "\n"))
    blocks, outside = split(said)
    texts = [block.text for block in blocks if not block.foreign] or [outside]
    read = [_read(syntax.dedent(text)) for text in texts]
    found = keep_compiling([one for part in read for one in part.whole])
    return Statements(found.whole, [*(name for part in read for name in part.broken), *found.broken])


def keep_compiling(statements: list[ast.stmt]) -> Statements:
    """What parses may still be nothing that can be run or read: a `return` at the margin, hundreds of `elif`."""
    whole: list[ast.stmt] = []
    broken: list[str] = []
    for one in statements:
        if _compiles(one):
            whole.append(one)
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            broken += [one.name] if one.name.startswith(("test", "Test")) else []
    return Statements(whole, broken)


def _compiles(statement: ast.stmt) -> bool:
    if _is_too_deep(statement):
        return False
    try:
        compile(ast.unparse(statement), "<check>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_too_deep(statement: ast.stmt) -> bool:
    level: list[ast.AST] = [statement]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def _read(text: str) -> Statements:
    whole = syntax.parse(text)
    if whole is not None:
        return Statements(whole.body, [])
    pieces = _cut(text)
    found = Statements([], [])
    here = 0
    while here < len(pieces):
        for end in range(here + 1, min(len(pieces), here + _MOST_PIECES) + 1):
            tree = syntax.parse("\n".join(pieces[here:end]))
            if tree is not None:
                found.whole.extend(tree.body)
                here = end
                break
        else:
            meant = _TEST.search(pieces[here])
            found.broken.extend([meant[1] or meant[2]] if meant else [])
            here += 1
    return found


def _cut(text: str) -> list[str]:
    """At every line that begins at the margin, but for one that goes on with what is above it."""
    pieces: list[list[str]] = []
    for line in text.split("\n"):
        goes_on = _GOES_ON.match(line) or (pieces and pieces[-1][-1].startswith("@"))
        if not pieces or (_BEGINS.match(line) and not goes_on):
            pieces.append([])
        pieces[-1].append(line)
    return ["\n".join(piece) for piece in pieces]
