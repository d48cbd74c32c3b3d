"""How long and how tangled is the code that a benchmark asks for?

Measured by one program for all of them: figures of two papers differ by what their tools count. Lines are lines with
code, without docstrings, comments and blank ones; cyclomatic is radon's figure, cognitive complexipy's, and statements
that are no function count as they stand. What does not parse is named, not counted as nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from dlbench.analysis.corpora import Corpus
from dlbench.analysis.spread import Figures, count_bins, find_figures
from dlbench.construction.screening.complexity import FunctionMeasures, measure_function, measure_snippet
from dlbench.errors import DLBenchError

MEASURES = ("lines", "cyclomatic", "cognitive", "nesting", "calls")
BINS: dict[str, tuple[int, ...]] = {
    "lines": (0, 2, 4, 6, 11, 21, 41, 81),
    "cyclomatic": (0, 2, 3, 4, 6, 11, 21),
    "cognitive": (0, 1, 2, 4, 6, 11, 21, 41),
    "nesting": (0, 1, 2, 3, 4, 5),
    "calls": (0, 1, 2, 4, 6, 11, 21, 41),
}
"""Where a bin begins; the last is open."""


@dataclass(frozen=True)
class Complexity:
    """Of one dataset."""

    name: str
    items: int
    without_code: int
    """Items whose reference is not at hand."""
    unparsed: tuple[str, ...]
    """Items whose reference does not parse."""
    figures: Mapping[str, Figures]
    """By measure."""
    bins: Mapping[str, tuple[float, ...]]
    """By measure, the share of references in each of `BINS`."""


def measure_complexity(corpus: Corpus, on_item: Callable[[str], None] = lambda name: None) -> Complexity:
    check_tools()
    measured: list[FunctionMeasures] = []
    unparsed: list[str] = []
    for item, code in corpus.with_code:
        try:
            measured.append(measure_code(code))
        except DLBenchError:
            unparsed.append(item.id)
        on_item(item.id)
    values = {name: [float(_read(one, name)) for one in measured] for name in MEASURES}
    return Complexity(
        name=corpus.name,
        items=len(corpus.items),
        without_code=sum(item.code is None for item in corpus.items),
        unparsed=tuple(unparsed),
        figures={name: find_figures(found) for name, found in values.items()},
        bins={name: tuple(count_bins(found, BINS[name])) for name, found in values.items()},
    )


def measure_code(code: str) -> FunctionMeasures:
    """As a function where it is one, as statements otherwise."""
    try:
        return measure_function(code)
    except DLBenchError:
        return measure_snippet(code)


def check_tools() -> None:
    for package in ("radon", "complexipy"):
        if find_spec(package) is None:
            raise DLBenchError(f"the package {package} is not installed", mend="pip install 'dlbench[analysis]'")


def _read(measures: FunctionMeasures, name: str) -> int:
    return int(getattr(measures, "loc" if name == "lines" else name))
