"""The command `import official`: convert the official DL-Bench files to a benchmark folder and list every repair."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.app import JsonOption, add_group, command
from dlbench.cli.output import log, print_json
from dlbench.errors import DLBenchError
from dlbench.jsonl import rewrite

if TYPE_CHECKING:
    from dlbench.analysis.official import RepairedFile

_SHOWN = 5

imports = add_group("import", "Import other datasets and answers.")


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
        shown = ", ".join(map(str, others[:_SHOWN])) + (", …" if len(others) > _SHOWN else "")
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
    if sources:
        _fetch_sources(sources, repaired)
    if answers and samples:
        _write_samples(answers, samples, repaired)


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
