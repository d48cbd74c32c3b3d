"""The rows of an export, and the licences of the references.

A row has no project code by default: whoever receives the file would have a solution next to each prompt, and code
without its licence.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlbench.construction.selection.releases import list_license_files
from dlbench.dataset import Benchmark, Instance, Project
from dlbench.dataset.target import fenced
from dlbench.generation.sources import Sources, make_prompt_builder
from dlbench.workspace import fetch
from dlbench.workspace.home import Log

NOTICE = "NOTICE.md"
Licences = Mapping[str, Sequence[str]]
"""By project, the licence texts of its archive."""


def read_licences(projects: list[Project], root: Path, log: Log) -> Licences:
    """`root` is the benchmark's."""
    found = {project.name: list_license_files(fetch(project, root, log)) for project in projects}
    return {name: [path.read_text(encoding="utf-8", errors="replace") for path in found[name]] for name in found}


def render_short(projects: list[Project], licences: Licences) -> str:
    """For the terminal, before anything is written."""
    left_out = ": LEFT OUT, since its archive has no licence text"
    lines = [
        f"  {project.name} {project.version}: {project.license}{'' if licences[project.name] else left_out}"
        for project in projects
    ]
    head = "the references are the projects' own code, under their own licences:"
    tail = f"{NOTICE} in the export has the licences; keep it with the references"
    return "\n".join([head, *lines, tail])


def render_notice(projects: list[Project], licences: Licences) -> str:
    """For everyone who receives the export."""
    parts = ["# Notice\n\nThe references are code of these projects, each under its own licence."]
    for project in projects:
        if licences[project.name]:
            origin = project.archive or (project.git.url if project.git else project.path)
            parts.append(f"## {project.name} {project.version}\n\nLicence: {project.license}. Source: {origin}.")
            parts += [fenced(text, "text") for text in licences[project.name]]
    return "\n\n".join(parts) + "\n"


Row = dict[str, Any]


@dataclass(frozen=True)
class ExportOptions:
    """`split`: the name of the export; `licences`: given where references are included."""

    split: str
    licences: Licences | None = None
    canary: bool = False
    origin: str = ""


def make_rows(
    benchmark: Benchmark,
    instances: list[Instance],
    options: ExportOptions,
    sources: Sources,
    on_row: Callable[[str], None] = lambda name: None,
) -> list[Row]:
    """One per instance; `system` and `prompt` are exactly what the zero-shot technique sends."""
    prompts = make_prompt_builder(sources, "zero-shot", shots=0, seed=0, prompt_tokens=6000, canary=options.canary)
    rows = []
    for instance in instances:
        project = benchmark.project_of(instance)
        (system, user), *_ = prompts.build(instance).turns
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
        if options.licences is not None:
            row["reference"] = sources.reference(instance.id) if options.licences[project.name] else None
        rows.append(row)
        on_row(instance.id)
    return rows
