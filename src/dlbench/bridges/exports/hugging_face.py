"""Write a folder for `datasets.load_dataset`, local or on the hub: Parquet under `data`, and a dataset card."""

from collections.abc import Mapping
from pathlib import Path

from dlbench.bridges.exports.rows import NOTICE, ExportOptions, Row
from dlbench.jsonl import write_whole
from dlbench.reporting.export import write_parquet
from dlbench.reporting.tables import to_markdown

SPLIT = "test"
"""The usual name for data that nothing is trained on."""

_FIELDS = {
    "id": "the instance, as in samples",
    "system, prompt": "the system and user messages for the model",
    "project, version, released, license, framework": "which release of which project",
    "path, module, qualname, kind": "where the function or method is in it",
    "stage, task, data": "labels: pipeline stage, ML task, kind of data",
    "introduced": "the date of the first release with the function",
    "tests": "ids of the project's own tests that judge an answer",
    "benchmark_version": "scores may be compared while the part before the dot is the same",
    "reference": "the project's own implementation, under the project's licence",
}


def write_folder(rows: list[Row], options: ExportOptions, folder: Path) -> None:
    (folder / "data").mkdir()
    write_parquet(folder / "data" / f"{SPLIT}-00000-of-00001.parquet", rows)
    write_whole(folder / "README.md", render_card(rows, options))


def render_card(rows: list[Row], options: ExportOptions) -> str:
    projects = {row["project"]: row["license"] for row in rows}
    fields = {name: text for name, text in _FIELDS.items() if name.split(",")[0] in rows[0]}
    used = (
        f"`reference` is the projects' own code; [{NOTICE}]({NOTICE}) has their licences and must be kept with it."
        if options.licences is not None
        else "It does not contain the projects' own implementations."
    )
    return f"""---
pretty_name: DL-Bench ({options.split})
language:
- en
license: {"apache-2.0" if options.licences is None else "other"}
task_categories:
- text-generation
tags:
- code
- deep-learning
- benchmark
size_categories:
- {"n<1K" if len(rows) < 1000 else "1K<n<10K"}
configs:
- config_name: default
  data_files:
  - split: {SPLIT}
    path: data/{SPLIT}-*.parquet
---

# DL-Bench: {options.split}

{len(rows)} instances of {len(projects)} projects (benchmark version {rows[0]["benchmark_version"]}). Each asks a model
for one function or method of a real open-source deep-learning project; the project's own tests judge the answer.
This is benchmark data: do not train on it. {used} {options.origin}

```python
from datasets import load_dataset

instances = load_dataset("path/to/this/folder", split="{SPLIT}")
```

Answers are judged by `dlbench`, not by anything in this folder: write a line
`{{"instance": id, "sample": 0, "answer": text}}` for each, then `dlbench evaluate samples.jsonl --out runs/mine`.

{_table("field", "meaning", fields)}

{_table("project", "licence", dict(sorted(projects.items())))}
"""


def _table(first: str, second: str, rows: Mapping[str, str]) -> str:
    return "\n".join(to_markdown(([first, second], [[name, text] for name, text in rows.items()])))
