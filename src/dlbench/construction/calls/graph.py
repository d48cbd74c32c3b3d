"""Which test comes to which function of the project, found without running anything?

What it finds is a guess: the run tells. It serves where tests cannot be run, and says how far a benchmark goes wrong
that trusts the text alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dlbench.construction.calls.follow import Follower
from dlbench.construction.calls.sources import Sources
from dlbench.construction.calls.tests import WrittenTest, find_written
from dlbench.construction.calls.things import Bound, Lookup


@dataclass(frozen=True)
class Reach:
    """Functions as "path::qualname". `direct`: called by test code, with no function of the project between."""

    direct: frozenset[str]
    all: frozenset[str]


@dataclass(frozen=True)
class Graph:
    """`is_complete`: whether everything was followed to its end within the budget."""

    tests: dict[str, Reach]
    is_complete: bool


def build_graph(tree: Path, import_root: str, test_files: Iterable[str]) -> Graph:
    sources = Sources(tree, import_root)
    lookup = Lookup(sources)
    modules = [sources.by_path[path] for path in test_files if path in sources.by_path]
    tests = [test for module in modules for test in find_written(lookup, module)]
    follower = Follower(lookup)
    for test in tests:
        follower.follow([test.bound, *test.around])
    return Graph({test.id: _reach(follower, test) for test in tests}, follower.is_complete)


def list_written(tree: Path, import_root: str, test_files: list[str]) -> dict[str, list[str]]:
    """The tests that the text of each file holds, for files that pytest cannot collect."""
    if not test_files:
        return {}
    sources = Sources(tree, import_root)
    lookup = Lookup(sources)
    known = {path: sources.by_path.get(path) for path in test_files}
    return {
        path: [test.id for test in find_written(lookup, module)] if module else [] for path, module in known.items()
    }


def _reach(follower: Follower, test: WrittenTest) -> Reach:
    direct: set[str] = set()
    found: set[Bound] = set()
    waiting = [test.bound, *test.around]
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found.add(node)
        for callee in follower.edges.get(node, ()):
            if node.function.module.is_test_code and not callee.function.module.is_test_code:
                direct.add(callee.function.id)
            waiting.append(callee)
    every = {node.function.id for node in found if not node.function.module.is_test_code}
    return Reach(frozenset(direct), frozenset(every))
