"""The commands of the leaderboard: submit a run, verify submissions, and build the page."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench import __version__, dataset
from dlbench.cli.app import (
    DAYS,
    BenchmarkOption,
    ExecutionOptions,
    JsonOption,
    SandboxOption,
    WorkerOptions,
    WorkersOption,
    add_group,
    command,
)
from dlbench.cli.engine import judge_into, make_engine
from dlbench.cli.output import log, print_json
from dlbench.dataset.labels import Track
from dlbench.errors import DLBenchError
from dlbench.jsonl import write_whole
from dlbench.runs import read_run
from dlbench.runs.verdict import Confirm, Verdict

if TYPE_CHECKING:
    from dlbench.reporting.leaderboard.entry import Entry, Setting
    from dlbench.reporting.leaderboard.verify import Fault
    from dlbench.runs.samples import Sample

leaderboard = add_group("leaderboard", "Submit runs, verify submissions, and build the page.")

_SHARE = 0.1


@command("add", leaderboard)
def add(
    run: Annotated[Path, typer.Argument(help="Run folder of `run` or `evaluate`, with a whole split.")],
    samples_from: Annotated[
        str, typer.Option(help="Where the samples can be downloaded (a URL), or how to reproduce them.")
    ],
    split: Annotated[str | None, typer.Option(help="The split; found from the instances by default.")] = None,
    model: Annotated[str | None, typer.Option(help="The model, if the run does not record it.")] = None,
    technique: Annotated[str | None, typer.Option(help="The technique, if the run does not record it.")] = None,
    temperature: Annotated[
        str | None,
        typer.Option(help="The temperature, if the run does not record it; `none` for a model without one."),
    ] = None,
    date: Annotated[
        datetime | None, typer.Option(formats=DAYS, help="Date of the run; that of its verdicts by default.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the entry with the same settings.")] = False,
    benchmark: BenchmarkOption = None,
) -> None:
    """Add a run to the benchmark's folder `leaderboard`: settings, score, verdicts, hashes of answers."""
    from dlbench.reporting.caveats import find_track
    from dlbench.reporting.leaderboard.entry import FOLDER, make_entry, name_entry, render_entry, write_entry
    from dlbench.reporting.leaderboard.verify import check_entry

    loaded, submitted = dataset.load(benchmark), read_run(run)
    if (track := find_track([submitted])) is not Track.FUNCTION:
        fix = "compare such runs with `dlbench compare`"
        raise DLBenchError(f"the leaderboard has functions only, this is a run on {track}", where=str(run), fix=fix)
    options = {"model": model, "technique": technique}
    stated: dict[str, Setting] = {key: value for key, value in options.items() if value is not None}
    if temperature is not None:
        stated["temperature"] = _read_temperature(temperature)
    day = date.date() if date else None
    entry = make_entry(submitted, loaded, samples_from, split=split, day=day, stated=stated)
    if faults := check_entry(entry, loaded):
        shown = "\n".join(f"  {fault}" for fault in faults[:20])
        fix = "finish the run; if its limits are higher than the default, judge its samples again with the default"
        raise DLBenchError(f"the run cannot be submitted:\n{shown}", where=str(run), fix=fix)
    path = loaded.root / FOLDER / name_entry(entry)
    if path.exists() and path.read_text(encoding="utf-8") != render_entry(entry) and not replace:
        raise DLBenchError("there is another entry with these settings", where=str(path), fix="pass --replace")
    write_entry(entry, path)
    typer.echo(f"{path}: pass@1 {entry.score.pass_at_1:.1%} on {entry.split}")


def _read_temperature(text: str) -> float | None:
    try:
        return None if text == "none" else float(text)
    except ValueError:
        fix = "pass a number, or none for a model without a temperature"
        raise DLBenchError(f"{text!r} is no temperature", where="--temperature", fix=fix) from None


@command("verify", leaderboard)
def verify(
    entries: Annotated[list[Path] | None, typer.Argument(help="Entry files; the whole leaderboard by default.")] = None,
    samples: Annotated[Path | None, typer.Option(help="Samples of the one entry; some are run again.")] = None,
    share: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help=f"Share of the samples to run again. [default: {_SHARE}]")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run all samples again.")] = False,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of the choice of samples; random by default, so that it cannot be predicted."),
    ] = None,
    mark: Annotated[bool, typer.Option("--mark", help="Record in the entry that it was verified.")] = False,
    benchmark: BenchmarkOption = None,
    workers: WorkersOption = None,
    sandbox: SandboxOption = "auto",
    json: JsonOption = False,
) -> None:
    """Verify entries against the dataset; with --samples, also against their samples and by running some again."""
    from dlbench.reporting.leaderboard.entry import find_entries
    from dlbench.reporting.leaderboard.verify import count_repeated, is_about

    loaded = dataset.load(benchmark)
    paths = entries or find_entries(loaded.root)
    if samples and len(paths) != 1:
        raise DLBenchError(f"--samples belong to one entry, you passed {len(paths)}", fix="name the entry")
    used = {"--share": share is not None, "--all": every, "--seed": seed is not None, "--mark": mark}
    if not samples and any(used.values()):
        names = ", ".join(name for name, is_used in used.items() if is_used)
        raise DLBenchError(f"{names} requires --samples", fix="pass --samples FILE too")
    if every and share is not None:
        raise DLBenchError("--all and --share exclude each other", fix="leave one of them out")
    found: dict[str, list[Fault]] = {}
    for path in paths:
        entry, faults = read_checked(path, loaded)
        found[str(path)] = faults
        if entry is None:
            continue
        if repeated := count_repeated(entry):
            log(f"{path}: {repeated} of {len(entry.verdicts)} samples repeat an answer to the same instance")
        if samples and is_about(entry, loaded):
            part = 1.0 if every else _SHARE if share is None else share
            drawn_by = secrets.randbelow(2**31) if seed is None else seed
            checked, more = rejudge(entry, samples, loaded, part, drawn_by, WorkerOptions(workers, sandbox=sandbox))
            faults += more
            if mark and not faults:
                _mark(entry, path, checked, drawn_by)
    how = f"with {'all' if every else 'some'} samples run again" if samples else "without running samples"
    if json:
        print_json(found)
    else:
        for name, faults in found.items():
            for fault in faults:
                typer.echo(f"{name}: {fault}")
        typer.echo(f"{sum(not faults for faults in found.values())} of {len(found)} entries are valid, {how}")
    if any(found.values()):
        raise typer.Exit(1)


