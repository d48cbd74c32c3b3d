"""Commands of the first construction steps: discover and select."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.app import JsonOption, command
from dlbench.cli.construct_common import WORK, ProjectOptions, WorkOption, construct
from dlbench.cli.output import counted, log, print_json
from dlbench.errors import DLBenchError


@command("discover", construct)
def discover(
    topic: Annotated[
        list[str] | None, typer.Option(help="GitHub topic (repeatable); a built-in list by default.")
    ] = None,
    most: Annotated[
        int, typer.Option(min=1, max=1000, help="Number of most starred repositories for each topic.")
    ] = 1000,
    github_url: Annotated[
        str | None, typer.Option(help="GitHub API, if not the public one. GITHUB_TOKEN is sent there.")
    ] = None,
    patience: Annotated[
        float, typer.Option(min=0, help="Maximum wait in seconds for one page when GitHub limits requests.")
    ] = 900.0,
    index: Annotated[list[str] | None, typer.Option(help="Package to look up on the index (repeatable).")] = None,
    names_from: Annotated[
        Path | None, typer.Option(help="File with package names, one per line; # starts a comment.")
    ] = None,
    work: WorkOption = WORK,
    json: JsonOption = False,
) -> None:
    """Find projects: on GitHub by topic, or by name on the package index."""
    from dlbench.construction.selection.discover import Discovery, discover_on_github, discover_on_index
    from dlbench.construction.selection.github import API
    from dlbench.construction.selection.topics import read_topics
    from dlbench.construction.work_folder import WorkFolder

    names = [*(index or []), *(_read_names(names_from) if names_from else [])]
    found: dict[str, tuple[str, Discovery]] = {}
    if topic or not (index or names_from):
        searched = f"{len(set(topic or read_topics().github))} topics in"
        url = github_url or API
        search = discover_on_github(WorkFolder(work), topic or (), most=most, base_url=url, patience=patience, log=log)
        found["github"] = (searched, search)
    if index or names_from:
        found["index"] = (f"{len(set(names))} names in", discover_on_index(WorkFolder(work), names, log=log))
    if json:
        print_json({origin: part for origin, (_, part) in found.items()})
    else:
        for origin, (searched, part) in found.items():
            for failure in part.failed:
                typer.echo(f"{failure['name']}: {failure['reason']}")
            if part.stopped:
                typer.echo(f"stopped early: {part.stopped}; rerun the same command to resume")
            typer.echo(f"{origin}: {searched}, {len(part.rows)} projects out, {len(part.failed)} failed")
    if any(part.stopped for _, part in found.values()):
        raise typer.Exit(1)


@command("select", construct)
def select(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Packages, NAME==VERSION, or owner/name; all discovered projects by default."),
    ] = None,
    projects: Annotated[
        Path | None, typer.Option(help="TOML file: projects with what is known about each, as for `run`.")
    ] = None,
    work: WorkOption = WORK,
    json: JsonOption = False,
) -> None:
    """Select the projects that can give instances, with the reasons for rejecting the others."""
    from dlbench.construction.selection import criteria as selecting
    from dlbench.construction.work_folder import Row, WorkFolder

    folder = WorkFolder(work)
    if projects:
        specs = ProjectOptions(names, projects).read()
        names = [f"{spec.name}=={spec.version}" if spec.version else spec.name for spec in specs]
    candidates = selecting.find_candidates(folder, names or ())
    with counted("selecting", len(candidates)) as advance:

        def show(row: Row) -> None:
            advance(f"{row['name']}: {'selected' if row['selected'] else '; '.join(row['reasons'])}")

        rows = selecting.select(folder, names or (), log=log, on_row=show)
    chosen = sum(row["selected"] for row in rows)
    if json:
        print_json(rows)
    else:
        typer.echo(selecting.render_selection(rows))
        kinds = Counter(kind for row in rows for kind in {selecting.reason_kind(reason) for reason in row["reasons"]})
        why = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        left_out = f"{len(rows) - chosen} left out" + (f" (reasons: {why})" if why else "")
        typer.echo(f"{len(rows)} packages in, {chosen} selected, {left_out}")
    if not chosen:
        raise DLBenchError("no package is selected", fix="read the reasons above, and give other packages")


def _read_names(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what, fix = f"cannot be read: {error}", "give a text file with one name per line"
        raise DLBenchError(what, where=str(path), fix=fix) from None
    return [name for line in lines if (name := line.partition("#")[0].strip())]
