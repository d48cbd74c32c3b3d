"""The commands `list`, `show` and `stats`: inspect the dataset."""

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench import dataset
from dlbench.cli.app import BenchmarkOption, Chosen, JsonOption, TrackOption, command
from dlbench.cli.output import log, open_console, print_json
from dlbench.dataset.labels import Track
from dlbench.errors import DLBenchError
from dlbench.jsonl import write_whole
from dlbench.registry import find_known

if TYPE_CHECKING:
    from dlbench.dataset.file_task import FileTask
    from dlbench.dataset.tracks import TrackBenchmark, TrackInstance


@command("list")
def list_instances(chosen: Chosen, track: TrackOption = Track.FUNCTION, json: JsonOption = False) -> None:
    """List instances, filtered by any label, project or date. Without a terminal: one id a line."""
    from dlbench.dataset.file_task import FileTask
    from dlbench.dataset.tracks import find_labels, has_functions

    benchmark, functions = chosen.open_track(track), chosen.benchmark.instances.values()
    if json:
        print_json(
            [
                one.model_dump(mode="json", exclude={"prompt"})
                | {"project": one.project, "framework": benchmark.project_of(one).framework}
                | ({"labels": find_labels(one, functions)} if isinstance(one, FileTask) else {})
                for one in benchmark.instances.values()
            ]
        )
        return
    if not sys.stdout.isatty():
        typer.echo("\n".join(benchmark.instances))
        return
    if not has_functions(benchmark):
        _draw_tasks(benchmark, chosen.benchmark)
        return
    listed = list(benchmark.instances.values())
    typer.echo("\n".join(_lay_out(listed, get_terminal_size().columns)))
    typer.echo(f"{len(listed)} instances")


