"""Extract the Python code for a target from the raw answer of a model.

An answer holds reasoning, prose, fences, drafts and examples around the code. Taking too little fails a right answer,
and taking prose makes it a syntax error; both would be counted against the model. What the answer defines beside the
target comes along: the splicer takes by name what the target needs. `docs/extraction.md` states the rules for ambiguous
answers. Code that parses is never repaired, nor cut at fences or tags, which stand in its strings.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dlbench.extraction import syntax
from dlbench.extraction.fences import from_blocks, from_foreign, split, tags_to_fences
from dlbench.extraction.reasoning import without_reasoning
from dlbench.extraction.structured import cut_json, is_json, unpack_json
from dlbench.extraction.syntax import Reading
from dlbench.extraction.unfenced import from_text

_MAX_STRINGS = 20


@dataclass(frozen=True)
class Extraction:
    """`reason` says where the code was, or why there is none; `truncated`: the answer stops in the middle.

    `other_names` lists the functions that the code defines instead of the target, closest name first. It is empty where
    the code defines the target or is only a body.
    """

    code: str | None
    reason: str
    truncated: bool = False
    other_names: tuple[str, ...] = ()


def extract(answer: str, qualname: str) -> Extraction:
    """The Python code in `answer` for the target `qualname` (`f`, `Class.method`); never raises."""
    text = answer.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    if syntax.is_code(text):
        return _report(Reading(text, "the whole text, which has no fence"), qualname)
    visible, is_open = without_reasoning(text)
    if not visible.strip():
        empty = "there is reasoning and no answer" if text.strip() else "the answer is empty"
        return Extraction(None, "the reasoning never ends" if is_open else empty, is_open)
    found = _find(visible, qualname)
    if found is None:
        return Extraction(None, "the answer holds no Python code", is_open)
    return _report(replace(found, cut=found.cut or is_open), qualname)


def _find(text: str, qualname: str) -> Reading | None:
    """The plainest reading with the whole target; else with an empty body; else one that begins it; else any."""
    found: list[Reading] = []
    stubs: list[Reading] = []
    for reading in _readings(tags_to_fences(text), qualname):
        if reading is None:
            continue
        if reading.code is not None and syntax.has_target(reading.code, qualname):
            if not syntax.is_stub(reading.code, qualname):
                return reading
            stubs.append(reading)
        found.append(reading)
    with_code = [one for one in found if one.code is not None]
    begun = [one for one in with_code if syntax.mentions(one.code or "", qualname)]
    return next(iter([*stubs, *begun, *with_code, *found]), None)


def _readings(text: str, qualname: str) -> Iterator[Reading | None]:
    """All readings of an answer, plainest first."""
    if is_json(text):
        # Fences in it are those of its strings, drafts among them.
        yield _from_json(text, qualname)
        return
    blocks, outside = split(text)
    yield from_blocks(blocks, qualname)
    yield from from_foreign(blocks, qualname)
    if syntax.mentions(outside, qualname) and not any(syntax.mentions(block.text, qualname) for block in blocks):
        # Fences after unfenced code may belong to its docstring, which must stay whole.
        yield from_text(text, qualname)
    yield from_text(outside, qualname)
    yield _from_json(text, qualname)


def _from_json(text: str, qualname: str) -> Reading | None:
    """The last string that has the target, preferably under a key for code; else the first under such a key."""
    best: tuple[int, Reading] | None = None
    strings = unpack_json(text)
    imports = [code for string in strings if string.is_imports and (code := extract(string.text, qualname).code)]
    for string in strings[-_MAX_STRINGS:]:
        inner = extract(string.text, qualname)
        if inner.code is None:
            continue
        has_target = syntax.has_target(inner.code, qualname)
        rank = 2 * has_target + string.is_named
        if rank and (best is None or rank > best[0] or (has_target and rank == best[0])):
            code = "\n\n".join([*imports, inner.code]) if has_target else inner.code
            best = rank, Reading(code, f"JSON: {inner.reason}", inner.truncated)
    if best is None and (beginning := cut_json(text)) is not None:
        inner = extract(f"```python\n{beginning}", qualname)
        return Reading(inner.code, f"JSON: {inner.reason}", True) if inner.code is not None else None
    return best[1] if best is not None else None


def _report(found: Reading, qualname: str) -> Extraction:
    if found.code is None:
        return Extraction(None, found.reason, found.cut)
    code = found.code.strip("\n").rstrip()
    tree = syntax.parse(code)
    others = syntax.find_other_names(tree, qualname) if tree is not None and not syntax.returns(tree) else ()
    reason = f"{found.reason}; it defines {', '.join(others[:3])}, not {qualname}" if others else found.reason
    return Extraction(code, reason, found.cut, others)
