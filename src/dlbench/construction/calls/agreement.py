"""How right is the static graph? Its precision and recall against what ran.

Over the tests that both know and that passed: of the functions that the graph says a test comes to, how many it ran; of
those that it ran, how many the graph says. Cases of one parametrised test are one test here, as they are in the text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from dlbench.construction.calls.graph import Graph
from dlbench.construction.choose_tests import strip_case
from dlbench.construction.trace import TracedTest
from dlbench.construction.work_folder import Row


@dataclass(frozen=True)
class Agreement:
    """`said` and `ran` count pairs of a test and a function; `both` those in the graph and in the run."""

    said: int
    ran: int
    both: int

    @property
    def precision(self) -> float:
        return self.both / self.said if self.said else float("nan")

    @property
    def recall(self) -> float:
        return self.both / self.ran if self.ran else float("nan")


@dataclass(frozen=True)
class Comparison:
    """`tests` were compared; `unwritten` ran and are not in the text, being made at run time. `is_complete`: whether
    the graph was followed to its end."""

    tests: int
    unwritten: int
    direct: Agreement
    all: Agreement
    is_complete: bool

    def to_row(self) -> Row:
        return asdict(self)

    @staticmethod
    def from_row(row: Row) -> "Comparison":
        return Comparison(**(row | {key: Agreement(**row[key]) for key in ("direct", "all")}))


def compare(graph: Graph, tests: Iterable[TracedTest], functions: Mapping[int, str]) -> Comparison:
    """`functions`: those that the run knows, as "path::qualname" by their numbers; no others count."""
    ran_direct: dict[str, set[str]] = {}
    ran: dict[str, set[str]] = {}
    unwritten: set[str] = set()
    for test in tests:
        if test.outcome != "passed":
            continue
        name = _find_written(strip_case(test.id), graph)
        if name is None:
            unwritten.add(strip_case(test.id))
            continue
        own = {functions[number] for number in test.direct if number in functions}
        ran_direct.setdefault(name, set()).update(own)
        inner = {functions[number] for number in test.deeper if number in functions}
        ran.setdefault(name, set()).update(own | inner)
    return Comparison(
        len(ran),
        len(unwritten),
        _count({name: graph.tests[name].direct for name in ran}, ran_direct),
        _count({name: graph.tests[name].all for name in ran}, ran),
        graph.is_complete,
    )


def _find_written(name: str, graph: Graph) -> str | None:
    """absl and unittest's expanders put a number or a word behind the name that is written."""
    least = name.rfind("::") + len("::test") + 1
    return next((name[:end] for end in range(len(name), least, -1) if name[:end] in graph.tests), None)


def _count(said: Mapping[str, Iterable[str]], ran: Mapping[str, set[str]]) -> Agreement:
    both = sum(len(ran.get(name, set()) & set(found)) for name, found in said.items())
    return Agreement(sum(len(set(found)) for found in said.values()), sum(map(len, ran.values())), both)
