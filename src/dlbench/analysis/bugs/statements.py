"""Which statements of a candidate stand for which of the reference?

Both are laid out as lists of statements, a block's header alone and then what it holds, and aligned by their texts.
What an author calls a variable says nothing, so a first alignment passes over names that only one side has, tells which
stand for which, and a second compares with the candidate's variables under the reference's names.
"""

import ast
import copy
import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from dlbench.dataset.target import Function, find_body

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
