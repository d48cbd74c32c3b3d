"""What does a folder look like that `datasets.load_dataset` takes, here or from the hub?

Parquet under `data`, and a card whose first lines tell the library which files are which split and tell people what
they may do with it.
"""

from collections.abc import Mapping
from pathlib import Path

from dlbench.bridges.exports.rows import NOTICE, ExportOptions, Row
from dlbench.jsonl import write_whole
from dlbench.reporting.export import write_parquet
from dlbench.reporting.tables import to_markdown

SPLIT = "test"
"""What others call data that nothing is trained on."""

_FIELDS = {
    "id": "the instance, as samples must name it",
    "system, prompt": "what a model is asked: the system message and the user's",
    "project, version, released, license, framework": "which release of which project",
    "path, module, qualname, kind": "where the function or method stands in it",
    "stage, task, data": "labels: pipeline stage, ML task, kind of data",
    "introduced": "the day on which a release first had the function",
    "tests": "ids of the project's own tests that judge an answer",
    "benchmark_version": "scores may be compared while the part before the dot is the same",
    "reference": "the project's own implementation, under the project's licence",
}


def write_folder(rows: list[Row], wanted: ExportOptions, folder: Path) -> None:
    (folder / "data").mkdir()
    write_parquet(folder / "data" / f"{SPLIT}-00000-of-00001.parquet", rows)
    write_whole(folder / "README.md", render_card(rows, wanted))


def render_card(rows: list[Row], wanted: ExportOptions) -> str:
    projects = {row["project"]: row["license"] for row in rows}
    fields = {name: text for name, text in _FIELDS.items() if name.split(",")[0] in rows[0]}
    used = (
        f"`reference` is the projects' own code; [{NOTICE}]({NOTICE}) holds their licences and must go where it goes."
        if wanted.licences is not None
        else "The projects' own implementations are not in it."
    )
    return f"""---
pretty_name: DL-Bench ({wanted.split})
language:
- en
license: {"apache-2.0" if wanted.licences is None else "other"}
task_categories:
- text-generation
tags:
- code
- deep-learning
- benchmark
size_categories:
- {_size(len(rows))}
configs:
- config_name: default
  data_files:
  - split: {SPLIT}
    path: data/{SPLIT}-*.parquet
---

# DL-Bench: {wanted.split}

{len(rows)} instances of {len(projects)} projects (benchmark version {rows[0]["benchmark_version"]}). Each asks a model
for one function or method of a real open-source deep-learning project; the project's own tests judge what it writes.
This is benchmark data: do not train on it. {used}

```python
from datasets import load_dataset

instances = load_dataset("path/to/this/folder", split="{SPLIT}")
```

Answers are judged by `dlbench`, not by anything in this folder: write a line
`{{"instance": id, "sample": 0, "answer": text}}` for each, then `dlbench evaluate samples.jsonl --out runs/mine`.

{_table("field", "what it is", fields)}

{_table("project", "licence", dict(sorted(projects.items())))}
"""


def _table(first: str, second: str, rows: Mapping[str, str]) -> str:
    return "\n".join(to_markdown(([first, second], [[name, text] for name, text in rows.items()])))


def _size(count: int) -> str:
    return "n<1K" if count < 1000 else "1K<n<10K"
