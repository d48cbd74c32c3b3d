"""The commands `export` and `import`: the dataset and runs in the formats of other tools, and their answers back."""

import json as json_format
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench import dataset
from dlbench.bridges import Format
from dlbench.cli.app import (
    BenchmarkOption,
    Chosen,
    JsonOption,
    SandboxOption,
    TrackOption,
    WorkerOptions,
    WorkersOption,
    add_group,
    app,
    command,
    guard,
    need,
)
from dlbench.cli.construct_common import make_construction_engine
from dlbench.cli.output import counted, log, print_json
from dlbench.cli.run import CanaryOption
from dlbench.dataset.labels import Track
from dlbench.errors import DLBenchError
from dlbench.jsonl import rewrite, write_whole
from dlbench.runs import CONFIG, SAMPLES, make_folder
from dlbench.runs.verdict import VERDICTS

if TYPE_CHECKING:
    from dlbench.analysis.official import RepairedFile

imports = add_group("import", "Import other datasets and answers.")
exports = typer.Typer(help="Write the dataset, or a run, for other tools.", rich_markup_mode=None)
app.add_typer(exports, name="export")


@exports.callback(invoke_without_command=True)
@guard
def export_dataset(
    context: typer.Context,
    chosen: Chosen,
    format: Annotated[Format | None, typer.Option("--format", help="Format to write.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write; it must not exist yet.")] = None,
    with_reference: Annotated[
        bool, typer.Option("--with-reference", help="Include the projects' own code, with their licences.")
    ] = False,
    canary: CanaryOption = False,
    track: TrackOption = Track.FUNCTION,
) -> None:
    """Write the prompts of the chosen instances for other tools; `export inspect RUN` writes a run."""
    if context.invoked_subcommand:
        return
    if format is None or out is None:
        fix = "dlbench export --format jsonl --out DIR, or dlbench export inspect RUN --out LOG.eval"
        missing = [name for name, value in (("--format", format), ("--out", out)) if value is None]
        raise DLBenchError(f"missing: {', '.join(missing)}", fix=fix)
    if format.is_of_file_tasks is (track is Track.FUNCTION):
        kind = "rebuild, component or release" if format.is_of_file_tasks else "function"
        raise DLBenchError(f"{format} has no {track} tasks", where="--track", fix=f"pass --track {kind}")
    from dlbench.bridges.exports import export, export_file_tasks, list_projects
    from dlbench.bridges.exports.rows import ExportOptions, read_licences, render_short
    from dlbench.dataset.file_task import FileTask

    benchmark, instances = chosen.benchmark, list(chosen.open_track(track).instances.values())
    licences = None
    if with_reference:
        projects = list_projects(benchmark, instances)
        licences = read_licences(projects, benchmark.root, log)
        typer.echo(render_short(projects, licences), err=True)
    options = ExportOptions(chosen.split if track is Track.FUNCTION else str(track), licences, canary, benchmark.origin)
    functions = [one for one in instances if isinstance(one, dataset.Instance)]
    tasks = [one for one in instances if isinstance(one, FileTask)]
    with counted("reading", len(instances), every=2) as advance:
        if tasks:
            export_file_tasks(benchmark, tasks, format, options, out, log=log, on_row=advance)
        else:
            export(benchmark, functions, format, options, out, log=log, on_row=advance)
    parts = sorted(path.name for path in out.iterdir())
    files = parts if tasks else sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    typer.echo(f"{len(instances)} instances written to {out}: {', '.join(files)}", err=True)


@command("inspect", exports)
def export_inspect(
    run: Annotated[Path, typer.Argument(help="Run folder of `run` or `evaluate`.")],
    out: Annotated[Path, typer.Option(help="Log to write, .eval or .json; it must not exist yet.")],
    benchmark: BenchmarkOption = None,
) -> None:
    """Write a run as an inspect log, with every verdict."""
    need("inspect_ai", "inspect")
    from dlbench.bridges.inspect.logs import write_log

    count = write_log(run, dataset.load(benchmark), out)
    typer.echo(f"{count} samples written to {out}: inspect view --log-dir {out.parent}", err=True)


