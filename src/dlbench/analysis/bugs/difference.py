"""How does a candidate differ from the reference?

By its parts (statements and what was changed in them), where the two are alike enough for that to mean something, and
by its stock: what is called, raised, branched on, and which parameters are used. Of two solutions that have little in
common only the stock is compared: a list of a hundred edits explains nothing.
"""

import ast
from dataclasses import dataclass
from functools import lru_cache

from dlbench.analysis.bugs.canonical import has_exchange, make_canonical
from dlbench.analysis.bugs.edits import Edit, compare_statements
from dlbench.analysis.bugs.statements import Part, align, lay_out
from dlbench.dataset.target import Function, dotted_name, parse_function

NEAR = 0.5
_MOST = 24


@dataclass(frozen=True)
class Stock:
    """What a function is made of."""

    calls: frozenset[str]
    raises: frozenset[str]
    refusals: int
    """How many statements raise."""
    used: frozenset[str]
    """Parameters that are read."""
    gives: bool
    """It returns or yields a value."""
    branches: int
    statements: int


@dataclass(frozen=True)
class Difference:
    likeness: float
    """The share of statements that are the same on both sides."""
    signature: str = ""
    """The reference's header and the candidate's, where they differ."""
    defaults: str = ""
    """The same of the parameters' defaults."""
    edits: tuple[Edit, ...] = ()
    removed: tuple[str, ...] = ()
    """What kind of statement the candidate lacks: guard, refusal, branch, step, return, loop."""
    added: tuple[str, ...] = ()
    removed_text: tuple[str, ...] = ()
    added_text: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    """Of the added statements, those that the reference has too, elsewhere."""
    missing_calls: tuple[str, ...] = ()
    extra_calls: tuple[str, ...] = ()
    missing_raises: tuple[str, ...] = ()
    extra_raises: tuple[str, ...] = ()
    unused_parameters: tuple[str, ...] = ()
    """That the reference reads and the candidate does not."""
    parameters: tuple[str, ...] = ()
    """That the reference reads."""
    gives_nothing: bool = False
    """The reference gives back a value, the candidate never does."""
    refusals: int = 0
    """More statements that raise than the reference has; below 0, fewer."""
    branches: int = 0
    """More than the reference has; below 0, fewer."""
    statements: tuple[int, int] = (0, 0)

    @property
    def is_near(self) -> bool:
        return self.likeness >= NEAR or len(self.edits) + len(self.removed) + len(self.added) <= 3

    @property
    def count(self) -> int:
        return len(self.edits) + len(self.removed) + len(self.added)


@dataclass(frozen=True)
class Reference:
    function: Function
    parts: list[Part]
    stock: Stock


@lru_cache(maxsize=1024)
def read_reference(text: str) -> Reference:
    function = parse_function(text)
    return Reference(function, lay_out(make_canonical(function)), take_stock(function))


def compare(reference: Reference, candidate: Function) -> Difference:
    aligned = align(reference.parts, make_canonical(candidate))
    if has_exchange(candidate):
        exchanged = align(reference.parts, make_canonical(candidate, exchange=True))
        aligned = max(aligned, exchanged, key=lambda one: one.likeness)
    ours, theirs = reference.stock, take_stock(candidate)
    known = {part.text for part in reference.parts if not isinstance(part.node, ast.Return | ast.Continue | ast.Break)}
    edits = [edit for old, new in aligned.pairs for edit in compare_statements(old, new)]
    return Difference(
        likeness=aligned.likeness,
        signature=_tell_change(*map(_tell_parameters, (reference.function, candidate))),
        defaults=_tell_change(*map(_tell_defaults, (reference.function, candidate))),
        edits=tuple(edits[:_MOST]),
        removed=tuple(map(_name, aligned.removed))[:_MOST],
        added=tuple(map(_name, aligned.added))[:_MOST],
        removed_text=tuple(_shorten(one) for one in aligned.removed[:_MOST]),
        added_text=tuple(_shorten(one) for one in aligned.added[:_MOST]),
        repeated=tuple(text for text in map(_shorten, aligned.added) if text in known)[:_MOST],
        missing_calls=tuple(sorted(ours.calls - theirs.calls)),
        extra_calls=tuple(sorted(theirs.calls - ours.calls)),
        missing_raises=tuple(sorted(ours.raises - theirs.raises)),
        extra_raises=tuple(sorted(theirs.raises - ours.raises)),
        unused_parameters=tuple(sorted(ours.used - theirs.used)),
        parameters=tuple(sorted(ours.used)),
        gives_nothing=ours.gives and not theirs.gives,
        refusals=theirs.refusals - ours.refusals,
        branches=theirs.branches - ours.branches,
        statements=(ours.statements, theirs.statements),
    )


def take_stock(function: Function) -> Stock:
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    given = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    raised = [node.exc for node in nodes if isinstance(node, ast.Raise) and node.exc is not None]
    return Stock(
        calls=frozenset(dotted_name(node.func).rpartition(".")[2] for node in nodes if isinstance(node, ast.Call))
        - {""},
        raises=frozenset(dotted_name(one).rpartition(".")[2] for one in raised) - {""},
        refusals=sum(isinstance(node, ast.Raise) for node in nodes),
        used=frozenset(
            node.id
            for node in nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in given
        ),
        gives=any(
            isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) and node.value is not None for node in nodes
        ),
        branches=sum(isinstance(node, ast.If | ast.IfExp | ast.Try | ast.Match) for node in nodes),
        statements=sum(isinstance(node, ast.stmt) for node in nodes),
    )


def _tell_change(old: str, new: str) -> str:
    return "" if old == new else f"{old} became {new}"


def _tell_parameters(function: Function) -> str:
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args)]
    names += [f"*{one.arg}" for one in (given.vararg, given.kwarg) if one]
    return f"({', '.join([*names, *(one.arg for one in given.kwonlyargs)])})"


def _tell_defaults(function: Function) -> str:
    given = [one for one in (*function.args.defaults, *function.args.kw_defaults) if one is not None]
    return f"({', '.join(map(ast.unparse, given))})"


def _name(node: ast.stmt) -> str:
    match node:
        case ast.Raise():
            return "refusal"
        case ast.If():
            return "branch"
        case ast.Return():
            return "return"
        case ast.For() | ast.While() | ast.AsyncFor():
            return "loop"
        case ast.Try():
            return "catch"
        case ast.Import() | ast.ImportFrom():
            return "import"
        case ast.Continue() | ast.Break():
            return "jump"
    return "step"


def _shorten(node: ast.stmt) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 120 else text[:119] + "…"