def read_checked(path: Path, benchmark: "dataset.Benchmark") -> "tuple[Entry | None, list[Fault]]":
    """An entry and the faults of it and its file name: under another name it would be on the leaderboard twice."""
    from dlbench.reporting.leaderboard.entry import name_entry, read_entry
    from dlbench.reporting.leaderboard.verify import Fault, check_entry

    try:
        entry = read_entry(path)
    except DLBenchError as error:
        return None, [Fault("malformed entry", error.what)]
    faults = check_entry(entry, benchmark)
    if path.name != name_entry(entry):
        faults.append(Fault("misnamed entry", f"with these settings its name is {name_entry(entry)}"))
    return entry, faults


def rejudge(
    entry: "Entry", path: Path, benchmark: "dataset.Benchmark", share: float, seed: int, options: WorkerOptions
) -> "tuple[int, list[Fault]]":
    """Judge a share of an entry's samples again; the number judged, and the faults found."""
    from dlbench.reporting.leaderboard.verify import check_samples, check_verdicts, draw_share
    from dlbench.runs.samples import read_samples

    def judge(chosen: "Sequence[Sample]") -> "dict[tuple[str, int], Verdict]":
        engine = make_engine(options, *entry.limits, Confirm.ALL)
        with TemporaryDirectory(prefix="dlbench-") as folder:
            verdicts = judge_into(benchmark, list(chosen), Path(folder), engine, ExecutionOptions(options.workers))
        return {(verdict.instance, verdict.sample): verdict for verdict in verdicts}

    samples = read_samples(path, benchmark)
    faults = check_samples(entry, samples)
    claimed = {claim.key: claim.sha256 for claim in entry.verdicts}
    fitting = {sample.key: sample for sample in samples if claimed.get(sample.key) == sample.sha256}
    drawn = [fitting[key] for key in draw_share(entry, share, seed) if key in fitting]
    log(f"{len(drawn)} of {len(claimed)} samples are run again (--seed {seed})")
    return len(drawn), faults + (check_verdicts(entry, drawn, benchmark, judge) if drawn else [])


def _mark(entry: "Entry", path: Path, checked: int, seed: int) -> None:
    from dlbench.reporting.leaderboard.entry import Verification, hash_entry, write_entry

    facts = {"checked": checked, "seed": seed, "dlbench": __version__, "entry_sha256": hash_entry(entry)}
    check = Verification.model_validate({"date": datetime.now(UTC).date(), **facts})
    write_entry(entry.model_copy(update={"verified": check}), path)


@command("build", leaderboard)
def build(
    out: Annotated[Path | None, typer.Option(help="Folder for both files; the entries' folder by default.")] = None,
    benchmark: BenchmarkOption = None,
) -> None:
    """Build leaderboard.html, a page that opens offline, and leaderboard.md from all valid entries."""
    from dlbench.reporting.leaderboard import build_markdown, build_page, rank_entries
    from dlbench.reporting.leaderboard.entry import FOLDER, find_entries
    from dlbench.reporting.leaderboard.verify import OTHER_VERSION, is_newer

    loaded = dataset.load(benchmark)
    entries: dict[Path, Entry] = {}
    faulty: dict[Path, str] = {}
    for path in find_entries(loaded.root):
        entry, faults = read_checked(path, loaded)
        if entry is not None and not is_newer(entry, loaded):
            # an older dataset version has its own table and was checked when it was new
            faults = [fault for fault in faults if fault.kind != OTHER_VERSION]
        if entry is None or faults:
            faulty[path] = faults[0].what if entry is None else str(faults[0])
        else:
            entries[path] = entry
    tables = rank_entries(entries)
    folder = out or loaded.root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in (("leaderboard.md", build_markdown), ("leaderboard.html", build_page)):
        write_whole(folder / name, make(tables))
        typer.echo(str(folder / name))
    for path, fault in faulty.items():
        typer.echo(f"left out: {path}: {fault}", err=True)
    if faulty:
        raise typer.Exit(1)
