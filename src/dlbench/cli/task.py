"""The commands `task …`: list, check out, submit and validate rebuild tasks."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench import dataset
from dlbench.cli.app import CORES, BenchmarkOption, JsonOption, SandboxOption, WorkerOptions, add_group, command
from dlbench.cli.engine import make_engine, prepare_named
from dlbench.cli.output import counted, log, print_json
from dlbench.errors import DLBenchError
from dlbench.registry import find_known
from dlbench.runs.verdict import Outcome, Status

if TYPE_CHECKING:
    from dlbench.execution import Engine
    from dlbench.execution.rebuild import RebuildTask, RebuildVerdict

task = add_group("task", "Rebuild packages of a release from their skeletons, in a folder: docs/rebuild.md.")
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Task id: `dlbench task list` shows them.")]
RESULTS = "rebuilds.jsonl"


@dataclass(frozen=True)
class ProcessOptions:
    """The processes that run the tests."""

    workers: Annotated[int, typer.Option(min=1, help="Processes that share the tests.")] = CORES
    timeout: Annotated[float, typer.Option(min=0.1, help="Time limit of a test, in seconds.")] = 60.0
    memory: Annotated[int, typer.Option(min=64, help="Memory limit of a process, in MiB.")] = 4096
    sandbox: SandboxOption = "auto"

    def make_engine(self) -> "Engine":
        return make_engine(WorkerOptions(self.workers, sandbox=self.sandbox), self.timeout, self.memory)


@command("list", task)
def list_tasks(benchmark: BenchmarkOption = None, json: JsonOption = False) -> None:
    """List the rebuild tasks: lines and definitions to write, modules, tests."""
    from dlbench.dataset.rebuild import read_rebuilds

    records = read_rebuilds(benchmark or dataset.default_root())
    if json:
        print_json([one.model_dump(mode="json") for one in records.values()])
        return
    rows: list[tuple[str, ...]] = [("task", "lines", "definitions", "modules", "visible", "hidden")]
    for one in sorted(records.values(), key=lambda one: one.lines):
        counts = (one.lines, one.definitions, len(one.files), len(one.visible), len(one.hidden))
        rows.append((one.id, *map(str, counts)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *numbers in rows:
        shown = (number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True))
        typer.echo(f"{name:<{widths[0]}}  {'  '.join(shown)}")


@command("checkout", task)
def checkout(
    name: IdArgument,
    folder: Annotated[Path, typer.Argument(help="A new folder.")],
    benchmark: BenchmarkOption = None,
) -> None:
    """Write the folder in which the task is solved: skeleton, visible tests, instructions."""
    from dlbench.execution.rebuild_folder import write_folder
    from dlbench.workspace.prepare import lock_of

    chosen = open_tasks([name], benchmark)[0]
    loaded = dataset.load(benchmark)
    write_folder(chosen, folder, lock_of(chosen.prepared.project, loaded.root).read_text(encoding="utf-8"))
    typer.echo(f"wrote {folder}: read INSTRUCTIONS.md there")
    typer.echo(f"an interpreter with the packages: {chosen.prepared.python}", err=True)


@command("submit", task)
def submit(
    name: IdArgument,
    folder: Annotated[Path, typer.Argument(help="The folder of the answer.")],
    options: ProcessOptions,
    benchmark: BenchmarkOption = None,
    out: Annotated[Path | None, typer.Option(help=f"Also add the verdict to {RESULTS} in this folder.")] = None,
    json: JsonOption = False,
) -> None:
    """Judge an answer: the share of hidden tests that pass, and whether all do."""
    from dlbench.execution.rebuild import judge_rebuild
    from dlbench.execution.rebuild_folder import read_answer
    from dlbench.jsonl import Journal

    chosen = open_tasks([name], benchmark)[0]
    files, links = read_answer(chosen, folder)
    engine = options.make_engine()
    log(f"judging {len(files)} changed files with {len(chosen.record.tests)} tests")
    verdict = judge_rebuild(engine, chosen, files, links=links, workers=options.workers)
    if out is not None:
        with Journal(out / RESULTS) as journal:
            journal.append(verdict.as_record())
    if json:
        print_json(verdict.as_record() | {"share": verdict.share})
    else:
        typer.echo("\n".join(_describe(verdict)))
    if verdict.status is Status.HARNESS_ERROR:
        raise typer.Exit(1)


def _describe(verdict: "RebuildVerdict") -> list[str]:
    def count(outcomes: dict[str, Outcome]) -> str:
        return f"{Counter(outcomes.values())[Outcome.PASSED]}/{len(outcomes)}"

    lines = [
        f"task     {verdict.instance}",
        f"status   {verdict.status}",
        f"hidden   {count(verdict.tests)} passed ({verdict.share:.1%})",
        f"visible  {count(verdict.visible)} passed",
    ]
    if verdict.message:
        lines.append(f"message  {verdict.message.strip().splitlines()[-1]}")
    lines += [f"ignored  {path}: {why}" for path, why in sorted(verdict.ignored.items())]
    return lines


@command("validate", task)
def validate(
    options: ProcessOptions,
    names: Annotated[list[str] | None, typer.Argument(metavar="[ID]…", help="Tasks (default: all).")] = None,
    benchmark: BenchmarkOption = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of the tests on the release.")] = 1,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Each further run in another order.")] = False,
    json: JsonOption = False,
) -> None:
    """Check that the release passes every test of a task, and its skeleton no hidden one."""
    from dlbench.execution.rebuild import validate_rebuild
    from dlbench.execution.rebuild_folder import find_copies

    chosen = open_tasks(names or [], benchmark)
    engine = options.make_engine()
    problems: dict[str, list[str]] = {}
    with counted("tasks", len(chosen)) as progress:
        for one in chosen:
            found = list(validate_rebuild(engine, one, repeat=repeat, shuffle=shuffle, workers=options.workers))
            problems[one.record.id] = [*found, *find_copies(one)]
            progress(one.record.id)
    if json:
        print_json(problems)
    else:
        for name, found in problems.items():
            typer.echo(f"{name}: {'valid' if not found else f'{len(found)} problems'}")
            for what in found:
                typer.echo(f"  {what.strip()}")
    if any(problems.values()):
        raise typer.Exit(1)


def open_tasks(names: list[str], benchmark: Path | None) -> "list[RebuildTask]":
    from dlbench.dataset.rebuild import read_rebuilds
    from dlbench.execution.rebuild import RebuildTask

    loaded = dataset.load(benchmark)
    records = read_rebuilds(loaded.root)
    if not records:
        fix = "`dlbench construct rebuild` makes some; name another benchmark by --benchmark"
        raise DLBenchError("the benchmark has no rebuild task", where=str(loaded.root), fix=fix)
    chosen = [find_known(name, records, "rebuild task") for name in names] or list(records.values())
    prepared = prepare_named(loaded, [one.project for one in chosen])
    return [RebuildTask(one, prepared[one.project]) for one in chosen]
