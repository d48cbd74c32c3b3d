"""What does evalplus read as its dataset?

Lines in the shape of HumanEval+, each prompt a piece of code to go on from: imports, header, and our words where the
docstring would be. evalplus can ask models with it and clean their answers up. It cannot judge them: it compares return
values of functions that stand alone, and ours stand in projects. So `base_input` is null, on which its judge stops with
an error; an empty list would have it pass every answer.
"""

import textwrap
from collections.abc import Mapping
from pathlib import Path

from dlbench.bridges.exports.rows import Row
from dlbench.dataset import Benchmark, Instance
from dlbench.dataset.prompt_context import render_imports
from dlbench.dataset.target import find_target, render_signature
from dlbench.generation.sources import Sources
from dlbench.jsonl import rewrite
from dlbench.parsing import parse

OVERRIDE = "HUMANEVAL_OVERRIDE_PATH"
"""The variable by which evalplus takes another file for HumanEval+."""


def write_tasks(rows: list[Row], benchmark: Benchmark, sources: Sources, path: Path, canary: str) -> None:
    rewrite(path, (make_task(row, benchmark.instances[row["id"]], sources, canary) for row in rows))


def make_task(row: Mapping[str, str], instance: Instance, sources: Sources, canary: str) -> Row:
    source = sources.module(instance)
    target = find_target(source, instance.qualname)
    *classes, _ = instance.qualname.split(".")
    lines = [f"# {instance.project}, module {instance.module}"]
    lines += [f"# Benchmark data, not to be trained on. Canary: {canary}"] if canary else []
    lines += [render_imports(parse(source)), ""]
    lines += [f"{'    ' * depth}class {name}:" for depth, name in enumerate(classes)]
    words = instance.prompt.strip().replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    header = f'{render_signature(target.node)}\n    """\n{textwrap.indent(words, "    ")}\n    """'
    lines += [textwrap.indent(header, "    " * len(classes))]
    # the whole definition, which takes the place of the header before it
    solution = textwrap.indent(textwrap.dedent(row["reference"]), "    " * len(classes)) if row.get("reference") else ""
    return {
        "task_id": instance.id,
        "prompt": "\n".join(lines) + "\n",
        "entry_point": classes[0] if classes else instance.name,
        "canonical_solution": f"\n{solution}\n" if solution else "",
        "contract": "",
        "base_input": None,
        "plus_input": None,
        "atol": 0,
        "test": "",
    }
