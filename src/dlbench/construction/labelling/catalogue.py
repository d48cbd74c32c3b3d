"""List the admissible functions to label and review, read their code, and let a model draft prompts for them.

The code of a function and of its tests is read from the project's tree on demand and never stored, since it belongs to
somebody else. A draft is never a benchmark prompt: it may quote its source and may be wrong. It carries a marker, and
`dlbench check` rejects an instance whose prompt has the marker.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import TypedDict

from dlbench.construction import Row, WorkFolder
from dlbench.dataset.leakage import UNREVIEWED, find_leaks
from dlbench.dataset.records import strip_case
from dlbench.dataset.target import TargetError, fenced, find_target
from dlbench.errors import DLBenchError
from dlbench.generation.model import Message, Request
from dlbench.generation.retry import RateLimiter
from dlbench.jsonl import Journal
from dlbench.parsing import parse


@dataclass(frozen=True)
class Entry:
    id: str
    function: Row
    measured: Row
    draft: str
    drafted_by: str

    @property
    def project(self) -> str:
        return self.id.partition("/")[0]

    @property
    def tests(self) -> list[str]:
        return list(self.measured["tests"])


def read_catalogue(work: WorkFolder) -> dict[str, Entry]:
    """Entries by id, in file order; projects that are not measured yet are omitted."""
    return {
        entry.id: entry
        for project in work.projects()
        if work.has("measured", project)
        for entry in _read_project(work, project)
    }


def list_files(work: WorkFolder) -> list[Path]:
    """The files that the catalogue is read from, whether they exist yet or not."""
    return [work.path(step, project) for project in work.projects() for step in ("functions", "measured", "drafts")]


def _read_project(work: WorkFolder, project: str) -> Iterator[Entry]:
    functions = work.read_by_id("functions", project)
    drafts = work.read_by_id("drafts", project) if work.has("drafts", project) else {}
    for key, measured in work.read_by_id("measured", project).items():
        if not measured["admissible"]:
            continue
        if key not in functions:
            where, fix = str(work.path("functions", project)), "repeat the steps extract and admit, in this order"
            raise DLBenchError(f"{key} was measured but is not among the functions", where=where, fix=fix)
        draft = drafts.get(key, {"prompt": "", "by": ""})
        yield Entry(key, functions[key], measured, draft["prompt"], draft["by"])


class TestCode(TypedDict):
    id: str
    code: str


class Source(TypedDict):
    code: str
    tests: list[TestCode]


ReadSource = Callable[[str], Source]


def read_source(entry: Entry, tree: Path) -> Source:
    """Raises DLBenchError if the tree does not contain the function as it was measured."""
    try:
        target = find_target(_read(tree, entry.function["path"]), entry.function["qualname"])
    except (OSError, UnicodeDecodeError, SyntaxError, TargetError) as error:
        what, fix = f"the function cannot be read: {error}", "give the tree that was measured"
        raise DLBenchError(what, where=f"{tree}: {entry.id}", fix=fix) from None
    if target.sha256 != entry.function.get("sha256", target.sha256):
        what, fix = "the tree has another version of the function", "give the tree that was measured"
        raise DLBenchError(what, where=f"{tree}: {entry.id}", fix=fix)
    cases = Counter(strip_case(test) for test in entry.tests)
    return {"code": dedent(target.text), "tests": [_read_test(tree, test, count) for test, count in cases.items()]}


def _read_test(tree: Path, test: str, count: int) -> TestCode:
    path, _, name = test.partition("::")
    try:
        code = dedent(find_target(_read(tree, path), name.replace("::", ".")).text)
    except TargetError:
        code = "# not defined in this file: the test is inherited, generated or imported"
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        code = f"# cannot be read: {error}"
    return {"id": test if count == 1 else f"{test} ({count} cases)", "code": code}


def _read(tree: Path, inner: str) -> str:
    path = (tree / inner).resolve()
    if not path.is_relative_to(tree.resolve()):
        raise FileNotFoundError(f"{inner} is outside the tree")
    return path.read_text(encoding="utf-8")


_INSTRUCTIONS = """\
Describe what this function does, so that a person who knows deep learning but not this project could write it from your
description alone. Say in plain sentences: what it computes and why it is there; each parameter with its type, shape and
default; what it returns, with type and shape; which errors it raises and when; boundary cases; conventions that its
callers rely on. Use between 40 and 250 words. Do not quote code and do not copy the documentation.
"""


async def draft_prompt(limiter: RateLimiter, row: Row, source: str) -> Row:
    """Write a draft and list what it copied. `source` is the function's module."""
    module = parse(source)
    target = find_target(source, row["qualname"], module)
    question = f"{_INSTRUCTIONS}\nFunction `{row['qualname']}` of {row['path']}:\n\n{fenced(target.text)}"
    messages: list[Message] = [
        {"role": "system", "content": "You write precise specifications of Python functions."},
        {"role": "user", "content": question},
    ]
    answer = await limiter.ask(Request(instance_id=row["id"], sample=0, messages=messages, max_tokens=400))
    text = answer.text.strip()
    copied = [leak.what for leak in find_leaks(text, module, target)]
    return {"id": row["id"], "prompt": UNREVIEWED + text, "by": limiter.model.name, "taken": copied}


async def draft_project(
    work: WorkFolder,
    project: str,
    tree: Path,
    limiter: RateLimiter,
    *,
    most: int | None,
    on_draft: Callable[[str], None],
) -> int:
    """Draft what is missing, saving each draft at once. Returns the number of drafts that exist."""
    measured = work.read_by_id("measured", project)
    rows = [row for row in work.read("functions", project) if measured.get(row["id"], {}).get("admissible")]
    with Journal(work.path("drafts", project)) as journal:
        known = {row["id"] for row in journal.records()}
        for row in [row for row in rows if row["id"] not in known][:most]:
            source = (tree / row["path"]).read_text(encoding="utf-8")
            journal.append(await draft_prompt(limiter, row, source))
            known.add(row["id"])
            on_draft(row["id"])
    return len(known)
