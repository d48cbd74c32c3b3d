"""The dataset card: all of it is computed from the records, so that it cannot contradict the dataset."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from statistics import median

from dlbench.dataset import AXES, Benchmark, Instance
from dlbench.dataset.file_task import KINDS, FileTask
from dlbench.dataset.statistics import Attempt, Statistics, mutation_score, summarise
from dlbench.dataset.tracks import TrackInstance, find_labels, read_tasks
from dlbench.reporting.tables import Tabled, tabulate, to_markdown

Bins = Sequence[float]
LOC_BINS = (5, 8, 12, 16, 20, 30, 50, 80, math.inf)
TEST_BINS = (3, 5, 8, 12, 20, 31, math.inf)
SCORE_BINS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.01)


def render_card(
    benchmark: Benchmark, instances: Sequence[Instance], figures: Statistics, attempts: Sequence[Attempt]
) -> str:
    """Markdown. `figures`: as `describe` gives them, with `alpha`."""
    parts = [
        f"{figures['instances']} instances from {figures['projects']} projects (version {figures['version']})."
        f" {figures['methods']} of them are methods; {figures['after_2025_06']} first appeared after 2025-06-01.",
        _table(["", "median"], [
            ["lines of code of the reference", figures["loc_median"]],
            ["cyclomatic complexity", figures["cyclomatic_median"]],
            ["cognitive complexity", figures["cognitive_median"]],
            ["tests", figures["tests_median"]],
            ["mutation score", figures["mutation_score_median"]],
        ]),
        f"{figures['loc_over_20']} references have more than 20 lines of code. {_describe_mutants(figures)}",
        *_describe_plus(figures),
    ]  # fmt: skip
    parts += [f"### By {name}\n\n" + _count(name, figures[name]) for name in (*AXES, "framework")]
    parts += ["### Projects\n\n" + _list_projects(benchmark, figures["project"])]
    parts += [
        "### Agreement of the annotators\n\n" + _table(["axis", "Krippendorff's alpha"], figures["alpha"].items())
    ]
    for track in KINDS:
        if tasks := read_tasks(benchmark.root, track):
            title = f"### {track.capitalize()} tasks\n\n"
            parts += [title + _table(*tabulate_records(tasks.values(), benchmark))]
    parts += [benchmark.origin] if benchmark.origin else []
    parts += ["### Solved from the prompt alone\n\n" + _describe_solving(attempts, instances)]
    return "\n\n".join(parts) + "\n"


def tabulate_records(instances: Iterable[TrackInstance], benchmark: Benchmark) -> Tabled:
    """One row per task, by lines to write, with its labels or the most frequent ones of the functions inside."""
    records = [one for one in instances if isinstance(one, FileTask)]
    functions = benchmark.instances.values()
    return tabulate(sorted(records, key=lambda one: one.lines), {
        "task": lambda one: one.id,
        "lines": lambda one: one.lines,
        "files": lambda one: len(one.files),
        "definitions": lambda one: one.definitions,
        "visible tests": lambda one: len(one.visible),
        "hidden tests": lambda one: len(one.hidden),
        "labels": lambda one: ", ".join(find_labels(one, functions).values()),
    })  # fmt: skip


def find_distributions(instances: Sequence[Instance], figures: Statistics) -> dict[str, dict[str, int]]:
    """What plots show: counts by name, for labels, and by bins, for sizes."""
    found = {axis: dict(figures[axis]) for axis in (*AXES, "framework", "year")}
    found["lines of code"] = _bin(instances, lambda one: one.measures.loc, LOC_BINS)
    found["tests"] = _bin(instances, lambda one: len(one.tests), TEST_BINS)
    found["mutation score"] = _bin(instances, mutation_score, SCORE_BINS)
    if figures["plus_score"]:
        for name, key in (("by tests alone", "plus_score_by_tests"), ("with further inputs", "plus_score")):
            found[f"mutation score {name}"] = _bin_values(figures[key], SCORE_BINS)
    return found


def _bin(instances: Sequence[Instance], measure: Callable[[Instance], float | None], bins: Bins) -> dict[str, int]:
    """Bins include their lower end and exclude their upper one."""
    return _bin_values([value for one in instances if (value := measure(one)) is not None], bins)


def _bin_values(values: Sequence[float], bins: Bins) -> dict[str, int]:
    return {
        f"{low:g} or more" if high == math.inf else f"{low:g} to {high:g}": sum(low <= value < high for value in values)
        for low, high in pairwise(bins)
    }


def _describe_mutants(figures: Statistics) -> str:
    if figures["mutants_most"] is None:
        return "The mutation score was not measured."
    least, most = figures["mutation_score_least"], figures["mutants_most"]
    return f"Mutation scores use at most {most} mutants of the reference; the lowest is {least}."


def _describe_plus(figures: Statistics) -> list[str]:
    if not figures["plus"]:
        return []
    lines = [f"{figures['plus']} instances have further inputs, {figures['plus_inputs_median']:g} at the median."]
    if figures["plus_score"]:
        by_tests, both = (sorted(figures[key]) for key in ("plus_score_by_tests", "plus_score"))
        tenth = len(both) // 10
        count, mutants = figures["plus_measured"], figures["plus_mutants"]
        lines += [
            f"On {count} instances, {mutants:,} mutants were judged with and without them.",
            f"The median mutation score is {median(by_tests):.2f} by the tests alone and {median(both):.2f}",
            f"with further inputs, the 10th percentile {by_tests[tenth]:.2f} and {both[tenth]:.2f}.",
        ]
    return [" ".join(lines)]


def _describe_solving(attempts: Sequence[Attempt], instances: Sequence[Instance]) -> str:
    found = summarise(attempts, instances)
    if not found.tried:
        return "Nobody has tried yet."
    first, final = (f"{count} ({count / found.tried:.0%})" for count in (found.first, found.final))
    return (
        f"{found.tried} instances were tried: {first} were solved at the first try, {final} in the end."
        f" {found.repaired} prompts were fixed."
    )


def _list_projects(benchmark: Benchmark, counts: dict[str, int]) -> str:
    rows = []
    for name, count in counts.items():
        project = benchmark.projects[name]
        rows.append([name, project.version, project.released, project.license, count])
    return _table(["project", "version", "released", "licence", "instances"], rows)


def _count(name: str, counts: dict[str, int]) -> str:
    total = sum(counts.values()) or 1
    return _table([name, "instances"], [[key, f"{n} ({n / total:.0%})"] for key, n in counts.items()])


def _table(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    cells = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    return "\n".join(to_markdown((list(columns), cells)))
