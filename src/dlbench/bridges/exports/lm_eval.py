"""Write a task folder for lm-evaluation-harness (`--include_path`).

It has a YAML description, the prompts, and functions that call dlbench to judge. The folder can be moved.
"""

import json
from pathlib import Path

from dlbench.bridges.exports.rows import ExportOptions, Row
from dlbench.jsonl import rewrite, write_whole

_FUNCTIONS = Path(__file__).with_name("lm_eval_task") / "utils.py"


def write_task(rows: list[Row], options: ExportOptions, folder: Path) -> None:
    name = f"dlbench_{options.split}"
    rewrite(folder / "prompts.jsonl", rows)
    write_whole(folder / "utils.py", _FUNCTIONS.read_text(encoding="utf-8"))
    # as the zero-shot technique: the description precedes the prompt, or is the system message of a chat
    system = json.dumps(f"{rows[0]['system']}\n\n")
    version = json.dumps(rows[0]["benchmark_version"])
    write_whole(
        folder / f"{name}.yaml",
        f"""task: {name}
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
