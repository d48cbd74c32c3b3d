"""The command that studies what right answers cost: time, memory and upkeep, beside the reference."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.analyze import PicturesOption, analyze, show, write_pictures
from dlbench.cli.app import Chosen, JsonOption, MemoryOption, SandboxOption, TimeoutOption, command
from dlbench.cli.progress import counted, say
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.analysis.efficiency.measure import Kept, PassingCandidate
    from dlbench.execution import Engine
    from dlbench.runs import Run


@command("efficiency", analyze)
def efficiency(
    runs: Annotated[list[Path], typer.Argument(help="Run folders; measures are kept there, in efficiency.jsonl.")],
    chosen: Chosen,
    repeats: Annotated[int, typer.Option(min=3, help="Rounds: runs of each candidate beside its reference.")] = 9,
    seed: Annotated[int, typer.Option(help="Seed of the order within a round.")] = 0,
    measure: Annotated[
        bool, typer.Option("--run/--no-run", help="Measure what is missing, or show only what was measured before.")
    ] = True,
    sandbox: SandboxOption = "auto",
    timeout: TimeoutOption = 60.0,
    memory: MemoryOption = 4096,
    pictures: PicturesOption = None,
    json: JsonOption = False,
) -> None:
    """What do right answers cost beside the reference: time and memory of the tests, length and complexity?"""
    from dlbench.analysis.complexity import check_tools
    from dlbench.analysis.efficiency.measure import EFFICIENCY, read_kept
    from dlbench.analysis.efficiency.summary import summarise
    from dlbench.cli.engine import make_engine
    from dlbench.reporting import name_runs
    from dlbench.reporting.studies import efficiency as showing
    from dlbench.runs import read_run

    check_tools()
    named = name_runs([read_run(folder) for folder in runs])
    passing = {name: _find(run, chosen) for name, run in named.items()}
    if not any(passing.values()):
        what = "no candidate among the chosen instances passes, so there is nothing to measure"
        raise DLBenchError(what, where=str(runs[0]), mend="give a run that solves something, or choose other instances")
    engine = make_engine(sandbox, timeout, memory) if measure else None
    found = []
    for name, run in named.items():
        path = run.folder / EFFICIENCY
        if engine is None or not passing[name]:
            kept, given_up = read_kept(path), dict[str, str]()
        else:
            kept, given_up = _measure(path, passing[name], chosen, engine, repeats, seed)
        found.append(summarise(name, passing[name], kept, given_up))
    tables = {
        "time and peak memory of the tests, beside the reference": showing.tabulate_costs(found),
        "upkeep of the code, beside the reference": showing.tabulate_upkeep(found),
    }
    outstanding = showing.tabulate_outstanding(found)
    if outstanding[1]:
        tables["candidates beyond the noise"] = outstanding
    show(tables, showing.tell_costs(found), found if json else None)
    write_pictures(pictures, showing.draw_efficiency(found))


def _find(run: "Run", chosen: Chosen) -> "list[PassingCandidate]":
    from dlbench.analysis.efficiency.measure import find_passing
    from dlbench.runs import SAMPLES
    from dlbench.runs.samples import read_samples

    path = run.folder / SAMPLES
    if not path.is_file():
        mend = "give a folder that `run` or `evaluate` wrote, with the answers in it"
        raise DLBenchError("there are no samples here", where=str(run.folder), mend=mend)
    return find_passing(run.verdicts, read_samples(path, chosen.benchmark), chosen.instances)


def _measure(
    path: Path, passing: "list[PassingCandidate]", chosen: Chosen, engine: "Engine", repeats: int, seed: int
) -> "tuple[Kept, dict[str, str]]":
    """What is kept in the end, and by instance why one was given up."""
    from dlbench.analysis.efficiency.measure import (
        ResultCache,
        Round,
        count_missing,
        find_unread,
        measure_all,
        plan_jobs,
        read_kept,
        read_upkeep,
    )
    from dlbench.cli.engine import prepare_projects
    from dlbench.dataset import Instance
    from dlbench.jsonl import Journal

    with Journal(path) as journal:
        kept = read_kept(path)
        keeper = ResultCache(journal, kept)
        jobs, unread = plan_jobs(passing, kept, repeats), find_unread(passing, kept)
        needed = [job.instance for job in jobs] + [one.instance for one in unread]
        prepared = prepare_projects(chosen.benchmark, needed)
        read_upkeep(unread, prepared, keeper)
        if not jobs:
            say(f"{path}: everything is measured already")
            return kept, {}
        with counted("rounds", sum(count_missing(job, repeats) for job in jobs), every=2.0) as advance:

            def keep(instance: Instance, found: Round) -> None:
                keeper.keep_round(instance, found)
                advance(instance.id)

            return kept, measure_all(engine, prepared, jobs, keep, repeats=repeats, seed=seed)
