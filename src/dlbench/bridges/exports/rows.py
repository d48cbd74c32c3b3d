"""What does an exported instance say?

What a model is asked, and facts to choose by. The project's own code is not in it, since whoever gets the file would
have a solution beside each prompt, and code without its licence; `reference` is there only on request.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dlbench.bridges.exports.notice import Licences
from dlbench.dataset import Benchmark, Instance
from dlbench.generation.sources import Sources, make_asker

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
