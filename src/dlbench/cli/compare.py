"""The command `compare`: does one model do better than another, or was it lucky?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.app import Chosen, JsonOption, command
from dlbench.cli.report import read_compared_runs
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.scoring import BenchmarkComparison, Comparison


@command("compare")
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, two or more.")],
    chosen: Chosen,
    first: Annotated[bool, typer.Option("--first", help="Each against the first only, not every pair.")] = False,
    instances: Annotated[
        bool, typer.Option("--instances", help="Name every instance that only one of a pair solves.")
    ] = False,
    other: Annotated[
        Path | None,
        typer.Option(help='Scores of the same runs on another benchmark, {"run": 0.53}: Cohen\'s d, Fisher, Spearman.'),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare runs instance by instance: exact paired tests, effect sizes, and what only one of two solves."""
    from dlbench.scoring import compare as compare_tallies

    sides = read_compared_runs(runs, chosen)
    found = compare_tallies(sides.tallies, chosen.benchmark, only_first=first)
    against = _set_against(other, found) if other else None
    if json:
        from dlbench.cli.output import print_json

        told = {"warnings": sides.warnings, "outside_the_choice": sides.outside}
        print_json({"comparison": found, **told, "against": against})
        return
    for line in sides.warnings:
        typer.echo(f"{line}\n")
    if sides.outside:
        typer.echo(f"{sides.outside} instances that were judged lie outside the choice")
    _print(found, against, str(other), every_instance=instances)


def _print(found: "Comparison", against: "BenchmarkComparison | None", other: str, *, every_instance: bool) -> None:
    from dlbench.cli.output import open_console
    from dlbench.reporting.comparison import describe_benchmark, describe_instances, describe_pairs, tabulate_runs
    from dlbench.reporting.tables import draw

    for line in describe_instances(found):
        typer.echo(line)
    open_console().print(draw("standings", tabulate_runs(found)))
    for line in describe_pairs(found, every_instance=every_instance):
        typer.echo(line)
    if against:
        typer.echo(describe_benchmark(other, against))


def _set_against(path: Path, found: "Comparison") -> "BenchmarkComparison":
    from dlbench.scoring import compare_benchmarks

    scores = _read_scores(path)
    here = {one.name: one.pass_at_1 for one in found.standings}
    missing = [name for name in here if name not in scores]
    if missing:
        known = ", ".join(scores) or "none"
        raise DLBenchError(
            f"has no score of {', '.join(missing)} (it has: {known})",
            where=str(path),
            fix="name every run as this command names it",
        )
    return compare_benchmarks(list(here.values()), [scores[name] for name in here])


def _read_scores(path: Path) -> dict[str, float]:
    """Shares from 0 to 1; where one is above 1, all are taken as percents."""
    import json

    fix = 'write {"name of a run": its score, …}, all from 0 to 1 or all in percent'
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        scores = {str(name): float(score) for name, score in read.items()}
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=str(path), fix="check the path") from None
    except (ValueError, TypeError, AttributeError):
        raise DLBenchError("not a file of scores", where=str(path), fix=fix) from None
    if not all(0 <= score <= 100 for score in scores.values()):
        raise DLBenchError("a score lies outside 0 to 100", where=str(path), fix=fix)
    scale = 100 if max(scores.values(), default=0) > 1 else 1
    return {name: score / scale for name, score in scores.items()}
