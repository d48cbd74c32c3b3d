"""The commands that study scores: how benchmarks stand to one another, and whether a ranking holds."""

from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.analyze import PicturesOption, analyze, show, write_pictures
from dlbench.cli.app import Chosen, JsonOption, command
from dlbench.cli.sides import read_sides


@command("statistics", analyze)
def statistics(
    scores: Annotated[Path, typer.Argument(help="CSV: a first line `model,benchmark,…`, then a model a line.")],
    pictures: PicturesOption = None,
    json: JsonOption = False,
) -> None:
    """How do benchmarks stand to one another over the same models? Cohen's d, Fisher's ratio, Spearman, Kendall."""
    from dlbench.analysis.benchmark_correlation import read_scores, set_side_by_side
    from dlbench.reporting.studies import draw_benchmarks, tabulate_benchmarks

    read = read_scores(scores)
    found = set_side_by_side(read)
    show({"benchmarks": tabulate_benchmarks(found)}, [], found if json else None)
    write_pictures(pictures, draw_benchmarks(read))


@command("robustness", analyze)
def robustness(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, two or more.")],
    chosen: Chosen,
    other_split: Annotated[
        list[str] | None, typer.Option(help="Also rank on this split (repeatable); on all of them by default.")
    ] = None,
    pictures: PicturesOption = None,
    json: JsonOption = False,
) -> None:
    """Does the order of models hold with other instances, without one project or label, and on another split?"""
    from dlbench.analysis.ranking_robustness import measure_robustness
    from dlbench.reporting import studies

    sides = read_sides(runs, chosen)
    found = measure_robustness(sides.tallies, chosen.benchmark, other_split)
    tables = {
        "the order": studies.tabulate_order(found),
        "pairs, when instances are drawn anew": studies.tabulate_pairs(found),
        "the whole order, when drawn anew": studies.tabulate_resampled(found),
        "the order without one project or label": studies.tabulate_parts(found.left_out),
    }
    if found.splits:
        tables["the order on a split"] = studies.tabulate_parts(found.splits)
    left_out = {
        "that not every run has judged": len(found.not_common),
        "that met a harness error, our own fault": len(found.harness_errors),
        "outside the choice": sides.outside,
    }
    notes = [*sides.warnings, f"all of it on the {len(found.instances)} instances that every run has judged"]
    if len(found.pairs) > studies.MOST_PAIRS:
        notes.append(f"the {studies.MOST_PAIRS} least sure of {len(found.pairs)} pairs are shown; --json has them all")
    notes += [f"LEFT OUT: {count} instances {why}" for why, count in left_out.items() if count]
    show(tables, notes, found if json else None)
    write_pictures(pictures, studies.draw_robustness(found))
