"""What does a model say of a failure?

It is told the categories in the words that everybody is told, the task, the code, and the evidence that the rules saw;
it answers with a category and a reason. Its answers are kept in a folder of their own and never mixed with what the
rules or people say. What cannot be read as a category is no vote, and is counted. An answer is kept with the question
that it answers: a run that was made anew under its old name would otherwise get votes on code that is gone.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlbench.analysis.bugs.agreement import Votes
from dlbench.analysis.bugs.explain import Explained
from dlbench.analysis.bugs.taxonomy import read_categories
from dlbench.dataset import Instance
from dlbench.dataset.prompt_context import fenced
from dlbench.generation import Budget, Model, Request, generate
from dlbench.generation.retry import RETRIES
from dlbench.jsonl import read_lines
from dlbench.workspace.home import Log, quiet

ANSWERS = "samples.jsonl"
_LONGEST = 6000
_ASK = """\
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
class Judged:
    votes: Votes
    reasons: dict[str, str]
    unreadable: int


def ask_judge(
    model: Model,
    explained: Sequence[Explained],
    folder: Path,
    *,
    concurrency: int = 4,
    max_tokens: int = 400,
    budget: Budget | None = None,
    retries: int = RETRIES,
    on_answer: Callable[[dict[str, Any]], None] = lambda record: None,
    log: Log = quiet,
) -> Judged:
    """Goes on where it was stopped: a question that the folder holds an answer to is not asked again."""
    by_question = {_name_question(one): one for one in explained}
    # each question is asked as if it were an instance of its own, so that all of sampling holds for it
    asked = [one.failure.instance.model_copy(update={"id": name}) for name, one in by_question.items()]

    def request_of(instance: Instance, sample: int) -> Request:
        text = write_question(by_question[instance.id])
        return Request(instance.id, sample, [{"role": "user", "content": text}], max_tokens=max_tokens)

    path = folder / ANSWERS
    generate(model, asked, request_of, path, 1, concurrency, on_answer, budget=budget, retries=retries, log=log)
    return read_judged(path, {name: one.failure.id for name, one in by_question.items()})


def read_judged(path: Path, wanted: Mapping[str, str]) -> Judged:
    """`wanted`: the failure's id, by the name of the question."""
    votes: dict[str, str] = {}
    reasons: dict[str, str] = {}
    unreadable = 0
    for _, record in read_lines(path):
        failure = wanted.get(str(record.get("instance")))
        if failure is None:
            continue
        category, reason = read_answer(str(record.get("answer", "")))
        if category:
            votes[failure], reasons[failure] = category, reason
        else:
            unreadable += 1
    return Judged(votes, reasons, unreadable)


def _name_question(one: Explained) -> str:
    digest = hashlib.sha256(write_question(one).encode(errors="surrogatepass")).hexdigest()
    return f"{one.failure.id} {digest[:16]}"


def write_question(one: Explained) -> str:
    categories = "\n".join(f"{slug}: {category.meaning}" for slug, category in read_categories().items())
    evidence = {name: value for name, value in one.evidence.as_record().items() if value not in ((), "", None)}
    told = json.dumps(evidence, ensure_ascii=False, default=str)
    code = fenced((one.failure.code or "(none)")[:_LONGEST])
    return _ASK.format(categories=categories, prompt=one.failure.prompt, code=code, evidence=told[:_LONGEST])


def read_answer(text: str) -> tuple[str, str]:
    """Category and reason; empty where the answer names none, or more than one outside of an object."""
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
