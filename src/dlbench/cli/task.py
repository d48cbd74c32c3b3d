"""The commands `task …`: check out and submit tasks of many files; and their validation."""

import shlex
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench import __version__, dataset
from dlbench.cli.app import CORES, BenchmarkOption, Chosen, JsonOption, SandboxOption, WorkerOptions, add_group, command
from dlbench.cli.engine import make_engine, prepare_each
from dlbench.cli.output import counted, log, print_json
from dlbench.dataset.labels import Track
from dlbench.errors import DLBenchError
from dlbench.parsing import parse
from dlbench.runs import open_run
from dlbench.runs.verdict import VERDICTS, Outcome, Status, Verdict

if TYPE_CHECKING:
    from dlbench.dataset.tracks import TrackBenchmark
    from dlbench.execution import Engine
    from dlbench.execution.file_sets import FileSet
    from dlbench.execution.file_task import OpenTask

task = add_group("task", "Solve a task of many files in a folder: docs/tracks.md.")
IdArgument = Annotated[
    str,
    typer.Argument(metavar="ID", help="Task id: `dlbench list --track …` shows them."),
]


@dataclass(frozen=True)
class ProcessOptions:
    """The processes that run the tests."""

    workers: Annotated[int, typer.Option(min=1, help="Processes that share the tests.")] = CORES
    timeout: Annotated[float, typer.Option(min=0.1, help="Time limit of a test, in seconds.")] = 60.0
    memory: Annotated[int, typer.Option(min=64, help="Memory limit of a process, in MiB.")] = 4096
    sandbox: SandboxOption = "auto"

    def make_engine(self) -> "Engine":
        return make_engine(WorkerOptions(self.workers, sandbox=self.sandbox), self.timeout, self.memory)


@command("checkout", task)
def checkout(
    name: IdArgument,
    folder: Annotated[Path, typer.Argument(help="A new folder.")],
    benchmark: BenchmarkOption = None,
) -> None:
    """Write the folder in which the task is solved, a git repository: code, visible tests, instructions."""
    from dlbench.agents.attempts import commit_folder
    from dlbench.execution.task_folder import write_folder

    chosen = open_tasks(Chosen(benchmark, instance=[name]))[0]
    write_folder(chosen, folder, ".venv/bin/python")
    if shutil.which("git"):
        commit_folder(folder)
        (folder / ".git/info").mkdir(exist_ok=True)
        (folder / ".git/info/exclude").write_text(".venv\n", encoding="utf-8")
    (folder / ".venv").symlink_to(chosen.prepared.environment)
    typer.echo(f"wrote {folder}: read INSTRUCTIONS.md there")


