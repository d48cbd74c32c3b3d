"""Export tasks for evalplus, and import the solutions that it generated.

evalplus can generate with a task, but not judge: it compares return values of stand-alone functions. So `base_input` is
null, on which its judge stops with an error; an empty list would make it pass every answer.
"""

import textwrap
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dlbench.bridges.exports.rows import Row
from dlbench.dataset import Benchmark, Instance
from dlbench.dataset.target import find_target, render_imports, render_signature
from dlbench.errors import DLBenchError
from dlbench.generation.sources import Sources
from dlbench.jsonl import read_lines
from dlbench.parsing import parse
from dlbench.registry import find_known


def make_task(row: Mapping[str, str], instance: Instance, sources: Sources, canary: str) -> Row:
    source = sources.module(instance)
    target = find_target(source, instance.qualname)
    *classes, _ = instance.qualname.split(".")
    lines = [f"# {instance.project}, module {instance.module}"]
    lines += [f"# Benchmark data, not to be trained on. Canary: {canary}"] if canary else []
    lines += [render_imports(parse(source)), ""]
    lines += [f"{'    ' * depth}class {name}:" for depth, name in enumerate(classes)]
    text = instance.prompt.strip().replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    header = f'{render_signature(target.node)}\n    """\n{textwrap.indent(text, "    ")}\n    """'
    lines += [textwrap.indent(header, "    " * len(classes))]
    # the whole definition, which redefines the header before it
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


_FIX = 'pass lines that evalplus wrote: {"task_id": "project/name", "solution": "…"}'


def read_solutions(path: Path, benchmark: Benchmark, prompts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Samples for `evaluate`, numbered per task in file order. `prompts`: by task, as exported."""
    samples = []
    counts: Counter[str] = Counter()
    for number, record in read_lines(path):
        where = f"{path}:{number}"
        match record:
            case {"task_id": str(task), "solution": str(code)}:
                pass
            case {"task_id": str(task), "completion": str(rest)}:
                if task not in prompts:
                    fix = "pass the exported file with --tasks: completions continue its prompts"
                    raise DLBenchError(f"a completion of {task}, whose prompt is unknown", where=where, fix=fix)
                code = prompts[task] + rest
            case _:
                raise DLBenchError("not a solution", where=where, fix=_FIX)
        find_known(task, benchmark.instances, "instance", where)
        samples.append({"instance": task, "sample": counts[task], "answer": code})
        counts[task] += 1
    if not samples:
        raise DLBenchError("the file has no solution", where=str(path), fix=_FIX)
    return samples


def read_prompts(path: Path) -> dict[str, str]:
    return {str(record.get("task_id")): str(record.get("prompt")) for _, record in read_lines(path)}
