"""Ask a model to classify failures (LLM as judge).

An answer that names no category is counted and is no vote. Answers are keyed by the question, including the code, so
that a rerun under the same name does not inherit votes on code that no longer exists.
"""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dlbench.analysis.bugs.agreement import Votes
from dlbench.analysis.bugs.explain import Explanation
from dlbench.analysis.bugs.taxonomy import read_categories
from dlbench.dataset import Instance
from dlbench.dataset.prompt_context import fenced
from dlbench.generation import Budget, Model, Request, generate
from dlbench.generation.retry import RETRIES
from dlbench.jsonl import read_lines
from dlbench.workspace.home import Log, quiet

ANSWERS = "samples.jsonl"
_MAX_CHARS = 6000
_QUESTION = """\
A program was written for the task below and failed its tests. Which one of these kinds of bugs is it?

{categories}

Answer with one JSON object: {{"category": "…", "reason": "…"}}. The category is one of the words before a colon.

The task:
{prompt}

The code:
{code}

What is known of the failure (JSON):
{evidence}
"""


@dataclass(frozen=True)
class JudgeVotes:
    votes: Votes
    reasons: dict[str, str]
    unreadable: int


def ask_judge(
    model: Model,
    explained: Sequence[Explanation],
    folder: Path,
    *,
    concurrency: int = 4,
    max_tokens: int = 400,
    budget: Budget | None = None,
    retries: int = RETRIES,
    on_answer: Callable[[dict[str, Any]], None] = lambda record: None,
    log: Log = quiet,
) -> JudgeVotes:
    """Resumes: a question that has an answer in the folder is not asked again."""
    by_key = {_question_key(one): one for one in explained}
    # Each question is an instance of its own, so that sampling works as in a run.
    instances = [one.failure.instance.model_copy(update={"id": key}) for key, one in by_key.items()]

    def make_request(instance: Instance, sample: int) -> Request:
        text = write_question(by_key[instance.id])
        return Request(instance.id, sample, [{"role": "user", "content": text}], max_tokens=max_tokens)

    path = folder / ANSWERS
    generate(model, instances, make_request, path, 1, concurrency, on_answer, budget=budget, retries=retries, log=log)
    votes: dict[str, str] = {}
    reasons: dict[str, str] = {}
    unreadable = 0
    for _, record in read_lines(path):
        if asked := by_key.get(record["instance"]):
            category, reason = parse_answer(str(record.get("answer", "")))
            if category:
                votes[asked.failure.id], reasons[asked.failure.id] = category, reason
            else:
                unreadable += 1
    return JudgeVotes(votes, reasons, unreadable)


def _question_key(one: Explanation) -> str:
    digest = hashlib.sha256(write_question(one).encode(errors="surrogatepass")).hexdigest()
    return f"{one.failure.id} {digest[:16]}"


def write_question(one: Explanation) -> str:
    categories = "\n".join(f"{slug}: {category.meaning}" for slug, category in read_categories().items())
    known = {name: value for name, value in asdict(one.evidence).items() if value not in ((), "", None)}
    evidence = json.dumps(known, ensure_ascii=False, default=str)[:_MAX_CHARS]
    code = fenced((one.failure.code or "(none)")[:_MAX_CHARS])
    return _QUESTION.format(categories=categories, prompt=one.failure.instance.prompt, code=code, evidence=evidence)


def parse_answer(text: str) -> tuple[str, str]:
    """Category and reason; empty if the answer names no category, or several outside a JSON object."""
    known = read_categories()
    for found in reversed(re.findall(r"\{[^{}]*\}", text, re.S)):
        try:
            record = json.loads(found)
        except ValueError:
            continue
        if isinstance(record, dict) and record.get("category") in known:
            return record["category"], str(record.get("reason", ""))
    named = {slug for slug in known if re.search(rf"\b{slug}\b", text)}
    return (named.pop(), "") if len(named) == 1 else ("", "")
