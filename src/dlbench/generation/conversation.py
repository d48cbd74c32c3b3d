"""Send the turns of a conversation, none of them twice.

The answer to an earlier turn is paid for, so it is on disk, with a hash of its prompt, before the next turn is sent. So
is a review of it: judged again, it could have other messages, and the next turn would be another one.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dlbench.extraction.reasoning import without_reasoning
from dlbench.generation.model import Answer, Message, Request, Review
from dlbench.generation.retry import BatchedWriter, RateLimiter
from dlbench.jsonl import Journal

TURNS = "turns.jsonl"
_NO_ANSWER = "(no answer)"

Key = tuple[str, int, str]


class TurnStore:
    """The answers to earlier turns. The file is created with the first of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: BatchedWriter | None = None
        self._answers: dict[Key, Answer] = {}
        self._reviews: dict[Key, tuple[Mapping[str, Any], list[Message]]] = {}
        if path.is_file():
            self._open()

    async def ask(self, limiter: RateLimiter, request: Request) -> tuple[Answer, list[Answer]]:
        """The last answer, with usage and seconds of all turns, and the answers to the earlier turns."""
        messages, earlier = list(request.messages), list[Answer]()
        for follow_up in request.follow_ups:
            turn = replace(request, messages=messages, follow_ups=(), turn=len(earlier))
            answer = await self._ask_once(limiter, turn)
            if answer.finish_reason == "context_length":  # a longer prompt would not fit either
                return _total(answer, earlier), earlier
            if callable(follow_up):
                verdict, follow_up = await self._review_once(limiter, turn, answer, follow_up)
                if not follow_up:
                    return _total(answer, earlier), earlier
                answer = replace(answer, verdict=verdict)
            earlier.append(answer)
            messages = [*messages, _as_message(answer), *follow_up]
        last = await limiter.ask(replace(request, messages=messages, follow_ups=(), turn=len(earlier)))
        return _total(last, earlier), earlier

    def answers(self) -> list[tuple[tuple[str, int], Answer]]:
        """Each with its instance and sample."""
        return [((instance, sample), answer) for (instance, sample, _), answer in self._answers.items()]

    async def _ask_once(self, limiter: RateLimiter, request: Request) -> Answer:
        key = _key(limiter, request)
        if key not in self._answers:
            answer = await limiter.ask(request)
            await self._write(limiter, key, as_record(answer))
            self._answers[key] = answer
        return self._answers[key]

    async def _review_once(
        self, limiter: RateLimiter, request: Request, answer: Answer, review: Review
    ) -> tuple[Mapping[str, Any], list[Message]]:
        key = _key(limiter, request)
        if key not in self._reviews:
            verdict, follow_up = await limiter.wait_for(review(answer))
            await self._write(limiter, key, {"verdict": verdict, "follow_up": follow_up})
            self._reviews[key] = verdict, follow_up
        return self._reviews[key]

    async def _write(self, limiter: RateLimiter, key: Key, record: dict[str, Any]) -> None:
        instance, sample, digest = key
        head = {"instance": instance, "sample": sample, "model": limiter.model.name, "asked": digest}
        await self._open().write(head | record)

    def _open(self) -> BatchedWriter:
        if self._writer is None:
            self._writer = BatchedWriter(Journal(self._path))
            for record in self._writer.journal.records():
                match record:
                    case {"instance": str(instance), "sample": int(sample), "asked": str(digest), "answer": str()}:
                        self._answers[instance, sample, digest] = read_record(record)
                    case {"instance": str(instance), "sample": int(sample), "asked": str(digest), "verdict": dict()}:
                        self._reviews[instance, sample, digest] = record["verdict"], record["follow_up"]
        return self._writer

    def close(self) -> None:
        if self._writer is not None:
            self._writer.journal.close()


def _key(limiter: RateLimiter, request: Request) -> Key:
    digest = hashlib.sha256(json.dumps([limiter.model.name, request.messages]).encode()).hexdigest()
    return request.instance_id, request.sample, digest


def as_record(answer: Answer) -> dict[str, Any]:
    optional = {"reasoning": answer.reasoning, "verdict": answer.verdict}
    return {
        "answer": answer.text,
        "usage": answer.usage,
        "finish_reason": answer.finish_reason,
        "seconds": round(answer.seconds, 3),
    } | {name: value for name, value in optional.items() if value}


def read_record(record: Mapping[str, Any]) -> Answer:
    """The inverse of `as_record`; a missing or null field has its default."""
    usage, seconds = record.get("usage"), record.get("seconds")
    return Answer(
        str(record.get("answer") or ""),
        usage if isinstance(usage, dict) else {},
        str(record.get("finish_reason") or "stop"),
        seconds if isinstance(seconds, int | float) else 0.0,
        str(record.get("reasoning") or ""),
    )


def _as_message(answer: Answer) -> Message:
    """The answer as history: without reasoning, and never empty, which many endpoints refuse."""
    text, _ = without_reasoning(answer.text)
    return {"role": "assistant", "content": text.strip() or _NO_ANSWER}


def _total(last: Answer, earlier: list[Answer]) -> Answer:
    usage = last.usage
    for answer in earlier:
        usage = _add(usage, answer.usage)
    return replace(last, usage=usage, seconds=last.seconds + sum(answer.seconds for answer in earlier))


def _add(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    total = dict(one)
    for name, value in other.items():
        current = total.get(name)
        if isinstance(value, Mapping):
            total[name] = _add(current if isinstance(current, Mapping) else {}, value)
        elif isinstance(value, int | float) and isinstance(current, int | float):
            total[name] = current + value
        elif current is None:
            total[name] = value
    return total
