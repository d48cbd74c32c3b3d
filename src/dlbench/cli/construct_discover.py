"""The first commands of construction: discover and select."""

from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.app import JsonOption, command

WorkOption = Annotated[Path, typer.Option("--work", help="Folder in which every step keeps what it found.")]
WORK = Path("construction")


def discover(
    topic: Annotated[list[str] | None, typer.Option(help="GitHub topic (repeatable); ours by default.")] = None,
    most: Annotated[int, typer.Option(min=1, max=1000, help="Most starred repositories of each topic.")] = 1000,
    github_url: Annotated[
        str | None, typer.Option(help="GitHub's interface, if not the public one. GITHUB_TOKEN is sent there.")
    ] = None,
    patience: Annotated[float, typer.Option(min=0, help="Seconds that GitHub may make us wait for one page.")] = 900.0,
    index: Annotated[list[str] | None, typer.Option(help="Package to look up on the index (repeatable).")] = None,
    names_from: Annotated[
        Path | None, typer.Option(help="File with such names, one a line; # begins a remark.")
    ] = None,
    work: WorkOption = WORK,
    json: JsonOption = False,
) -> None:
    """Find projects: on GitHub by topic, or by name on the package index."""
    from dlbench.cli.output import log
    from dlbench.construction.selection.discover import Discovery, discover_on_github, discover_on_index
    from dlbench.construction.selection.github import API
    from dlbench.construction.selection.topics import read_topics
    from dlbench.construction.work_folder import WorkFolder

    names = [*(index or []), *(_read_names(names_from) if names_from else [])]
    found: dict[str, tuple[str, Discovery]] = {}
    if topic or not (index or names_from):
        asked = f"{len(set(topic or read_topics().github))} topics in"
        url = github_url or API
        search = discover_on_github(WorkFolder(work), topic or (), most=most, base_url=url, patience=patience, log=log)
        found["github"] = (asked, search)
    if index or names_from:
        found["index"] = (f"{len(set(names))} names in", discover_on_index(WorkFolder(work), names, log=log))
    if json:
        import json as format

        record = {
            origin: {"rows": part.rows, "failed": part.failed, "stopped": part.stopped}
            for origin, (_, part) in found.items()
        }
        typer.echo(format.dumps(record, indent=2, ensure_ascii=False))
    else:
        for origin, (asked, part) in found.items():
            for failure in part.failed:
                typer.echo(f"{failure['name']}: {failure['reason']}")
            if part.stopped:
                typer.echo(f"stopped early: {part.stopped}; the same command goes on from here")
            typer.echo(f"{origin}: {asked}, {len(part.rows)} projects out, {len(part.failed)} failed")
    if any(part.stopped for _, part in found.values()):
        raise typer.Exit(1)


def select(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Packages, NAME==VERSION, or owner/name; all that were discovered by default."),
    ] = None,
    projects: Annotated[
        Path | None, typer.Option(help="TOML file: projects with what is known of each, as for `run`.")
    ] = None,
    work: WorkOption = WORK,
    json: JsonOption = False,
) -> None:
    """Choose the projects that can give instances, and say why each of the others cannot."""
    from collections import Counter

    from dlbench.cli.construct_common import read_chosen
    from dlbench.cli.output import counted, log
    from dlbench.construction.selection import criteria as selecting
    from dlbench.construction.work_folder import Row, WorkFolder

    folder = WorkFolder(work)
    if projects:
        wishes = read_chosen(names, projects)
        names = [f"{wish.name}=={wish.version}" if wish.version else wish.name for wish in wishes]
    candidates = selecting.find_candidates(folder, names or ())
    with counted("selecting", len(candidates)) as advance:

        def shown(row: Row) -> None:
            advance(f"{row['name']}: {'selected' if row['selected'] else '; '.join(row['reasons'])}")

        rows = selecting.select(folder, names or (), log=log, on_row=shown)
    if json:
        import json as format

        typer.echo(format.dumps(rows, indent=2, ensure_ascii=False))
        return
    typer.echo(selecting.render_selection(rows))
    against = Counter(kind for row in rows for kind in {selecting.reason_kind(reason) for reason in row["reasons"]})
    why = ", ".join(f"{kind} {count}" for kind, count in against.most_common())
    chosen = sum(row["selected"] for row in rows)
    left_out = f"{len(rows) - chosen} left out" + (f" (against them: {why})" if why else "")
    typer.echo(f"{len(rows)} packages in, {chosen} selected, {left_out}")


def _read_names(path: Path) -> list[str]:
    from dlbench.errors import DLBenchError

    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what, fix = f"cannot be read: {error}", "give a text file with one name a line"
        raise DLBenchError(what, where=str(path), fix=fix) from None
    return [name for line in lines if (name := line.partition("#")[0].strip())]


def register(group: typer.Typer) -> None:
    command("discover", group)(discover)
    command("select", group)(select)
