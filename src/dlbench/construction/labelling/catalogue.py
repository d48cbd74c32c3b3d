"""List the admissible functions to label and review, and read their code.

The code of a function and of its tests is read from the project's tree on demand and never stored, since it belongs to
somebody else.
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
