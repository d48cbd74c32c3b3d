"""How do answers come back that evalplus asked for?

Its lines name a task and a solution, ours an instance and a sample. A `completion` goes on where the prompt ended, so
it is read after the prompt that it belongs to.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dlbench.dataset import Benchmark, find_known
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines

_MEND = 'give lines that evalplus wrote: {"task_id": "project/name", "solution": "…"}'


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
                    mend = "give the exported file with --tasks, where the prompts stand that it goes on from"
                    raise DLBenchError(f"a completion of {task}, whose prompt is not known", where=where, mend=mend)
                code = prompts[task] + rest
            case _:
                raise DLBenchError("not a solution", where=where, mend=_MEND)
        try:
            find_known(task, benchmark.instances, "instance")
        except DLBenchError as error:
            raise DLBenchError(error.what, where=where, mend=error.mend) from None
        samples.append({"instance": task, "sample": counts[task], "answer": code})
        counts[task] += 1
    if not samples:
        raise DLBenchError("there is no solution here", where=str(path), mend=_MEND)
    return samples


def read_prompts(path: Path) -> dict[str, str]:
    return {str(record.get("task_id")): str(record.get("prompt")) for _, record in read_lines(path)}
