"""How does a candidate differ from the reference?

By its parts (statements and what was changed in them), where the two are alike enough for that to mean something, and
by its stock: what is called, raised, branched on, and which parameters are used. Of two solutions that have little in
common only the stock is compared: a list of a hundred edits explains nothing.

What was changed from one statement to another?

A constant, an operator, an attribute, an argument, something put around a value: each with what stood there, what
stands there now, and where it is (an index, an axis, a condition). Two expressions that have nothing in common are
`replaced`.

Which statements of a candidate stand for which of the reference?

Both are laid out as lists of statements, a block's header alone and then what it holds, and aligned by their texts.
What an author calls a variable says nothing, so a first alignment passes over names that only one side has, tells which
stand for which, and a second compares with the candidate's variables under the reference's names.

When do two pieces of code say the same in other words?

`x += 1` and `x = x + 1`, `a > b` and `b < a`, a result returned at once or by way of a variable: authors choose.
Brought into one form, what is left of the difference is more often a difference in what is done.
"""

import ast
import copy
import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from dlbench.dataset.target import Function, dotted_name, find_body, parse_function

_LONGEST = 80
_AXES = {"axis", "dim", "axes", "dims", "keepdim", "keepdims", "dtype"}


@dataclass(frozen=True)
class Edit:
    kind: str
    """constant, operator, comparison, connective, sign, attribute, name, fixed (a name became a constant), swapped,
    keyword dropped, keyword added, arguments, wrapped, unwrapped, condition negated, nothing returned, unused, error
    (another one is raised), replaced."""
    old: str
    new: str
    where: str = ""
    """`index`, `condition`, `return`, or the keyword or called name it stands in."""


def compare_statements(old: ast.stmt, new: ast.stmt) -> list[Edit]:
    match old, new:
        case ast.Return(value=ast.expr() as value), ast.Return(value=None | ast.Constant(value=None)):
            return [Edit("nothing returned", _tell(value), "", "return")]
        case ast.Return(value=ast.expr() as before), ast.Return(value=ast.expr() as after):
            return list(_compare(before, after, "return"))
        case (ast.If(test=before), ast.If(test=after)) | (ast.While(test=before), ast.While(test=after)):
            return list(_compare(before, after, "condition"))
        case ast.Raise(), ast.Raise():
            # what an error says is for people, and everybody says it in other words
            kinds = [dotted_name(one.exc) if one.exc else "" for one in (old, new)]
            return [] if kinds[0] == kinds[1] else [Edit("error", *kinds)]
        case ast.Assign(value=before), ast.Expr(value=after) if ast.dump(before) == ast.dump(after):
            return [Edit("unused", _tell(old), _tell(new))]
    if type(old) is not type(new):
        return [Edit("replaced", _tell(old), _tell(new))]
    return list(_compare_fields(old, new, ""))


def _compare(old: ast.AST, new: ast.AST, where: str) -> Iterator[Edit]:
    if ast.dump(old) == ast.dump(new):
        return
    if isinstance(old, ast.expr) and isinstance(new, ast.expr):
        found = _compare_expressions(old, new, where)
        if found is not None:
            yield from found
            return
    if type(old) is not type(new):
        yield Edit("replaced", _tell(old), _tell(new), where)
        return
    yield from _compare_fields(old, new, where)


