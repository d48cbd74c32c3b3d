"""How is a model asked in several turns, and no turn twice?

A technique may ask for a plan before the code. The answer to an earlier turn is paid for like any other, so it is on
disk before the next turn is asked, in a file beside the samples; a run that is started again takes it from there. Kept
with each is a hash of what was asked: an answer to another question is not taken for this one's.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from dlbench.generation.models import Answer, Message, Model, Request
from dlbench.generation.reasoning import without_reasoning
from dlbench.journal import Journal

TURNS = "turns.jsonl"
_SILENCE = "(no answer)"

Key = tuple[str, int, str]


class Turns:
    """The answers to earlier turns. The file is made when the first of them is kept."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._journal: Journal | None = None
        self._kept: dict[Key, Answer] = {}
        if path.is_file():
            self._open()

    def ask(
        self, model: Model, request: Request, stopped: Callable[[], bool] = lambda: False
    ) -> tuple[Answer, list[Answer]] | None:
        """The answer that counts, with usage and seconds of all turns, and the answers to the turns before it.

        None where it was stopped between two turns; those already answered are kept.
        """
        if not request.follow_ups:
            return model.answer(request), []
        messages, earlier = list(request.messages), list[Answer]()
        for follow_up in request.follow_ups:
            answer = self._ask_once(model, replace(request, messages=messages, follow_ups=()))
            if answer.finish_reason == "context_length":  # what was too long once is not tried with more
                return _total(answer, earlier), earlier
            if stopped():
                return None
            earlier.append(answer)
            messages = [*messages, _said(answer), *follow_up]
        return _total(model.answer(replace(request, messages=messages, follow_ups=())), earlier), earlier

    def _ask_once(self, model: Model, request: Request) -> Answer:
        asked = hashlib.sha256(json.dumps([model.name, request.messages]).encode()).hexdigest()
        key = (request.instance_id, request.sample, asked)
        with self._lock:
            kept = self._kept.get(key)
        if kept is None:
            kept = model.answer(request)
            with self._lock:
                self._kept[key] = kept
                journal = self._open()
            facts = {"instance": request.instance_id, "sample": request.sample, "model": model.name, "asked": asked}
            journal.append(facts | as_record(kept))
        return kept

    def _open(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(self._path)
            self._kept |= {key: answer for record in self._journal.records() for key, answer in _read(record)}
        return self._journal

    def __enter__(self) -> "Turns":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._journal is not None:
            self._journal.close()


def as_record(answer: Answer) -> dict[str, Any]:
    record: dict[str, Any] = {
        "answer": answer.text,
        "usage": answer.usage,
        "finish_reason": answer.finish_reason,
        "seconds": round(answer.seconds, 3),
    }
    if answer.reasoning:
        record["reasoning"] = answer.reasoning
    return record


def _read(record: Mapping[str, Any]) -> list[tuple[Key, Answer]]:
    match record:
        case {"instance": str(instance), "sample": int(sample), "asked": str(asked), "answer": str(text)}:
            usage, reason = record.get("usage", {}), record.get("finish_reason", "stop")
            answer = Answer(text, usage, reason, record.get("seconds", 0.0), record.get("reasoning", ""))
            return [((instance, sample, asked), answer)]
    return []


def _said(answer: Answer) -> Message:
    """What the model hears of itself: not what it said to itself, and never nothing, which many endpoints refuse."""
    said, _ = without_reasoning(answer.text)
    return {"role": "assistant", "content": said.strip() or _SILENCE}


def _total(last: Answer, earlier: list[Answer]) -> Answer:
    usage = last.usage
    for answer in earlier:
        usage = _add(usage, answer.usage)
    return replace(last, usage=usage, seconds=last.seconds + sum(answer.seconds for answer in earlier))


def _add(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    total = dict(one)
    for name, value in other.items():
        there = total.get(name)
        if isinstance(value, Mapping):
            total[name] = _add(there if isinstance(there, Mapping) else {}, value)
        elif isinstance(value, int | float) and isinstance(there, int | float):
            total[name] = there + value
        elif there is None:
            total[name] = value
    return total
