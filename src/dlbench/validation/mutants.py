"""Write mutants and stubs of a reference, and draw orders of its tests.

Tests that cannot tell a mutant from the reference are weak, and two modes that differ on one are not equivalent. A stub
raises or returns None; a test that passes on either is not kept.
"""

import ast
import copy
import random
import warnings
from collections.abc import Iterator, Sequence

from dlbench.dataset.target import Function, dotted_name, render_signature
from dlbench.validation.mutation_operators import Change, find_changes, find_tensor_changes

_LOGS = {"logging", "logger", "log", "warnings"}
_LEVELS = {"debug", "info", "warn", "warning", "error", "exception", "critical", "log", "warn_explicit"}

_Place = tuple[ast.AST, Change]


def write_mutants(function: Function, most: int, seed: int = 0) -> list[tuple[str, str]]:
    """Up to `most` distinct mutants that compile, as change and code. The operators take turns."""
    mutable = _Mutable(function)
    try:
        seen = {mutable.write()}
    except ValueError:  # ast.unparse cannot write this function
        return []
    rng = random.Random(seed)
    queues: dict[str, list[_Place]] = {}
    for place in _find_places(mutable.function):
        queues.setdefault(place[1].operator, []).append(place)
    for queue in queues.values():
        rng.shuffle(queue)
    turns = sorted(queues)
    rng.shuffle(turns)
    found: list[tuple[str, str]] = []
    while turns and len(found) < most:
        operator = turns.pop(0)
        mutant = _next_mutant(mutable, queues[operator], seen)
        if mutant is not None:
            found.append(mutant)
            turns.append(operator)
    return found


class _Mutable:
    """A copy of a function without its decorators, to change one node at a time."""

    def __init__(self, function: Function) -> None:
        self.function = copy.deepcopy(function)
        self.function.decorator_list = []
        self._owners: dict[int, tuple[ast.AST, str, object]] = {}
        for parent in ast.walk(self.function):
            for field, value in ast.iter_fields(parent):
                for child in value if isinstance(value, list) else [value]:
                    self._owners[id(child)] = (parent, field, value)

    def write(self) -> str:
        return ast.unparse(self.function) + "\n"

    def write_changed(self, node: ast.AST, change: Change) -> str:
        if change.field:
            owner, field, value, old = node, change.field, change.value, getattr(node, change.field)
        else:
            owner, field, old = self._owners[id(node)]
            value = [change.value if item is node else item for item in old] if isinstance(old, list) else change.value
        setattr(owner, field, value)
        try:
            return self.write()
        finally:
            setattr(owner, field, old)


def _next_mutant(mutable: _Mutable, queue: list[_Place], seen: set[str]) -> tuple[str, str] | None:
    """The next new mutant of an operator that compiles."""
    while queue:
        node, change = queue.pop()
        code = mutable.write_changed(node, change)
        if code not in seen and compiles(code):
            seen.add(code)
            line = getattr(change.at, "lineno", 0) - mutable.function.lineno + 1
            return f"{change.operator} in line {line}", code
    return None


def compiles(code: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as that of `x is not 1`
        try:
            compile(code, "<mutant>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True


def _find_places(function: Function) -> list[_Place]:
    kept = {id(inner) for node in _untouched(function) for inner in ast.walk(node)}
    found = [
        (node, change)
        for node in ast.walk(function)
        if id(node) not in kept
        for change in [*find_changes(node), *find_tensor_changes(node)]
    ]
    # a number that is an axis is changed as an axis only
    claimed = {id(part) for _, change in found for part in change.claims}
    return [(node, change) for node, change in found if id(node) not in claimed]


def _untouched(function: Function) -> Iterator[ast.AST]:
    """What tests of behaviour do not see: the header, annotations, messages, logging."""
    yield function.args
    for node in ast.walk(function):
        match node:
            case ast.FunctionDef(returns=ast.expr() as part) | ast.AsyncFunctionDef(returns=ast.expr() as part):
                yield part
            case ast.arg(annotation=ast.expr() as part) | ast.AnnAssign(annotation=part):
                yield part
            case ast.Raise(exc=ast.expr() as part) | ast.Assert(msg=ast.expr() as part):
                yield part
            case ast.Expr(value=ast.Call(func=called)) | ast.Call(func=called) if is_logging(called):
                yield node


def is_logging(called: ast.expr) -> bool:
    """Whether a call of this only logs or warns, as `logger.info` and `warnings.warn`."""
    *owner, name = dotted_name(called).split(".")
    if not owner:
        return name == "warn"
    return name in _LEVELS and owner[-1].strip("_").lower() in _LOGS


BODIES = {"raises": "raise NotImplementedError", "returns_none": "return None"}


def write_stub(function: Function, kind: str) -> str:
    return f"{render_signature(function, decorators=False)}\n    {BODIES[kind]}\n"


_TRIES = 100
"""To draw a new order; there may be none left."""


def draw_orders(tests: Sequence[str], times: int, key: str) -> list[tuple[str, ...]]:
    """`times` orders: reversed, then random with `key` as the seed. No order repeats, and no test comes first twice, as
    long as others are left: with few tests, independent orders would repeat, and some test might never run first.
    Reversed comes first: with the record's own order, every test has then run before and after every other."""
    rng = random.Random(key)
    leaders = [tests[-1], *rng.sample(tests[:-1], len(tests) - 1)]
    drawn = [tuple(reversed(tests))][:times]
    for count in range(1, times):
        order = _draw(leaders[count % len(leaders)], tests, rng)
        for _ in range(_TRIES):
            if order not in drawn:
                break
            order = _draw(rng.choice(leaders), tests, rng)
        drawn.append(order)
    return drawn


def _draw(leader: str, tests: Sequence[str], rng: random.Random) -> tuple[str, ...]:
    others = [test for test in tests if test != leader]
    return (leader, *rng.sample(others, len(others)))
