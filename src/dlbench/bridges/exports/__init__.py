"""Export the dataset for other tools in one of five formats: prompts only, or with references and their licences.

The folder is written completely or not at all.
"""

import json
from collections.abc import Callable
from pathlib import Path

from dlbench.bridges import Format
from dlbench.bridges.exports import evalplus, hugging_face
from dlbench.bridges.exports.rows import NOTICE, ExportOptions, Row, make_rows, render_notice
from dlbench.dataset import Benchmark, Instance, Project
from dlbench.errors import DLBenchError
from dlbench.generation.sources import Sources
from dlbench.jsonl import rewrite, write_whole
from dlbench.reporting.export import has_parquet, write_parquet
from dlbench.workspace import building
from dlbench.workspace.home import Log, quiet

_LM_EVAL_FUNCTIONS = Path(__file__).with_name("lm_eval_task") / "utils.py"


def list_projects(benchmark: Benchmark, instances: list[Instance]) -> list[Project]:
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
    if out.exists():
        raise DLBenchError("this exists already", where=str(out), fix="pass --out a new folder")
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
                hugging_face.write_folder(rows, options, folder)
            case Format.LM_EVAL:
                _write_lm_eval_task(rows, options.split, folder)
            case Format.EVALPLUS:
                canary = benchmark.canary if options.canary else ""
                tasks = (evalplus.make_task(row, benchmark.instances[row["id"]], sources, canary) for row in rows)
                rewrite(folder / f"{options.split}.jsonl", tasks)
        if options.licences is not None:
            write_whole(folder / NOTICE, render_notice(list_projects(benchmark, instances), options.licences))


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
