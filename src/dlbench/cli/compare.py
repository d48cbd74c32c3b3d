"""The command `compare`: exact paired tests between runs."""

from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.app import Chosen, JsonOption, command
from dlbench.cli.output import open_console, print_json
from dlbench.cli.report import read_compared_runs
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.scoring import BenchmarkComparison, Comparison


@command("compare")
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, two or more.")],
    chosen: Chosen,
    first: Annotated[
        bool, typer.Option("--first", help="Compare each run with the first only, not every pair.")
    ] = False,
    instances: Annotated[
        bool, typer.Option("--instances", help="List every instance that only one run of a pair solves.")
    ] = False,
    plus: Annotated[bool, typer.Option("--plus", help="Failing on further inputs counts as failing.")] = False,
    other: Annotated[
        Path | None,
        typer.Option(help='Scores of the same runs on another benchmark, {"run": 0.53}: Cohen\'s d, Fisher, Spearman.'),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare runs instance by instance: exact paired tests, effect sizes, and instances that only one run solves."""
    from dlbench.scoring import compare as compare_tallies

    compared = read_compared_runs(runs, chosen, plus=plus)
    found = compare_tallies(compared.tallies, compared.benchmark, only_first=first)
    benchmarks = _compare_benchmarks(other, found) if other else None
    if json:
        facts = {"warnings": compared.warnings, "outside_the_choice": compared.outside}
        print_json({"comparison": found, **facts, "against": benchmarks})
        return
    from dlbench.reporting.comparison import describe_benchmark, describe_instances, describe_pairs, tabulate_runs
    from dlbench.reporting.tables import draw

    outside = [f"{compared.outside} judged instances are outside the selection"] if compared.outside else []
    for line in [*(f"{caveat}\n" for caveat in compared.warnings), *outside, *describe_instances(found)]:
        typer.echo(line)
    open_console().print(draw("runs", tabulate_runs(found)))
    for line in describe_pairs(found, every_instance=instances):
        typer.echo(line)
    if benchmarks:
        typer.echo(describe_benchmark(str(other), benchmarks))


def _compare_benchmarks(path: Path, found: "Comparison") -> "BenchmarkComparison":
    from dlbench.scoring import compare_benchmarks

    scores = _read_scores(path)
    here = {one.name: one.pass_at_1 for one in found.standings}
    if missing := [name for name in here if name not in scores]:
        what = f"has no score of {', '.join(missing)} (it has: {', '.join(scores) or 'none'})"
        raise DLBenchError(what, where=str(path), fix="name every run as this command does")
    return compare_benchmarks(list(here.values()), [scores[name] for name in here])


def _read_scores(path: Path) -> dict[str, float]:
    """Shares from 0 to 1; if one is above 1, all are percentages."""
    fix = 'write {"run name": score, …}, all from 0 to 1 or all in percent'
    try:
        read = loads(path.read_text(encoding="utf-8"))
        scores = {str(name): float(score) for name, score in read.items()}
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=str(path), fix="check the path") from None
    except (ValueError, TypeError, AttributeError):
        raise DLBenchError("not a file of scores", where=str(path), fix=fix) from None
    if not all(0 <= score <= 100 for score in scores.values()):
        raise DLBenchError("a score is outside 0 to 100", where=str(path), fix=fix)
    scale = 100 if max(scores.values(), default=0) > 1 else 1
    return {name: score / scale for name, score in scores.items()}
