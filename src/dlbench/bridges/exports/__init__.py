"""Export the dataset for other tools in one of five formats: prompts only, or with references and their licences.

The folder is written completely or not at all.
"""

from collections.abc import Callable
from pathlib import Path

from dlbench.bridges import Format
from dlbench.bridges.exports import evalplus, hugging_face, lm_eval
from dlbench.bridges.exports.rows import NOTICE, ExportOptions, make_rows, render_notice
from dlbench.dataset import Benchmark, Instance, Project
from dlbench.errors import DLBenchError
from dlbench.generation.sources import Sources
from dlbench.jsonl import rewrite, write_whole
from dlbench.reporting.export import has_parquet, write_parquet
from dlbench.workspace import building
from dlbench.workspace.home import Log, quiet


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
                lm_eval.write_task(rows, options, folder)
            case Format.EVALPLUS:
                canary = benchmark.canary if options.canary else ""
                tasks = (evalplus.make_task(row, benchmark.instances[row["id"]], sources, canary) for row in rows)
                rewrite(folder / f"{options.split}.jsonl", tasks)
        if options.licences is not None:
            write_whole(folder / NOTICE, render_notice(list_projects(benchmark, instances), options.licences))
