"""What does a person need to read to judge a function? Its code and the code of its tests, from the project's own tree.

Read when it is asked for and never stored: the code is somebody else's. A tree that holds another version than the one
measured is refused, or people would label a function that nobody will ask for.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import TypedDict

from dlbench.construction.labelling.catalogue import Entry
from dlbench.dataset.target import TargetError, find_target
from dlbench.errors import DLBenchError


class TestCode(TypedDict):
    id: str
    code: str


class Source(TypedDict):
    code: str
    tests: list[TestCode]


ReadSource = Callable[[str], Source]


def read_source(entry: Entry, tree: Path) -> Source:
    """Raises DLBenchError where the tree does not hold the function as it was measured."""
    try:
        target = find_target(_read(tree, entry.function["path"]), entry.function["qualname"])
    except (OSError, UnicodeDecodeError, SyntaxError, TargetError) as error:
        what, mend = f"the function cannot be read: {error}", "give the tree that was measured"
        raise DLBenchError(what, where=f"{tree}: {entry.id}", mend=mend) from None
    if target.sha256 != entry.function.get("sha256", target.sha256):
        what, mend = "the tree holds another version of the function", "give the tree that was measured"
        raise DLBenchError(what, where=f"{tree}: {entry.id}", mend=mend)
    cases = Counter(test.split("[", 1)[0] for test in entry.tests)
    return {"code": dedent(target.text), "tests": [_read_test(tree, test, count) for test, count in cases.items()]}


def _read_test(tree: Path, test: str, count: int) -> TestCode:
    path, _, name = test.partition("::")
    try:
        code = dedent(find_target(_read(tree, path), name.replace("::", ".")).text)
    except TargetError:
        code = "# not written out here: the test is inherited, generated or imported"
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        code = f"# cannot be read: {error}"
    return {"id": test if count == 1 else f"{test} ({count} cases)", "code": code}


def _read(tree: Path, inner: str) -> str:
    path = (tree / inner).resolve()
    if not path.is_relative_to(tree.resolve()):
        raise FileNotFoundError(f"{inner} lies outside of the tree")
    return path.read_text(encoding="utf-8")
