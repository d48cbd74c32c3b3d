"""Which code did the model mean?

A raw answer holds reasoning, prose, fences, drafts and examples around the code. Taking too little makes a right answer
fail, and taking prose makes it a syntax error; both would be counted against the model. What the answer defines beside
the target comes along: the splicer takes by name what the target needs.

Where an answer can be read in two ways:
- Several blocks define the target: all of them are kept in order, and the splicer takes the last that has a body.
  Models correct themselves downwards; a signature that is only restated never wins, wherever the function is.
- The code parses as it stands: it is never fixed, however odd. Text that is Python as a whole is never cut at fences
  or tags, which then stand in its strings.
- A block of another language, a diff, JSON: looked into only where nothing plainer defines the target.
- The target is there under another name only: the code is given back as it is and `others` says so. It is not renamed.
- Some of the target's lines are missing (cut off, or outside a diff's hunks): a whole part before the cut is never
  passed off as the function.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dlbench.extraction import syntax
from dlbench.extraction.fences import from_blocks, from_foreign, split
from dlbench.extraction.reasoning import without_reasoning
from dlbench.extraction.repairs import has_entities, unpack_tags
from dlbench.extraction.structured import String, cut_json, is_json, unpack_json, unpack_loose
from dlbench.extraction.syntax import Reading
from dlbench.extraction.unfenced import from_text

_MOST_STRINGS = 20


@dataclass(frozen=True)
class Extraction:
    """`reason` says where the code was, or why there is none; `truncated`: the answer stops in the middle.

    `others` names the functions that the code defines in the target's stead, nearest name first, and is empty where it
    defines the target or is only a body.
    """

    code: str | None
    reason: str
    truncated: bool = False
    others: tuple[str, ...] = ()


def extract(answer: str, qualname: str) -> Extraction:
    """The Python code in `answer` for the target `qualname` (`f`, `Class.method`); never raises."""
    text = _with_plain_line_ends(answer)
    if _stands_as_it_is(text):
        return _report(Reading(text, "the whole text, which has no fence"), qualname)
    said, endless = without_reasoning(text)
    if not said.strip():
        return Extraction(None, _say_empty(text, endless), endless)
    found = _find(said, qualname)
    if found is None:
        return Extraction(None, "the answer holds no Python code", endless)
    return _report(replace(found, cut=found.cut or endless), qualname)


def _with_plain_line_ends(answer: str) -> str:
    return answer.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")


def _stands_as_it_is(text: str) -> bool:
    tree = syntax.parse(text)
    return tree is not None and syntax.is_code(tree) and not has_entities(text)


def _say_empty(text: str, endless: bool) -> str:
    if endless:
        return "the reasoning never ends"
    return "there is reasoning and no answer" if text.strip() else "the answer is empty"


def _find(text: str, qualname: str) -> Reading | None:
    """The plainest reading that has the target whole; else with an empty body; else one that begins it; else any."""
    found: list[Reading] = []
    stubs: list[Reading] = []
    for reading in _readings(unpack_tags(text), qualname):
        if reading is None:
            continue
        if reading.code is not None and syntax.has_target(reading.code, qualname):
            if not syntax.is_stub(reading.code, qualname):
                return reading
            stubs.append(reading)
        found.append(reading)
    begun = [one for one in found if one.code is not None and syntax.mentions(one.code, qualname)]
    some = [one for one in found if one.code is not None]
    return next(iter([*stubs, *begun, *some, *found]), None)


def _readings(text: str, qualname: str) -> Iterator[Reading | None]:
    """The ways to read an answer, plainest first."""
    if is_json(text):
        # Fences in it are those of its strings, a draft's among them.
        yield _find_in_json(text, qualname)
        return
    blocks, outside = split(text)
    yield from_blocks(blocks, qualname)
    yield from from_foreign(blocks, qualname)
    if syntax.mentions(outside, qualname) and not any(syntax.mentions(block.text, qualname) for block in blocks):
        # Fences after code that has none may be those of its docstring, which is to stay whole.
        yield from_text(text, qualname)
    yield from_text(outside, qualname)
    yield _find_in_json(text, qualname)


def _find_in_json(text: str, qualname: str) -> Reading | None:
    """Code in the strings of JSON, or of what was meant as such."""
    found = _find_in_strings(unpack_json(text), qualname)
    if found is None or not syntax.has_target(found.code or "", qualname):
        loose = _find_in_strings(unpack_loose(text), qualname)
        found = loose if loose is not None and syntax.has_target(loose.code or "", qualname) else found
    if found is None and (beginning := cut_json(text)) is not None:
        inner = extract(f"```python\n{beginning}", qualname)
        found = Reading(inner.code, f"JSON: {inner.reason}", True) if inner.code is not None else None
    return found


def _find_in_strings(strings: list[String], qualname: str) -> Reading | None:
    """Each read like an answer: the last that has the target, of those under a name for code if there are such; else
    the first under such a name."""
    best: tuple[int, Reading] | None = None
    imports = [code for string in strings if string.is_imports and (code := extract(string.text, qualname).code)]
    for string in strings[-_MOST_STRINGS:]:
        inner = extract(string.text, qualname)
        if inner.code is None:
            continue
        has_target = syntax.has_target(inner.code, qualname)
        rank = 2 * has_target + string.is_named
        if rank and (best is None or rank > best[0] or (has_target and rank == best[0])):
            code = "\n\n".join([*imports, inner.code]) if has_target else inner.code
            best = rank, Reading(code, f"JSON: {inner.reason}", inner.truncated)
    return best[1] if best is not None else None


def _report(found: Reading, qualname: str) -> Extraction:
    if found.code is None:
        return Extraction(None, found.reason, found.cut)
    code = found.code.strip("\n").rstrip()
    tree = syntax.parse(code)
    others = syntax.find_others(tree, qualname) if tree is not None and not syntax.returns(tree) else ()
    reason = f"{found.reason}; it defines {', '.join(others[:3])}, not {qualname}" if others else found.reason
    return Extraction(code, reason, found.cut, others)