@command("submit", task)
def submit(
    name: IdArgument,
    folder: Annotated[Path, typer.Argument(help="The folder of the answer.")],
    options: ProcessOptions,
    benchmark: BenchmarkOption = None,
    out: Annotated[Path | None, typer.Option(help="Run folder: also add the verdict there.")] = None,
    model: Annotated[str | None, typer.Option("--name", help="Who solved it (default: the name of --out).")] = None,
    sample: Annotated[
        int, typer.Option(min=0, help="Index of the attempt; submitting it again replaces its verdict.")
    ] = 0,
    screen: Annotated[
        bool, typer.Option("--screen", help="Run nothing: list what would make the verdict unconfirmed.")
    ] = False,
    accept: Annotated[
        list[str] | None,
        typer.Option(help="What the screen names and you have found honest (repeatable)."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Judge an answer: the share of hidden tests that pass, and whether all do."""
    from dlbench.execution.file_sets import choose_counted
    from dlbench.execution.file_task import judge_files, screen_answer
    from dlbench.execution.task_folder import read_answer
    from dlbench.jsonl import Journal

    chosen = open_tasks(Chosen(benchmark, instance=[name]))[0]
    files, links = read_answer(chosen, folder)
    counted_files = choose_counted(files, chosen.record.files, chosen.prepared).counted
    findings = screen_answer(chosen, counted_files) if screen or accept else []
    if unknown := set(accept or ()) - {one.partition(": ")[2] for one in findings}:
        fix = "`--screen` lists what it names"
        raise DLBenchError(f"the screen does not name {min(unknown)!r}", where="--accept", fix=fix)
    if screen:
        findings = [*_list_syntax_errors(counted_files), *findings]
        log(f"{len(findings)} findings; with one, no outcome counts" if findings else "the screen names nothing")
        typer.echo("\n".join(findings), nl=bool(findings))
        raise typer.Exit(bool(findings))
    if out is not None:
        solver = model or out.resolve().name
        open_attempts(out, solver, chosen.record.track, dataset.load(benchmark), options)
    engine = options.make_engine()
    log(f"judging {len(files)} changed files with {len(chosen.record.tests)} tests")
    with counted("tests", len(chosen.record.tests), every=1.0) as progress:
        verdict = judge_files(
            engine,
            chosen,
            files,
            links=links,
            sample=sample,
            workers=options.workers,
            accepted=accept or (),
            progress=progress,
        )
    if out is not None:
        with Journal(out / VERDICTS) as journal:
            journal.append(verdict.as_record())
    if json:
        log("; ".join(_describe(verdict)[1:4]))
        print_json(verdict.as_record() | {"share": verdict.share})
    else:
        typer.echo("\n".join(_describe(verdict)))
    if verdict.status is Status.HARNESS_ERROR:
        raise typer.Exit(1)


def _list_syntax_errors(files: "FileSet") -> Iterator[str]:
    for path, text in files.items():
        try:
            if path.endswith(".py"):
                parse(text or b"")
        except (SyntaxError, ValueError) as error:
            yield f"{path}:{getattr(error, 'lineno', 1)}: {error.args[0]}"


def open_attempts(
    folder: Path, name: str, track: Track, benchmark: "dataset.Benchmark", options: ProcessOptions, **settings: object
) -> None:
    """Create or resume a run folder for verdicts on tasks of a track, a line of `VERDICTS` each. `settings`: more of
    the configuration, such as `samples` and `instances`, whose missing verdicts a report then names."""
    from dlbench.dataset.validation import name_records

    config = {"dlbench": __version__, "benchmark": name_records(benchmark), "track": str(track), "model": name}
    open_run(folder, config | {"timeout": options.timeout, "memory": options.memory} | settings)


def _describe(verdict: Verdict) -> list[str]:
    def count(outcomes: dict[str, Outcome]) -> str:
        return f"{Counter(outcomes.values())[Outcome.PASSED]}/{len(outcomes)}"

    lines = [
        f"task     {verdict.instance}",
        f"status   {verdict.status}",
        f"hidden   {count(verdict.tests)} passed ({verdict.share:.1%})",
    ]
    if verdict.visible:
        lines.append(f"visible  {count(verdict.visible)} passed")
    if verdict.message:
        lines.append(f"message  {verdict.message.strip().splitlines()[-1]}")
    if excess := verdict.extra.get("excess"):
        names = sorted({shlex.quote(one.partition(": ")[2]) for one in excess})
        lines.append(f"fix      read that code; if it is honest: {' '.join(f'--accept {name}' for name in names)}")
    lines += [f"accepted {what}" for what in verdict.extra.get("accepted", ())]
    lines += [f"broken   {test}" for test in verdict.extra.get("broken", {})]
    lines += [f"ignored  {path}: {why}" for path, why in sorted(verdict.ignored.items())]
    return lines


def validate_tasks(
    tasks: "list[OpenTask]", workers: int, engine: "Engine", *, repeat: int, shuffle: bool, json: bool
) -> None:
    """Print the problems of each task: the solution must pass every test, and what is given no hidden one."""
    from dlbench.execution.file_task import validate_task
    from dlbench.execution.task_folder import find_copies

    problems: dict[str, list[str]] = {}
    with counted("tasks", len(tasks)) as progress:
        for one in tasks:
            trouble = validate_task(engine, one, repeat=max(1, repeat), shuffle=shuffle, workers=workers)
            problems[one.record.id] = [*trouble, *find_copies(one)]
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


def open_tasks(chosen: Chosen, track: Track | None = None) -> "list[OpenTask]":
    """The chosen tasks of a track, or of that of the first one named, with their releases, which are fetched."""
    from dlbench.dataset.tracks import guess_track

    track = track or guess_track((chosen.instance or [""])[0])
    if track in (Track.FUNCTION, Track.OPTIMISE):
        raise DLBenchError("functions are not solved in a folder", where="--track", fix="use `dlbench run`")
    return open_records(chosen.open_track(track))


def open_records(benchmark: "TrackBenchmark") -> "list[OpenTask]":
    """The tasks of a benchmark that is opened on their track, with their releases, which are fetched."""
    from dlbench.dataset.file_task import FileTask
    from dlbench.execution.file_task import open_task

    records = [one for one in benchmark.instances.values() if isinstance(one, FileTask)]
    bases = {f"{one.project} {one.version}": one.find_base(benchmark.projects) for one in records}
    prepared = {
        f"{one.project.name} {one.project.version}": one for one in prepare_each(bases.values(), benchmark.root)
    }
    return [open_task(one, prepared[f"{one.project} {one.version}"], benchmark.root, log) for one in records]
