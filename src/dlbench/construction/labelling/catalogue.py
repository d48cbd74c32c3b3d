"""List the admissible functions to label and review, and read their code.

Only admissible functions are shown: labelling others would waste three people's time. The code of a function and of its
tests is read from the project's tree on demand and never stored, since it belongs to somebody else. A tree with another
version than the measured one is rejected.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import TypedDict

from dlbench.construction.work_folder import Row, WorkFolder
from dlbench.dataset.records import strip_case
from dlbench.dataset.target import TargetError, find_target
from dlbench.errors import DLBenchError


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
        return list(self.measured.get("tests") or [])


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
    functions = _by_id(work, "functions", project)
    drafts = _by_id(work, "drafts", project) if work.has("drafts", project) else {}
    for key, measured in _by_id(work, "measured", project).items():
        if measured.get("admissible") is not True:
            continue
        if key not in functions:
            where, fix = str(work.path("functions", project)), "repeat the steps extract and admit, in this order"
            raise DLBenchError(f"{key} was measured but is not among the functions", where=where, fix=fix)
        draft = drafts.get(key, {})
        yield Entry(key, functions[key], measured, str(draft.get("prompt") or ""), str(draft.get("by") or ""))


def _by_id(work: WorkFolder, step: str, project: str) -> dict[str, Row]:
    rows = work.read(step, project)
    for number, row in enumerate(rows, 1):
        if not isinstance(row.get("id"), str):
            where = f"{work.path(step, project)}:{number}"
            raise DLBenchError("a row without an id", where=where, fix=f"repeat the step that writes {step}.jsonl")
    return {row["id"]: row for row in rows}


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
