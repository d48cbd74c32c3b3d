"""Ask a model to classify failures (LLM as judge), with failures that people have rated as examples.

An answer that names no category is counted and is no vote. Answers are keyed by the question, including the code, so
that a rerun under the same name does not inherit votes on code that no longer exists.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from dlbench.analysis.bugs import Failure, read_categories
from dlbench.analysis.bugs.agreement import Votes
from dlbench.dataset import Instance
from dlbench.dataset.target import fenced
from dlbench.generation import Budget, Model, Request, generate
from dlbench.generation.retry import RETRIES
from dlbench.jsonl import read_lines
from dlbench.scoring.tally import group_by
from dlbench.workspace.home import Log, quiet

ANSWERS = "samples.jsonl"
CERTAIN = 3
_MAX_CHARS, _MAX_EXAMPLE_CHARS = 6000, 1500
_QUESTION = """\
A program was written for a task and failed its tests. Which one of these kinds of bugs is it?

{categories}

Answer with one JSON object: {{"category": "…", "certainty": 1, "reason": "…"}}. The category is one of the words before
a colon. The certainty is 3 if you expect every careful reader to choose this category, 2 if it is the most likely one,
1 if you guess.

{examples}{failure}
"""
_FAILURE = """\
The task:
{prompt}

The code:
{code}

The failure: {status}, {passed} tests passed, {failed} did not
{message}
"""


@dataclass(frozen=True)
class JudgeVotes:
    votes: Votes
    certain: Votes
    """The votes of which the judge is certain."""
    reasons: dict[str, str]
    unreadable: int


def ask_judge(
    model: Model,
    failures: Sequence[Failure],
    folder: Path,
    *,
    rated: Votes | None = None,
    max_examples: int = 0,
    concurrency: int = 4,
    max_tokens: int = 400,
    budget: Budget | None = None,
    retries: int = RETRIES,
    on_answer: Callable[[dict[str, Any]], None] = lambda record: None,
    log: Log = quiet,
) -> JudgeVotes:
    """Resumes: a question that has an answer in the folder is not asked again. `rated`: people's categories."""
    known = [(one, rated[one.id]) for one in failures if rated and one.id in rated]
    questions = {one.id: write_question(one, choose_examples(one, known, max_examples)) for one in failures}
    by_key = {_question_key(one, questions[one.id]): one for one in failures}
    # Each question is an instance of its own, so that sampling works as in a run.
    instances = [one.instance.model_copy(update={"id": key}) for key, one in by_key.items()]

    def make_request(instance: Instance, sample: int) -> Request:
        text = questions[by_key[instance.id].id]
        return Request(instance.id, sample, [{"role": "user", "content": text}], max_tokens=max_tokens)

    path = folder / ANSWERS
    generate(model, instances, make_request, path, 1, concurrency, on_answer, budget=budget, retries=retries, log=log)
    votes, certain, reasons, unreadable = dict[str, str](), dict[str, str](), dict[str, str](), 0
    for _, record in read_lines(path):
        if failure := by_key.get(record["instance"]):
            answer = parse_answer(str(record.get("answer", "")))
            if category := answer.get("category"):
                votes[failure.id], reasons[failure.id] = category, str(answer.get("reason", ""))
                if answer.get("certainty") == CERTAIN:
                    certain[failure.id] = category
            else:
                unreadable += 1
    return JudgeVotes(votes, certain, reasons, unreadable)


def _question_key(failure: Failure, question: str) -> str:
    return f"{failure.id} {hashlib.sha256(question.encode(errors='surrogatepass')).hexdigest()[:16]}"


def choose_examples(failure: Failure, rated: Sequence[tuple[Failure, str]], most: int) -> Sequence[tuple[Failure, str]]:
    """Failures of other instances, spread over the categories: the same instance would give the answer away."""
    others = [pair for pair in rated if pair[0].instance.id != failure.instance.id]
    by_category = group_by(others, lambda pair: pair[1])
    rounds = zip_longest(*(by_category[category] for category in sorted(by_category)))
    return [example for turn in rounds for example in turn if example is not None][:most]


def write_question(failure: Failure, examples: Sequence[tuple[Failure, str]] = ()) -> str:
    categories = "\n".join(f"{slug}: {category.meaning}" for slug, category in read_categories().items())
    told = [f"An example. {_describe(one, _MAX_EXAMPLE_CHARS)}People say: {category}\n\n" for one, category in examples]
    end = "The failure to classify. " if examples else ""
    return _QUESTION.format(categories=categories, examples="".join(told) + end, failure=_describe(failure, _MAX_CHARS))


def _describe(failure: Failure, most: int) -> str:
    passed = Counter(failure.verdict["tests"].values())["passed"]
    return _FAILURE.format(
        prompt=failure.instance.prompt[:most],
        code=fenced((failure.code or "(none)")[:most]),
        status=failure.verdict["status"],
        passed=passed,
        failed=len(failure.verdict["tests"]) - passed,
        message=failure.message[-most:],
    )


def parse_answer(text: str) -> Mapping[str, Any]:
    """The JSON object of the answer; empty if it names no category, or several outside a JSON object."""
    known = read_categories()
    for found in reversed(re.findall(r"\{[^{}]*\}", text, re.S)):
        try:
            record = json.loads(found)
        except ValueError:
            continue
        if isinstance(record, dict) and str(record.get("category")) in known:
            return record
    named = {slug for slug in known if re.search(rf"\b{slug}\b", text)}
    return {"category": named.pop()} if len(named) == 1 else {}