@command("official", imports)
def official(
    path: Annotated[Path, typer.Argument(help="Folder of the official DL-Bench files (.txt), at any depth.")],
    out: Annotated[Path | None, typer.Option(help="Write a benchmark folder here; it must not exist.")] = None,
    answers: Annotated[
        Path | None, typer.Option(help="Answers that upstream's scripts wrote: a folder, .json or .jsonl.")
    ] = None,
    samples: Annotated[Path | None, typer.Option(help="Write those answers here as samples (JSONL).")] = None,
    sources: Annotated[
        Path | None,
        typer.Option(help="Fetch a release of every project into this folder, for `analyze --sources` (460 MB)."),
    ] = None,
    make_runnable: Annotated[
        Path | None,
        typer.Option(
            metavar="WORK",
            help="Build the releases that are on the index, check functions and tests, and write what runs to "
            "WORK/benchmark. Takes hours for all; rerun to resume.",
        ),
    ] = None,
    workers: WorkersOption = None,
    sandbox: SandboxOption = "auto",
    json: JsonOption = False,
) -> None:
    """Read the official DL-Bench files: repair what can be repaired, list repairs, count labels and defects."""
    from dlbench.analysis.official import find_files, find_others, read_files, repair_all, write_folder

    if (answers is None) != (samples is None):
        raise DLBenchError("--answers and --samples require each other", fix="give both, or neither")
    files = find_files(path)
    if not files:
        fix = "give the folder of the .txt files, which begin with `stage:`"
        raise DLBenchError("there are no official files here", where=str(path), fix=fix)
    if others := find_others(path):
        shown = ", ".join(map(str, others[:5])) + (", …" if len(others) > 5 else "")
        typer.echo(f"LEFT OUT: {len(others)} text files that do not begin with `stage:`: {shown}", err=True)
    repaired = repair_all(read_files(files))
    counts = _count(repaired)
    repairs = [repair for one in repaired for repair in one.repairs]
    if json:
        print_json({"counts": counts, "repairs": repairs, "defects": {one.file: one.defects for one in repaired}})
    else:
        for repair in repairs:
            typer.echo(f"{repair.file}: {repair.field}: {repair.was!r} -> {repair.now!r} ({repair.why})")
        for name, found in counts.items():
            typer.echo(f"\n{name}")
            for label, count in found.items():
                typer.echo(f"  {label:<50} {count:>5}")
    if out:
        write_folder(repaired, out)
        typer.echo(f"{len(repaired)} instances, which cannot be run, are in {out}", err=True)
        if not make_runnable:
            count = len(_with_archive(repaired))
            typer.echo(
                f"projects of {count} have a source archive on the index: --make-runnable WORK tries them", err=True
            )
    if sources:
        _fetch_sources(sources, repaired)
    if answers and samples:
        _write_samples(answers, samples, repaired)
    if make_runnable:
        _make_runnable(make_runnable, repaired, WorkerOptions(workers, sandbox=sandbox))


def _with_archive(repaired: "list[RepairedFile]") -> "list[RepairedFile]":
    from dlbench.analysis.official import read_releases

    named = {release.project for release in read_releases() if not release.file.endswith(".whl")}
    return [one for one in repaired if one.project in named]


def _make_runnable(work: Path, repaired: "list[RepairedFile]", options: WorkerOptions) -> None:
    from dlbench.analysis.official.runnable import RUNNABLE, make_runnable
    from dlbench.construction import WorkFolder

    engine = make_construction_engine(options)
    found = make_runnable(engine, repaired, WorkFolder(work), log, workers=options.count)
    rewrite(work / "outcomes.jsonl", ({"id": key, "outcome": outcome} for key, outcome in found.items()))
    counts = Counter(found.values())
    typer.echo("\n".join(["\noutcomes", *(f"  {outcome:<70} {count:>5}" for outcome, count in counts.most_common())]))
    if not counts[RUNNABLE]:
        raise DLBenchError("no instance can be run", where=str(work), fix="outcomes.jsonl has the reason for each")
    typer.echo(f"{counts[RUNNABLE]} of {len(repaired)} can be run: use --benchmark {work / 'benchmark'}", err=True)