def _compare_expressions(old: ast.expr, new: ast.expr, where: str) -> list[Edit] | None:
    match old, new:
        case ast.Constant(), ast.Constant():
            return [Edit("constant", repr(old.value), repr(new.value), where)]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()), ast.Constant():
            return [Edit("constant" if where in _AXES else "sign", _tell(old), _tell(new), where)]
        case ast.Constant(), ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return [Edit("constant", _tell(old), _tell(new), where)]
        case ast.Name(), ast.Name():
            return [Edit("name", old.id, new.id, where)]
        case ast.Name(), ast.Constant():
            return [Edit("fixed", old.id, _tell(new), where)]
        case _, ast.UnaryOp(op=ast.Not(), operand=inner) if ast.dump(inner) == ast.dump(old):
            return [Edit("condition negated", _tell(old), _tell(new), where)]
        case ast.UnaryOp(op=ast.USub(), operand=inner), _ if ast.dump(inner) == ast.dump(new):
            return [Edit("sign", _tell(old), _tell(new), where)]
    if _holds(new, old):
        return [Edit("wrapped", _tell(old), _tell_around(new, old), where)]
    if _holds(old, new):
        return [Edit("unwrapped", _tell_around(old, new), _tell(new), where)]
    match old, new:
        case ast.Attribute(), ast.Attribute() if old.attr != new.attr and ast.dump(old.value) == ast.dump(new.value):
            return [Edit("attribute", _tell(old), _tell(new), where)]
        case ast.Call(), ast.Call():
            return list(_compare_calls(old, new, where))
        case ast.Subscript(), ast.Subscript():
            return [*_compare(old.value, new.value, where), *_compare(old.slice, new.slice, "index")]
        case (ast.BinOp(), ast.BinOp()) | (ast.BoolOp(), ast.BoolOp()) | (ast.Compare(), ast.Compare()):
            return list(_compare_operators(old, new, where))
    return None


def _compare_operators(old: ast.expr, new: ast.expr, where: str) -> Iterator[Edit]:
    kind = {ast.BinOp: "operator", ast.BoolOp: "connective", ast.Compare: "comparison"}[type(old)]
    signs = [[type(one).__name__ for one in _operators(each)] for each in (old, new)]
    if signs[0] != signs[1]:
        yield Edit(kind, " ".join(signs[0]), " ".join(signs[1]), where)
    yield from _compare_fields(old, new, where)


def _operators(node: ast.expr) -> list[ast.AST]:
    return list(node.ops) if isinstance(node, ast.Compare) else [node.op]  # type: ignore[attr-defined]


def _compare_calls(old: ast.Call, new: ast.Call, where: str) -> Iterator[Edit]:
    name = dotted_name(old.func).rpartition(".")[2]
    yield from _compare(old.func, new.func, where)
    before, after = [ast.dump(one) for one in old.args], [ast.dump(one) for one in new.args]
    if before != after and sorted(before) == sorted(after):
        yield Edit("swapped", _tell(old), _tell(new), name)
    elif len(before) == len(after):
        for a, b in zip(old.args, new.args, strict=True):
            yield from _compare(a, b, name)
    else:
        yield Edit("arguments", _tell(old), _tell(new), name)
    kept = {word.arg: word.value for word in new.keywords}
    for word in old.keywords:
        if word.arg not in kept:
            yield Edit("keyword dropped", f"{word.arg}={_tell(word.value)}", "", name)
        else:
            yield from _compare(word.value, kept[word.arg], word.arg or name)
    known = {word.arg for word in old.keywords}
    for word in new.keywords:
        if word.arg not in known:
            yield Edit("keyword added", "", f"{word.arg}={_tell(word.value)}", name)


def _compare_fields(old: ast.AST, new: ast.AST, where: str) -> Iterator[Edit]:
    for field in old._fields:
        before, after = getattr(old, field, None), getattr(new, field, None)
        if field in ("ctx", "op", "ops", "type_comment", "annotation", "returns", "decorator_list"):
            if field == "op" and isinstance(old, ast.AugAssign) and type(before) is not type(after):
                yield Edit("operator", type(before).__name__, type(after).__name__, where)
            if field == "op" and isinstance(old, ast.UnaryOp) and type(before) is not type(after):
                yield Edit("sign", type(before).__name__, type(after).__name__, where)
            continue
        place = "index" if isinstance(old, ast.Slice) else where
        if isinstance(before, list) and isinstance(after, list):
            if len(before) != len(after):
                yield Edit("replaced", _tell(old), _tell(new), place)
                return
            for a, b in zip(before, after, strict=True):
                if isinstance(a, ast.AST) and isinstance(b, ast.AST):
                    yield from _compare(a, b, place)
        elif isinstance(before, ast.AST) and isinstance(after, ast.AST):
            yield from _compare(before, after, place)
        elif before != after:
            yield Edit("replaced", _tell(old), _tell(new), place)
            return


