"""The commands of the leaderboard: submit a run, find out whether a submission is so, and make the page."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.app import CORES, BenchmarkOption, JsonOption, SandboxOption, WorkersOption, app, command
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.dataset import Benchmark
    from dlbench.reporting.leaderboard.entry import Entry, Setting
    from dlbench.reporting.leaderboard.verify import Fault
    from dlbench.runs.samples import Sample
    from dlbench.runs.verdict import Verdict

leaderboard = typer.Typer(
    help="Submit runs, verify what was submitted, and build the page.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(leaderboard, name="leaderboard")

_SHARE = 0.1


@command("add", leaderboard)
def add(
    run: Annotated[Path, typer.Argument(help="Run folder, of `run` or `evaluate`, with a whole split.")],
    samples_from: Annotated[
        str, typer.Option(help="Where the samples can be had (an address), or how they are made again.")
    ],
    split: Annotated[str | None, typer.Option(help="The split; found by its instances otherwise.")] = None,
    model: Annotated[str | None, typer.Option(help="The model, where the run does not say it.")] = None,
    technique: Annotated[str | None, typer.Option(help="The technique, where the run does not say it.")] = None,
    temperature: Annotated[
        str | None,
        typer.Option(help="The temperature, where the run does not say it; none, of a model that takes none."),
    ] = None,
    date: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Day of the run; that of its verdicts otherwise.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of another with its name.")] = False,
    benchmark: BenchmarkOption = None,
) -> None:
    """Write a run's entry into the benchmark's folder `leaderboard`: settings, score, verdicts, hashes of answers."""
    from dlbench.dataset import load
    from dlbench.reporting.leaderboard.entry import FOLDER, make_entry, name_entry, render_entry, write_entry
    from dlbench.reporting.leaderboard.verify import check_entry
    from dlbench.runs import read_run

    loaded = load(benchmark)
    given = {"model": model, "technique": technique}
    told: dict[str, Setting] = {key: value for key, value in given.items() if value is not None}
    if temperature is not None:
        told["temperature"] = _read_temperature(temperature)
    day = date.date() if date else None
    entry = make_entry(read_run(run), loaded, samples_from, split=split, day=day, told=told)
    if faults := check_entry(entry, loaded):
        shown = "\n".join(f"  {fault}" for fault in faults[:20])
        fix = "finish the run; where the limits are wider, judge its samples again with the usual ones"
        raise DLBenchError(f"the run cannot be submitted:\n{shown}", where=str(run), fix=fix)
    path = loaded.root / FOLDER / name_entry(entry)
    if path.exists() and path.read_text(encoding="utf-8") != render_entry(entry) and not replace:
        raise DLBenchError("there is another entry with these settings", where=str(path), fix="say --replace")
    write_entry(entry, path)
    typer.echo(f"{path}: pass@1 {entry.score.pass_at_1:.1%} on {entry.split}")


def _read_temperature(given: str) -> float | None:
    try:
        return None if given == "none" else float(given)
    except ValueError:
        fix = "give a number, or none of a model that takes no temperature"
        raise DLBenchError(f"{given!r} is no temperature", where="--temperature", fix=fix) from None


@command("verify", leaderboard)
def verify(
    entries: Annotated[list[Path] | None, typer.Argument(help="Files of entries; all of the board by default.")] = None,
    samples: Annotated[
        Path | None, typer.Option(help="The samples of the one entry given; some are run again.")
    ] = None,
    share: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help=f"How many of the samples are run again. [default: {_SHARE}]")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run all of them again.")] = False,
    seed: Annotated[int | None, typer.Option(help="Which ones; nobody can know beforehand by default.")] = None,
    mark: Annotated[bool, typer.Option("--mark", help="Write into the entry that it was verified.")] = False,
    benchmark: BenchmarkOption = None,
    workers: WorkersOption = CORES,
    sandbox: SandboxOption = "auto",
    json: JsonOption = False,
) -> None:
    """Find out whether entries are so: against the dataset, their samples, and with --samples the engine."""
    from dlbench.cli.output import log
    from dlbench.dataset import load
    from dlbench.reporting.leaderboard.entry import find_entries, read_entry
    from dlbench.reporting.leaderboard.verify import Fault, FaultKind, count_repeated, is_about

    loaded = load(benchmark)
    paths = entries or find_entries(loaded.root)
    if samples and len(paths) != 1:
        raise DLBenchError(f"samples belong to one entry, and there are {len(paths)}", fix="name the entry")
    asked = {"--share": share is not None, "--all": every, "--seed": seed is not None, "--mark": mark}
    if not samples and any(asked.values()):
        names = ", ".join(name for name, is_given in asked.items() if is_given)
        raise DLBenchError(f"{names}: without samples nothing is run again", fix="give --samples FILE too")
    if every and share is not None:
        raise DLBenchError("--all is every sample, and --share is some", fix="leave one of them out")
    found: dict[str, list[Fault]] = {}
    for path in paths:
        try:
            entry = read_entry(path)
        except DLBenchError as error:
            found[str(path)] = [Fault(FaultKind.MALFORMED, error.what)]
            continue
        faults = found[str(path)] = check_file(path, entry, loaded)
        if repeated := count_repeated(entry):
            log(f"{path}: {repeated} of {len(entry.verdicts)} samples repeat another answer to their instance")
        if samples and is_about(entry, loaded):
            again = Rejudging(1.0 if every else _SHARE if share is None else share, seed, workers, sandbox)
            faults += again.check(entry, samples, loaded)
            if mark and not faults:
                again.mark(entry, path)
    how = "as far as can be seen without samples" if not samples else f"with {'all' if every else 'some'} run again"
    _tell(found, f"hold, {how}", as_json=json)


def check_file(path: Path, entry: "Entry", benchmark: "Benchmark") -> "list[Fault]":
    """What is wrong with an entry and its name: under another name it would stand on the board twice."""
    from dlbench.reporting.leaderboard.entry import name_entry
    from dlbench.reporting.leaderboard.verify import Fault, FaultKind, check_entry

    faults = check_entry(entry, benchmark)
    if path.name != name_entry(entry):
        faults.append(Fault(FaultKind.MISNAMED, f"with these settings it is {name_entry(entry)}"))
    return faults


class Rejudging:
    """Running samples again: how many, which, and with what."""

    def __init__(self, share: float, seed: int | None, workers: int, sandbox: str) -> None:
        import secrets

        self.share, self.workers, self.sandbox = share, workers, sandbox
        self.seed = secrets.randbelow(2**31) if seed is None else seed
        self.checked = 0

    def check(self, entry: "Entry", path: Path, benchmark: "Benchmark") -> "list[Fault]":
        from dlbench.cli.output import log
        from dlbench.reporting.leaderboard.verify import check_samples, check_verdicts, draw_share
        from dlbench.runs.samples import read_samples

        given = read_samples(path, benchmark)
        faults = check_samples(entry, given)
        claimed = {claim.key: claim.sha256 for claim in entry.verdicts}
        fitting = {sample.key: sample for sample in given if claimed.get(sample.key) == sample.sha256}
        drawn = [fitting[key] for key in draw_share(entry, self.share, self.seed) if key in fitting]
        log(f"{len(drawn)} of {len(claimed)} samples are run again (--seed {self.seed})")
        if drawn:
            faults += check_verdicts(entry, drawn, benchmark, lambda chosen: self._judge(chosen, entry, benchmark))
        self.checked = len(drawn)
        return faults

    def _judge(
        self, samples: "Sequence[Sample]", entry: "Entry", benchmark: "Benchmark"
    ) -> "dict[tuple[str, int], Verdict]":
        from dlbench.cli.engine import make_engine
        from dlbench.cli.report import judge_samples

        verdicts = judge_samples(benchmark, list(samples), make_engine(self.sandbox, *entry.limits), self.workers)
        return {(verdict.instance, verdict.sample): verdict for verdict in verdicts}

    def mark(self, entry: "Entry", path: Path) -> None:
        from datetime import UTC

        from dlbench import __version__
        from dlbench.reporting.leaderboard.entry import Verification, hash_entry, write_entry

        check = Verification(
            date=datetime.now(UTC).date(),
            checked=self.checked,
            seed=self.seed,
            dlbench=__version__,
            entry_sha256=hash_entry(entry),
        )
        write_entry(entry.model_copy(update={"verified": check}), path)


def _tell(found: "dict[str, list[Fault]]", how: str, *, as_json: bool) -> None:
    if as_json:
        from dlbench.cli.output import print_json

        print_json(found)
    else:
        for path, faults in found.items():
            for fault in faults:
                typer.echo(f"{path}: {fault}")
        good = sum(not faults for faults in found.values())
        typer.echo(f"{good} of {len(found)} entries {how}")
    if any(found.values()):
        raise typer.Exit(1)


@command("build", leaderboard)
def build(
    out: Annotated[Path | None, typer.Option(help="Folder for both files; that of the entries by default.")] = None,
    benchmark: BenchmarkOption = None,
) -> None:
    """Make leaderboard.html, a page that opens offline, and leaderboard.md, of all entries that hold."""
    from dlbench.dataset import load
    from dlbench.jsonl import write_whole
    from dlbench.reporting.leaderboard import build_markdown, build_page
    from dlbench.reporting.leaderboard.entry import FOLDER, find_entries, read_entry
    from dlbench.reporting.leaderboard.ranking import rank_entries

    loaded = load(benchmark)
    entries: dict[Path, Entry] = {}
    faulty: dict[Path, str] = {}
    for path in find_entries(loaded.root):
        try:
            entry = read_entry(path)
        except DLBenchError as error:
            faulty[path] = error.what
            continue
        if faults := _refuse(path, entry, loaded):
            faulty[path] = str(faults[0])
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


def _refuse(path: Path, entry: "Entry", benchmark: "Benchmark") -> "list[Fault]":
    """What keeps it off the page. One on an older version has a table of its own; it was checked when that was new."""
    from dlbench.reporting.leaderboard.verify import FaultKind, is_newer

    faults = check_file(path, entry, benchmark)
    if is_newer(entry, benchmark):
        return faults
    return [fault for fault in faults if fault.kind is not FaultKind.DATASET_VERSION]
