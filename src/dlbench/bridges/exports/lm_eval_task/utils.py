"""Load prompts and judge answers for lm-evaluation-harness. Copied next to the exported task.

The harness collects all answers and aggregates at the end, so they are judged together, in dlbench's sandbox and warm
workers. `DLBENCH_OUT` names a folder for the verdicts.
"""

import json
import logging
import os
from pathlib import Path
from typing import Any

PROMPTS = Path(__file__).with_name("prompts.jsonl")


def load_prompts(**_: object) -> dict[str, Any]:
    from datasets import Dataset

    lines = PROMPTS.read_text(encoding="utf-8").splitlines()
    return {"test": Dataset.from_list([json.loads(line) for line in lines])}


def keep_answer(doc: dict[str, Any], results: list[str]) -> dict[str, Any]:
    return {"pass_at_1": {"instance": doc["id"], "sample": 0, "answer": results[0]}}


def judge_answers(answers: list[dict[str, Any]]) -> float:
    try:
        import dlbench
    except ImportError:
        raise SystemExit("dlbench judges the answers: pip install dlbench") from None
    verdicts = dlbench.evaluate(answers, out=os.environ.get("DLBENCH_OUT"))
    faults = sum(str(verdict.status) == "harness_error" for verdict in verdicts)
    if faults:
        logging.getLogger("dlbench").warning("%s HARNESS ERRORS count as failures", faults)
    return sum(verdict.passed for verdict in verdicts) / len(verdicts)
