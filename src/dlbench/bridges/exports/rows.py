"""What does an exported instance say?

What a model is asked, and facts to choose by. The project's own code is not in it, since whoever gets the file would
have a solution beside each prompt, and code without its licence; `reference` is there only on request.

Whose code is it, and under what terms may it be passed on?

References are the projects' own. Their licences let anybody pass them on, but with the licence beside them. So an
export with references holds each project's licence too, word by word; where a project's archive has none, its
references are left out and that is said.

How is the dataset read by a program of one's own? As lines of JSON, or as one Parquet table.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlbench.construction.selection.licenses import list_license_files
from dlbench.dataset import Benchmark, Instance, Project
from dlbench.dataset.prompt_context import fenced
from dlbench.generation.sources import Sources, make_asker
from dlbench.jsonl import rewrite
from dlbench.reporting.export import write_parquet
from dlbench.workspace import fetch
from dlbench.workspace.home import Log

NOTICE = "NOTICE.md"
Licences = Mapping[str, Sequence[str]]
"""By project, the texts that its archive has."""


def read_licences(projects: list[Project], root: Path, log: Log) -> Licences:
    """`root` is the benchmark's."""
    found = {project.name: list_license_files(fetch(project, root, log)) for project in projects}
    return {name: [path.read_text(encoding="utf-8", errors="replace") for path in found[name]] for name in found}


def render_short(projects: list[Project], licences: Licences) -> str:
    """For the one who asks, before anything is written."""
    left_out = ": LEFT OUT, since its archive has no licence to pass on with its code"
    lines = [
        f"  {project.name} {project.version}: {project.license}{'' if licences[project.name] else left_out}"
        for project in projects
    ]
    head = "the references are the projects' own code, under their own licences:"
    tail = f"{NOTICE} in the export holds the licences; it must stay with the references wherever they go"
    return "\n".join([head, *lines, tail])


def render_notice(projects: list[Project], licences: Licences) -> str:
    """For everyone who gets the export."""
    parts = ["# Notice\n\nThe references are code of these projects, each under its own licence."]
    for project in projects:
        if licences[project.name]:
            origin = project.archive or (project.git.url if project.git else project.path)
            parts.append(f"## {project.name} {project.version}\n\nLicence: {project.license}. Source: {origin}.")
            parts += [fenced(text, "text") for text in licences[project.name]]
    return "\n\n".join(parts) + "\n"


Row = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """`split` is the name that the export goes by; `licences`, where references are wanted, lets them be passed on."""

    split: str
    licences: Licences | None = None
    canary: bool = False


def make_rows(
    benchmark: Benchmark,
    instances: list[Instance],
    wanted: Wanted,
    sources: Sources,
    on_row: Callable[[str], None] = lambda name: None,
) -> list[Row]:
    """One for each instance: `system` and `prompt` are exactly what zero-shot sends."""
    asker = make_asker(sources, "zero-shot", shots=0, seed=0, prompt_tokens=6000, canary=wanted.canary)
    rows = []
    for instance in instances:
        project = benchmark.project_of(instance)
        (system, user), *_ = asker.ask(instance).turns
        row: Row = {
            "id": instance.id,
            "system": system["content"],
            "prompt": user["content"],
            "project": project.name,
            "version": project.version,
            "released": str(project.released),
            "license": project.license,
            "framework": str(project.framework),
            "path": instance.path,
            "module": instance.module,
            "qualname": instance.qualname,
            "kind": "method" if instance.is_method else "function",
            **{axis: str(label) for axis, label in instance.labels.model_dump().items()},
            "introduced": str(instance.introduced),
            "tests": list(instance.tests),
            "benchmark_version": str(benchmark.version),
        }
        if wanted.licences is not None:
            row["reference"] = sources.reference(instance.id) if wanted.licences[project.name] else None
        rows.append(row)
        on_row(instance.id)
    return rows


def write_jsonl(rows: list[Row], wanted: Wanted, folder: Path) -> None:
    rewrite(folder / f"{wanted.split}.jsonl", rows)


def write_table(rows: list[Row], wanted: Wanted, folder: Path) -> None:
    write_parquet(folder / f"{wanted.split}.parquet", rows)