def _lay_out(instances: "Sequence[dataset.Instance]", width: int) -> list[str]:
    """Rows of a table; where they do not fit, the labels go below each id: an id is never broken."""
    rows = [["instance", "stage", "task", "data", "tests", "introduced"]]
    for one in instances:
        labels = one.labels
        rows.append([one.id, labels.stage, labels.task, labels.data, str(len(one.tests)), str(one.introduced)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    beside = sum(widths) + 2 * len(widths) <= width
    facts = ["  ".join(map(str.ljust, row[1:], widths[1:])).rstrip() for row in rows]
    return [
        f"{row[0]:<{widths[0]}}  {more}" if beside else f"{row[0]}\n  {more}"
        for row, more in zip(rows, facts, strict=True)
    ]


def _draw_tasks(chosen: "TrackBenchmark", benchmark: "dataset.Benchmark") -> None:
    from dlbench.reporting.dataset_card import tabulate_records
    from dlbench.reporting.tables import draw

    open_console().print(draw(f"{chosen.track} tasks", tabulate_records(chosen.instances.values(), benchmark)))


@command("show")
def show(
    instance: Annotated[str, typer.Argument(help="Instance id.")],
    benchmark: BenchmarkOption = None,
    source: Annotated[bool, typer.Option("--source", help="Also print the reference from the fetched source.")] = False,
    json: JsonOption = False,
) -> None:
    """Show one instance: where it is, its labels, measures, prompt and tests."""
    from dlbench.dataset.file_task import FileTask
    from dlbench.dataset.statistics import mutation_score, read_attempts
    from dlbench.dataset.tracks import read_tasks
    from dlbench.generation.sources import Sources

    loaded = dataset.load(benchmark)
    known: dict[str, TrackInstance] = {**loaded.instances, **read_tasks(loaded.root)}
    found = find_known(instance, known, "instance")
    if isinstance(found, FileTask):
        _show_task(found, found.find_base(loaded.projects), source=source, json=json)
        return
    project = loaded.project_of(found)
    reference = Sources(loaded, log).reference(found.id) if source else None
    if json:
        record = found.model_dump(mode="json") | {"project": project.model_dump(mode="json")}
        print_json(record | ({"reference": reference} if reference is not None else {}))
        return
    attempts = read_attempts(loaded.root)
    passed = [one.passed for one in attempts if one.id == found.id]
    facts = {
        "project": f"{project.name} {project.version} ({project.license}, released {project.released})",
        "place": f"{found.path}: {found.qualname}",
        "introduced": str(found.introduced),
        "labels": ", ".join(f"{axis} {getattr(found.labels, axis)}" for axis in dataset.AXES),
        "framework": project.framework,
        "lines of code": found.measures.loc,
        "mutation score": None if (score := mutation_score(found)) is None else round(score, 3),
        "solved blind": (f"in {sum(passed)} of {len(passed)} attempts" if passed else "not tried")
        if attempts
        else None,
    }
    typer.echo(found.id)
    for name, value in facts.items():
        if value is not None:
            typer.echo(f"  {name:<14} {value}")
    typer.echo(f"\n{found.prompt.strip()}\n\ntests ({len(found.tests)}):")
    for test in found.tests:
        typer.echo(f"  {test}")
    if reference is not None:
        typer.echo(f"\nreference:\n{reference}")


def _show_task(record: "FileTask", project: "dataset.Project", *, source: bool, json: bool) -> None:
    if source:
        raise DLBenchError("a task of many files has no single source", fix="`dlbench prepare` fetches the release")
    if json:
        print_json(record.model_dump(mode="json") | {"project": project.model_dump(mode="json")})
        return
    typer.echo(record.id)
    typer.echo(f"  project        {project.name} {project.version} ({project.license}, released {project.released})")
    typer.echo(f"  to write       {record.lines} lines, {record.definitions} functions and methods")
    if record.description:
        typer.echo(f"\n{record.description.strip()}")
    for title in ("files", "required_names", "visible", "hidden", "unchanged"):
        names: tuple[str, ...] = getattr(record, title)
        typer.echo(f"\n{title.replace('_', ' ')} ({len(names)}):")
        for name in names:
            typer.echo(f"  {name}")


@command("stats")
def stats(
    chosen: Chosen,
    track: TrackOption = Track.FUNCTION,
    json: JsonOption = False,
    card: Annotated[bool, typer.Option("--card", help="Print the dataset card as Markdown.")] = False,
    plots: Annotated[
        Path | None, typer.Option(help="Also write plots of the distributions to this folder (SVG).")
    ] = None,
) -> None:
    """Count instances by project and label, with sizes, tests, mutation scores and annotator agreement."""
    from dlbench.construction.labelling import measure_alpha
    from dlbench.construction.labelling.votes import list_votes
    from dlbench.dataset.statistics import describe, describe_tasks
    from dlbench.dataset.tracks import has_functions

    opened = chosen.open_track(track)
    if not has_functions(opened):
        if card or plots:
            raise DLBenchError("--card and --plots are for functions", fix="leave them out")
        figures = describe_tasks(opened)
        if json:
            print_json(figures)
            return
        for name, value in figures.items():
            typer.echo(f"{name.replace('_', ' '):<22} {value}")
        _draw_tasks(opened, chosen.benchmark)
        return
    instances = list(opened.instances.values())
    found = describe(chosen.benchmark, instances)
    labels = [one.labels for one in instances]
    varied = {
        axis for axis in dataset.AXES if not getattr(chosen, axis) and len({getattr(one, axis) for one in labels}) > 1
    }
    votes = (
        replace(vote, labels={axis: label for axis, label in vote.labels.items() if axis in varied})
        for vote in list_votes(instances)
    )
    try:
        alphas = measure_alpha(votes)
    except DLBenchError as error:
        log(f"annotator agreement is left out: {error}")
        alphas = {}
    found["alpha"] = {axis: None if math.isnan(alpha) else round(alpha, 3) for axis, alpha in alphas.items()}
    if plots:
        from dlbench.reporting.charts import stand_alone
        from dlbench.reporting.charts.bars import draw_counts
        from dlbench.reporting.dataset_card import find_distributions

        plots.mkdir(parents=True, exist_ok=True)
        for name, counts in find_distributions(instances, found).items():
            chart = stand_alone(draw_counts(f"Instances by {name}", counts))
            write_whole(plots / f"{name.replace(' ', '-')}.svg", chart)
    if json:
        print_json(found)
        return
    if card:
        from dlbench.dataset.statistics import read_attempts
        from dlbench.reporting.dataset_card import render_card

        attempts = read_attempts(chosen.benchmark.root)
        typer.echo(render_card(chosen.benchmark, instances, found, attempts), nl=False)
        return
    for name, value in found.items():
        if not isinstance(value, dict | list):
            typer.echo(f"{name.replace('_', ' '):<22} {'-' if value is None else value}")
    for name, counts in found.items():
        if isinstance(counts, dict):
            typer.echo(f"\n{name}")
            for label, count in counts.items():
                typer.echo(f"  {label:<28} {'-' if count is None else count:>5}")
