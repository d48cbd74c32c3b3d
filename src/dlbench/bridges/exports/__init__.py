"""Export the dataset for other tools: prompts only, or with references and their licences.

The folder is written completely or not at all.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dlbench.bridges import Format
from dlbench.bridges.exports import evalplus
from dlbench.bridges.exports.harbor import write_harbor_task
from dlbench.bridges.exports.rows import NOTICE, ExportOptions, Row, make_rows, render_notice
from dlbench.bridges.exports.swe_bench import make_swe_bench_row
from dlbench.dataset import Benchmark, Instance, Project
from dlbench.dataset.file_task import FileTask
from dlbench.errors import DLBenchError
from dlbench.execution.file_task import open_task
from dlbench.generation.sources import Sources
from dlbench.jsonl import rewrite, write_whole
from dlbench.reporting.export import has_parquet, write_parquet
from dlbench.reporting.tables import to_markdown
from dlbench.workspace import building
from dlbench.workspace.environment import fetch_to_read
from dlbench.workspace.home import Log, quiet

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


def _write_hugging_face(rows: list[Row], options: ExportOptions, folder: Path) -> None:
    """A folder for `datasets.load_dataset`, local or on the hub."""
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


_LM_EVAL_FUNCTIONS = Path(__file__).with_name("lm_eval_task") / "utils.py"


def list_projects(benchmark: Benchmark, instances: Sequence[Instance | FileTask]) -> list[Project]:
    names = dict.fromkeys(instance.project for instance in instances)
    return [benchmark.projects[name] for name in names]


def export(
    benchmark: Benchmark,
    instances: list[Instance],
    format: Format,
    options: ExportOptions,
    out: Path,
    *,
    log: Log = quiet,
    on_row: Callable[[str], None] = lambda name: None,
) -> None:
    """`on_row` is called with each finished instance."""
    _check_new(out)
    if format in (Format.PARQUET, Format.HF) and not has_parquet():
        raise DLBenchError("pyarrow is not installed", fix="pip install 'dlbench[report]'")
    sources = Sources(benchmark, log)
    rows = make_rows(benchmark, instances, options, sources, on_row)
    with building(out) as folder:
        match format:
            case Format.JSONL:
                rewrite(folder / f"{options.split}.jsonl", rows)
            case Format.PARQUET:
                write_parquet(folder / f"{options.split}.parquet", rows)
            case Format.HF:
                _write_hugging_face(rows, options, folder)
            case Format.LM_EVAL:
                _write_lm_eval_task(rows, options.split, folder)
            case Format.EVALPLUS:
                canary = benchmark.canary if options.canary else ""
                tasks = (evalplus.make_task(row, benchmark.instances[row["id"]], sources, canary) for row in rows)
                rewrite(folder / f"{options.split}.jsonl", tasks)
        if options.licences is not None:
            write_whole(folder / NOTICE, render_notice(list_projects(benchmark, instances), options.licences))


def _check_new(out: Path) -> None:
    if out.exists():
        raise DLBenchError("this exists already", where=str(out), fix="pass --out a new folder")


def export_file_tasks(
    benchmark: Benchmark,
    records: Sequence[FileTask],
    format: Format,
    options: ExportOptions,
    out: Path,
    *,
    log: Log = quiet,
    on_row: Callable[[str], None] = lambda name: None,
) -> None:
    """Tasks of many files: the code that is given, which is read from the releases, is part of the export."""
    _check_new(out)
    projects = list_projects(benchmark, records)
    with building(out) as folder:
        rows = []
        for record in records:
            release = fetch_to_read(record.find_base(benchmark.projects), benchmark.root, log)
            task = open_task(record, release, benchmark.root, log)
            if format is Format.HARBOR:
                write_harbor_task(benchmark, task, options, folder)
            else:
                rows.append(make_swe_bench_row(benchmark, task, options, folder))
            on_row(record.id)
        if rows:
            rewrite(folder / f"{options.split}.jsonl", rows)
        if options.licences is not None:
            write_whole(folder / NOTICE, render_notice(projects, options.licences))


def _write_lm_eval_task(rows: list[Row], split: str, folder: Path) -> None:
    """A YAML description, the prompts, and functions that call dlbench to judge. The folder can be moved."""
    rewrite(folder / "prompts.jsonl", rows)
    write_whole(folder / "utils.py", _LM_EVAL_FUNCTIONS.read_text(encoding="utf-8"))
    # as the zero-shot technique: the description precedes the prompt, or is the system message of a chat
    system = json.dumps(f"{rows[0]['system']}\n\n")
    version = json.dumps(rows[0]["benchmark_version"])
    write_whole(
        folder / f"dlbench_{split}.yaml",
        f"""task: dlbench_{split}
custom_dataset: !function utils.load_prompts
test_split: test
output_type: generate_until
description: {system}
doc_to_text: prompt
doc_to_target: ""
process_results: !function utils.keep_answer
generation_kwargs:
  until: []
  do_sample: false
  temperature: 0.0
  max_gen_toks: 1024
metric_list:
  - metric: pass_at_1
    aggregation: !function utils.judge_answers
    higher_is_better: true
metadata:
  version: {version}
""",
    )