def _holds(outer: ast.expr, inner: ast.expr) -> bool:
    if isinstance(inner, ast.Constant):  # numbers are everywhere
        return False
    wanted = ast.dump(inner)
    return any(
        node is not outer and isinstance(node, ast.expr) and ast.dump(node) == wanted for node in ast.walk(outer)
    )


def _is_or_holds(outer: ast.expr, inner: ast.expr) -> bool:
    return ast.dump(outer) == ast.dump(inner) or _holds(outer, inner)


def _tell_around(node: ast.expr, inner: ast.expr) -> str:
    """By what something is wrapped: a call's name, a method's, an index, an operator."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name, value=value)) if _is_or_holds(value, inner):
            return f".{name}()"
        case ast.Call():
            return f"{dotted_name(node.func)}()"
        case ast.Subscript():
            return f"[{_tell(node.slice)}]"
        case ast.Attribute(attr=name):
            return f".{name}"
    return type(node).__name__


def _tell(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


_LEAST = 0.55
"""How alike two statements must be to be one that was changed."""


@dataclass(frozen=True)
class Part:
    """A statement, or the header of a block."""

    node: ast.stmt
    text: str
    masked: str
    """With `_` for names that are not given from outside."""


@dataclass(frozen=True)
class Aligned:
    pairs: tuple[tuple[ast.stmt, ast.stmt], ...]
    """The reference's and the candidate's, that differ."""
    removed: tuple[ast.stmt, ...]
    added: tuple[ast.stmt, ...]
    likeness: float
    """The share of statements that are the same on both sides, from 0 to 1."""


def lay_out(function: Function) -> list[Part]:
    kept = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    stores = {one.id for one in ast.walk(function) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    inner = stores - kept
    return [Part(node, text, _mask(node, text, inner)) for node, text in _walk(find_body(function))]


def align(reference: list[Part], candidate: Function) -> Aligned:
    before = lay_out(candidate)
    names = _match_names(reference, before)
    after = lay_out(_rename(candidate, names)) if names else before
    pairs: list[tuple[ast.stmt, ast.stmt]] = []
    removed: list[ast.stmt] = []
    added: list[ast.stmt] = []
    matcher = SequenceMatcher(None, [one.text for one in reference], [one.text for one in after], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        for old, new in _pair(reference[a:b], after[c:d]):
            if old is None and new is not None:
                added.append(new.node)
            elif new is None and old is not None:
                removed.append(old.node)
            elif old is not None and new is not None:
                pairs.append((old.node, new.node))
    return Aligned(tuple(pairs), tuple(removed), tuple(added), matcher.ratio())


def _walk(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    for statement in body:
        if isinstance(statement, ast.Pass):
            continue
        blocks = [name for name in ("body", "orelse", "finalbody") if getattr(statement, name, None)]
        if not blocks:
            yield statement, ast.unparse(statement)
            continue
        header = copy.copy(statement)
        for name in ("body", "orelse", "finalbody"):
            if hasattr(header, name):
                setattr(header, name, [ast.Pass()] if name == "body" else [])
        if isinstance(header, ast.Try):
            header.handlers, header.finalbody = [], [ast.Pass()]
        yield header, ast.unparse(header)
        for name in blocks:
            yield from _walk(getattr(statement, name))
        for handler in getattr(statement, "handlers", []):
            yield from _walk(handler.body)


def _mask(node: ast.stmt, text: str, inner: set[str]) -> str:
    """In place and back again: copies would take most of the time."""
    masked = [one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id in inner]
    if not masked:
        return text
    names = [one.id for one in masked]
    for one in masked:
        one.id = "_"
    try:
        return ast.unparse(node)
    finally:
        for one, name in zip(masked, names, strict=True):
            one.id = name


def _match_names(reference: list[Part], candidate: list[Part]) -> dict[str, str]:
    """The candidate's variables by the reference's, where aligned statements say so."""
    votes: dict[str, Counter[str]] = {}
    texts = [one.masked for one in reference], [one.masked for one in candidate]
    for tag, a, b, c, d in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if tag != "equal" and b - a != d - c:
            continue
        for old, new in zip(reference[a:b], candidate[c:d], strict=True):
            theirs, ours = _names(old.node), _names(new.node)
            if len(theirs) == len(ours) and (tag == "equal" or _alike(old.masked, new.masked) >= _LEAST):
                for their, our in zip(theirs, ours, strict=True):
                    votes.setdefault(our, Counter())[their] += 1
    theirs_all, ours_all = _find_stored(reference), _find_stored(candidate)
    chosen = {our: counts.most_common(1)[0][0] for our, counts in votes.items() if our in ours_all - theirs_all}
    taken = Counter(chosen.values())
    free = theirs_all - ours_all
    return {our: their for our, their in chosen.items() if taken[their] == 1 and their in free}


def _find_stored(parts: list[Part]) -> set[str]:
    """Variables, and not what they are made from: `max` is no other name for `min`."""
    nodes = [one for part in parts for one in ast.walk(part.node)]
    return {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _names(node: ast.stmt) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def _rename(function: Function, names: dict[str, str]) -> Function:
    made: Function = pickle.loads(pickle.dumps(function))
    for one in ast.walk(made):
        if isinstance(one, ast.Name):
            one.id = names.get(one.id, one.id)
    return made


def _pair(old: list[Part], new: list[Part]) -> Iterator[tuple[Part | None, Part | None]]:
    """In order, each with the first that is like enough; the others alone."""
    start = 0
    for one in old:
        best = max(range(start, len(new)), key=lambda place: _alike(one.text, new[place].text), default=None)
        single = len(old) == len(new) == 1 and type(one.node) is type(new[0].node)
        if best is None or (_alike(one.text, new[best].text) < _LEAST and not single):
            yield one, None
            continue
        for passed in new[start:best]:
            yield None, passed
        yield one, new[best]
        start = best + 1
    for left in new[start:]:
        yield None, left


def _alike(a: str, b: str) -> float:
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    quick = matcher.real_quick_ratio()
    return quick if quick < _LEAST else matcher.quick_ratio() if matcher.quick_ratio() < _LEAST else matcher.ratio()


_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def make_canonical(function: Function, *, exchange: bool = False) -> Function:
    """A copy; with `exchange`, an else that stands behind a negated condition comes first."""
    made = pickle.loads(pickle.dumps(function))
    made = _Form(exchange).visit(made)
    assert isinstance(made, Function)
    return ast.fix_missing_locations(made)


def has_exchange(function: Function) -> bool:
    return any(isinstance(node, ast.If) and node.orelse and _negated(node.test) for node in ast.walk(function))


def _negated(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


class _Form(ast.NodeTransformer):
    def __init__(self, exchange: bool) -> None:
        self.exchange = exchange

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        return node if node.value is None else ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
            turned = ast.Compare(node.comparators[0], [_TURNED[type(node.ops[0])]()], [node.left])
            return ast.copy_location(turned, node)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if self.exchange and node.orelse and isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not):
            return ast.copy_location(ast.If(node.test.operand, node.orelse, node.body), node)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, _return_at_once(block))
        return node


def _return_at_once(block: list[ast.stmt]) -> list[ast.stmt]:
    match block[-2:]:
        case [ast.Assign(targets=[ast.Name(id=name)], value=value), ast.Return(value=ast.Name(id=given)) as last] if (
            name == given
        ):
            return [*block[:-2], ast.copy_location(ast.Return(value), last)]
    return block


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
