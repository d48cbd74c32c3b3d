"""Whose code is it, and under what terms may it be passed on?

References are the projects' own. Their licences let anybody pass them on, but with the licence beside them. So an
export with references holds each project's licence too, word by word; where a project's archive has none, its
references are left out and that is said.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dlbench.construction.selection.licenses import list_licence_files
from dlbench.dataset import Project
from dlbench.dataset.prompt_context import fenced
from dlbench.workspace import fetch
from dlbench.workspace.home import Say

NOTICE = "NOTICE.md"
Licences = Mapping[str, Sequence[str]]
"""By project, the texts that its archive has."""


def read_licences(projects: list[Project], root: Path, say: Say) -> Licences:
    """`root` is the benchmark's."""
    found = {project.name: list_licence_files(fetch(project, root, say)) for project in projects}
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
