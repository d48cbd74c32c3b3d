"""How is a model asked in several turns, and no turn twice?

A technique may ask for a plan before the code. The answer to an earlier turn is paid for like any other, so it is on
disk before the next turn is asked, in a file beside the samples; a run that is started again takes it from there. Kept
with each is a hash of what was asked: an answer to another question is not taken for this one's.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from dlbench.extraction.reasoning import without_reasoning
from dlbench.generation.model import Answer, Message, Request
from dlbench.generation.request_log import BatchedWriter
from dlbench.generation.retry import RateLimiter
from dlbench.jsonl import Journal

TURNS = "turns.jsonl"
_SILENCE = "(no answer)"

Key = tuple[str, int, str]


class TurnStore:
    """The answers to earlier turns. The file is made when the first of them is kept."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._journal: Journal | None = None
        self._keeper: BatchedWriter | None = None
        self._kept: dict[Key, Answer] = {}
        if path.is_file():
            self._open()

    async def ask(self, gate: RateLimiter, request: Request) -> tuple[Answer, list[Answer]]:
        """The answer that counts, with usage and seconds of all turns, and the answers to the turns before it."""
        messages, earlier = list(request.messages), list[Answer]()
        for follow_up in request.follow_ups:
            answer = await self._ask_once(gate, replace(request, messages=messages, follow_ups=(), turn=len(earlier)))
            if answer.finish_reason == "context_length":  # what was too long once is not tried with more
                return _total(answer, earlier), earlier
            earlier.append(answer)
            messages = [*messages, _said(answer), *follow_up]
        last = await gate.ask(replace(request, messages=messages, follow_ups=(), turn=len(earlier)))
        return _total(last, earlier), earlier

    def kept(self) -> dict[tuple[str, int], list[Answer]]:
        """By instance and sample."""
        found: dict[tuple[str, int], list[Answer]] = {}
        for (instance, sample, _), answer in self._kept.items():
            found.setdefault((instance, sample), []).append(answer)
        return found

    async def _ask_once(self, gate: RateLimiter, request: Request) -> Answer:
        name = gate.model.name
        asked = hashlib.sha256(json.dumps([name, request.messages]).encode()).hexdigest()
        key = (request.instance_id, request.sample, asked)
        if key not in self._kept:
            answer = await gate.ask(request)
            facts = {"instance": request.instance_id, "sample": request.sample, "model": name, "asked": asked}
            await self._open().keep(facts | as_record(answer))
            self._kept[key] = answer
        return self._kept[key]

    def _open(self) -> BatchedWriter:
        if self._journal is None or self._keeper is None:
            self._journal = Journal(self._path)
            self._keeper = BatchedWriter(self._journal)
            self._kept |= {key: answer for record in self._journal.records() for key, answer in _read(record)}
        return self._keeper

    def __enter__(self) -> "TurnStore":
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


def read_record(record: Mapping[str, Any]) -> Answer:
    """The other way round; what a record does not say, or says with null, is as if nothing was."""
    usage, seconds = record.get("usage"), record.get("seconds")
    return Answer(
        str(record.get("answer") or ""),
        usage if isinstance(usage, dict) else {},
        str(record.get("finish_reason") or "stop"),
        seconds if isinstance(seconds, int | float) else 0.0,
        str(record.get("reasoning") or ""),
    )


def _read(record: Mapping[str, Any]) -> list[tuple[Key, Answer]]:
    match record:
        case {"instance": str(instance), "sample": int(sample), "asked": str(asked), "answer": str()}:
            return [((instance, sample, asked), read_record(record))]
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
