"""What does evalplus read as its dataset?

Lines in the shape of HumanEval+, each prompt a piece of code to go on from: imports, header, and our words where the
docstring would be. evalplus can ask models with it and clean their answers up. It cannot judge them: it compares return
values of functions that stand alone, and ours stand in projects. So `base_input` is null, on which its judge stops with
an error; an empty list would have it pass every answer.

How do answers come back that evalplus asked for?

Its lines name a task and a solution, ours an instance and a sample. A `completion` goes on where the prompt ended, so
it is read after the prompt that it belongs to.
"""

import textwrap
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dlbench.bridges.exports.rows import Row
from dlbench.dataset import Benchmark, Instance
from dlbench.dataset.prompt_context import render_imports
from dlbench.dataset.target import find_target, render_signature
from dlbench.errors import DLBenchError
from dlbench.generation.sources import Sources
from dlbench.jsonl import read_lines, rewrite
from dlbench.parsing import parse
from dlbench.registry import find_known

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


_FIX = 'give lines that evalplus wrote: {"task_id": "project/name", "solution": "…"}'


def read_solutions(path: Path, benchmark: Benchmark, prompts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Samples as `evaluate` takes them, those of a task numbered in their order. `prompts`: by task, as exported."""
    samples = []
    counts: Counter[str] = Counter()
    for number, record in read_lines(path):
        where = f"{path}:{number}"
        match record:
            case {"task_id": str(task), "solution": str(code)}:
                pass
            case {"task_id": str(task), "completion": str(rest)}:
                if task not in prompts:
                    fix = "give the exported file with --tasks, where the prompts stand that it goes on from"
                    raise DLBenchError(f"a completion of {task}, whose prompt is not known", where=where, fix=fix)
                code = prompts[task] + rest
            case _:
                raise DLBenchError("not a solution", where=where, fix=_FIX)
        try:
            find_known(task, benchmark.instances, "instance")
        except DLBenchError as error:
            raise DLBenchError(error.what, where=where, fix=error.fix) from None
        samples.append({"instance": task, "sample": counts[task], "answer": code})
        counts[task] += 1
    if not samples:
        raise DLBenchError("there is no solution here", where=str(path), fix=_FIX)
    return samples


def read_prompts(path: Path) -> dict[str, str]:
    return {str(record.get("task_id")): str(record.get("prompt")) for _, record in read_lines(path)}