def _count(repaired: "list[RepairedFile]") -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {"files": {"read": len(repaired)}}
    for axis in ("stage", "task", "data"):
        labels = Counter(str(getattr(one, axis) or "none of the labels") for one in repaired)
        found[axis] = dict(labels.most_common())
    found["repairs"] = dict(Counter(repair.why for one in repaired for repair in one.repairs).most_common())
    defects = Counter(defect.partition(" as ")[0] for one in repaired for defect in one.defects)
    return found | {"defects that stay": dict(defects.most_common())}


def _fetch_sources(folder: Path, repaired: "list[RepairedFile]") -> None:
    from dlbench.analysis.official import fetch_trees, read_releases

    named = {one.project for one in repaired}
    releases = [release for release in read_releases() if release.project in named]
    fetch_trees(releases, folder, log)
    typer.echo(f"sources of {len(releases)} of {len(named)} projects are in {folder}", err=True)


def _write_samples(answers: Path, samples: Path, repaired: "list[RepairedFile]") -> None:
    from dlbench.analysis.official.repairs import match_answers

    found = match_answers(answers, repaired)
    for where, why in found.left_out:
        typer.echo(f"LEFT OUT: {where}: {why}", err=True)
    rewrite(samples, found.samples)
    typer.echo(f"{len(found.samples)} answers are in {samples}, {len(found.left_out)} were left out", err=True)


@command("evalplus", imports)
def evalplus(
    solutions: Annotated[Path, typer.Argument(help="JSONL that evalplus wrote: task_id, and solution or completion.")],
    out: Annotated[Path, typer.Option(help="Samples to write (JSONL); the file must not exist yet.")],
    tasks: Annotated[Path | None, typer.Option(help="The exported tasks, needed for completions.")] = None,
    benchmark: BenchmarkOption = None,
) -> None:
    """Convert solutions that evalplus generated to samples for `dlbench evaluate`."""
    from dlbench.bridges.exports.evalplus import read_prompts, read_solutions

    if out.exists():
        raise DLBenchError("this exists already", where=str(out), fix="pass --out a new file")
    samples = read_solutions(solutions, dataset.load(benchmark), read_prompts(tasks) if tasks else {})
    out.parent.mkdir(parents=True, exist_ok=True)
    rewrite(out, samples)
    typer.echo(f"{len(samples)} answers written to {out}: dlbench evaluate {out} --out RUN", err=True)


@command("inspect", imports)
def import_inspect(
    eval_log: Annotated[Path, typer.Argument(help="An inspect log (.eval or .json).")],
    out: Annotated[Path, typer.Option(help="Folder for samples.jsonl, and verdicts.jsonl where dlbench judged.")],
    benchmark: BenchmarkOption = None,
) -> None:
    """Read answers, and dlbench's verdicts on them, from an inspect log."""
    need("inspect_ai", "inspect")
    from dlbench.bridges.inspect.logs import read_log

    for name in (SAMPLES, VERDICTS, CONFIG):
        if (out / name).exists():
            raise DLBenchError("this exists already", where=str(out / name), fix="pass a new --out")
    found = read_log(eval_log, dataset.load(benchmark))
    for where, why in found.left_out:
        typer.echo(f"LEFT OUT: {where}: {why}", err=True)
    make_folder(out)
    rewrite(out / SAMPLES, found.samples)
    if found.verdicts:
        write_whole(out / CONFIG, json_format.dumps(found.config, indent=2, ensure_ascii=False) + "\n")
        rewrite(out / VERDICTS, found.verdicts)
    typer.echo(f"{len(found.samples)} answers and {len(found.verdicts)} verdicts written to {out}", err=True)
    if len(found.verdicts) < len(found.samples):
        typer.echo(f"judge them: dlbench evaluate {out / SAMPLES} --out {out}-judged", err=True)
