"""Which answers are missing, whole or in part, for a reason that is not what the model knows?

A prompt that does not fit, a content filter, a server that takes answers for thoughts: each gives empty answers, and a
score of 0 that looks like the model's. What the endpoint said of each answer still stands beside it.
"""

import re
from collections import Counter
from typing import Any

from dlbench.jsonl import read_lines
from dlbench.runs import SAMPLES, Run

# Most runs have none, and are not parsed to find that out.
_PERHAPS = re.compile(rb'"(?:context_length|content_filter)"|"answer": ?""')
# Fewer are a model that lost its thread; a server that is set up wrongly gives more.
_MANY = 0.05


def tell_silences(name: str, run: Run) -> list[str]:
    path = run.folder / SAMPLES
    if not path.is_file() or not _PERHAPS.search(path.read_bytes()):
        return []
    causes = [_find_cause(record) for _, record in read_lines(path)]
    counts, told = Counter(causes), []
    if refused := counts["context_length"]:
        told.append(
            f"TOO LONG FOR THE MODEL: {refused} of the answers of {name} are empty because the request did not fit"
            " into the model's context. They count as not passed; a lower --prompt-tokens makes prompts shorter."
        )
    if withheld := counts["content_filter"]:
        told.append(
            f"WITHHELD: {withheld} of the answers of {name} were kept back, whole or in part, by a content filter of"
            " the endpoint. They are judged as they came; what is missing counts against the model."
        )
    if (thought := counts["thought"]) > _MANY * len(causes):
        told.append(
            f"ONLY THOUGHTS: {thought} of the {len(causes)} answers of {name} are empty, though the model thought and"
            " ended by itself (`reasoning` in samples.jsonl). They count as not passed. A server whose reasoning parser"
            " is not the model's takes answers for thoughts: look into some of them."
        )
    return told


def _find_cause(record: dict[str, Any]) -> str | None:
    reason = record.get("finish_reason")
    if reason in ("context_length", "content_filter"):
        return str(reason)
    is_thought = record.get("answer") == "" and record.get("reasoning") and reason in ("stop", "", None)
    return "thought" if is_thought else None
