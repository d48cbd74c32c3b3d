"""What would a small mistake in the reference look like?

Copies of it with one thing changed, each in the way of one operator: a comparison turned, an axis changed, a statement
left out. Tests that cannot tell them from the reference are weak; two ways of judging that differ on one of them are
not the same.

What must every kept test reject? The target with its body replaced by nothing: by an error, and by None.

A test that passes on either cannot tell a solution from its absence, and is not kept.

In which orders are an instance's tests tried, before they may be called steady?

In as many different ones as are wanted, or as there are. Drawn one by one from a seed, three tests came in three orders
of five, and one of them was never the first to run: a test that needs another before it would have stood. Backwards
first: with the record's own order, every test has then run once before and once after every other.
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
    """Up to so many, the operators taking turns: what was changed, and the code, all different and all compiling."""
    mutable = _Mutable(function)
    try:
        seen = {mutable.write()}
    except ValueError:  # what ast cannot write again it cannot write changed
        return []
    chance = random.Random(seed)
    queues: dict[str, list[_Place]] = {}
    for place in _find_places(mutable.function):
        queues.setdefault(place[1].operator, []).append(place)
    for queue in queues.values():
        chance.shuffle(queue)
    turns = sorted(queues)
    chance.shuffle(turns)
    found: list[tuple[str, str]] = []
    while turns and len(found) < most:
        operator = turns.pop(0)
        mutant = _take(mutable, queues[operator], seen)
        if mutant is not None:
            found.append(mutant)
            turns.append(operator)
    return found


class _Mutable:
    """A copy of a function, without its decorators, in which one thing at a time can be changed."""

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


def _take(mutable: _Mutable, queue: list[_Place], seen: set[str]) -> tuple[str, str] | None:
    """The next mutant of an operator that is new and compiles."""
    while queue:
        node, change = queue.pop()
        code = mutable.write_changed(node, change)
        if code not in seen and compiles(code):
            seen.add(code)
            return f"{change.operator} in line {change.line - mutable.function.lineno + 1}", code
    return None


def compiles(code: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `x is not 1` is worth a warning in a source, not in a mutant
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
    # a number that is an axis is changed as an axis, and not once more as a number
    claimed = {id(part) for _, change in found for part in change.claims}
    return [(node, change) for node, change in found if id(node) not in claimed]


def _untouched(function: Function) -> Iterator[ast.AST]:
    """What is there for a caller or a reader: the header, annotations, messages, logging."""
    yield function.args
    for node in ast.walk(function):
        match node:
            case ast.FunctionDef(returns=ast.expr() as words) | ast.AsyncFunctionDef(returns=ast.expr() as words):
                yield words
            case ast.arg(annotation=ast.expr() as words) | ast.AnnAssign(annotation=words):
                yield words
            case ast.Raise(exc=ast.expr() as words) | ast.Assert(msg=ast.expr() as words):
                yield words
            case ast.Expr(value=ast.Call(func=called)) | ast.Call(func=called) if is_logging(called):
                yield node


def is_logging(called: ast.expr) -> bool:
    """Does calling this only tell a person something: `logger.info`, `warnings.warn`?"""
    *owner, name = dotted_name(called).split(".")
    if not owner:
        return name == "warn"
    return name in _LEVELS and owner[-1].strip("_").lower() in _LOGS


BODIES = {"raises": "raise NotImplementedError", "returns_none": "return None"}


def write_stub(function: Function, kind: str) -> str:
    return f"{render_signature(function, decorators=False)}\n    {BODIES[kind]}\n"


_TRIES = 100
"""For an order that is not there yet; of two tests there are but two."""


def draw_orders(tests: Sequence[str], times: int, key: str) -> list[tuple[str, ...]]:
    """`times` orders: the given one backwards, then by chance of `key`, the same each time and others for another
    instance. No two are alike, and no test is the first twice, as long as there are others left."""
    chance = random.Random(key)
    leaders = [tests[-1], *chance.sample(tests[:-1], len(tests) - 1)]
    drawn = [tuple(reversed(tests))][:times]
    for count in range(1, times):
        order = _draw(leaders[count % len(leaders)], tests, chance)
        for _ in range(_TRIES):
            if order not in drawn:
                break
            order = _draw(chance.choice(leaders), tests, chance)
        drawn.append(order)
    return drawn


def _draw(leader: str, tests: Sequence[str], chance: random.Random) -> tuple[str, ...]:
    others = [test for test in tests if test != leader]
    return (leader, *chance.sample(others, len(others)))
