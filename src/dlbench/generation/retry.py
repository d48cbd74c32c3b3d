"""Bring one request to an answer: within the budget, logged before it is sent, retried after transient errors.

The log makes a limit on requests hold across kills. People share samples, but not the log, which may quote projects.
"""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Awaitable
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from dlbench.errors import DLBenchError
from dlbench.generation.budget import Budget, BudgetSpent, count_characters
from dlbench.generation.model import RESUME, Answer, Model, Request, TransientError
from dlbench.jsonl import Journal
from dlbench.workspace.home import Log, quiet


class RequestLog:
    """`count`: all attempts ever sent."""

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)
        self.count = 0
        self._characters: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
        for record in self._journal.records():
            self.count += 1
            match record:
                case {"instance": str(instance), "sample": int(sample), "turn": int(turn), "characters": int(size)}:
                    self._characters[instance, sample][turn] = size

    def write(self, model: Model, request: Request, attempt: int) -> None:
        record = {
            "instance": request.instance_id,
            "sample": request.sample,
            "turn": request.turn,
            "attempt": attempt,
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "characters": count_characters(request.messages),
            "request": model.payload(request),
        }
        # Survives a kill; a power cut may lose the last lines, unlike those of the samples.
        self._journal.append(record, durable=False)
        self.count += 1

    def prompt_characters(self, instance: str, sample: int) -> int:
        """Of all turns of a sample."""
        return sum(self._characters[instance, sample].values())

    def close(self) -> None:
        self._journal.close()


class BatchedWriter:
    """Append records to a journal; those that arrive during a write share the next one. For one event loop."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._waiting: list[tuple[dict[str, Any], asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, record: dict[str, Any]) -> None:
        """Return when the record is on disk."""
        written = asyncio.get_running_loop().create_future()
        self._waiting.append((record, written))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all())
        await written

    async def _write_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await asyncio.to_thread(self.journal.append, *(record for record, _ in batch))
            except DLBenchError as error:
                for _, written in batch:
                    written.set_exception(error)
            else:
                for _, written in batch:
                    written.set_result(None)
        self._writing = None


Result = TypeVar("Result")
RETRIES = 6
_MAX_WAIT = 120.0
_MAX_BACKOFF = 30.0
_LOG_INTERVAL = 5.0
_FIT_CONTEXT = (
    "pass a lower --max-tokens or --prompt-tokens and a new --out, since a run folder keeps its settings; or serve the "
    "model with a longer context and run the same command again to resume"
)


class Stopped(Exception):
    """The run is ending; nothing more is sent."""


@dataclass(eq=False)
class RateLimiter:
    """At most `concurrency` requests at a time, including those that wait for a retry: a busy endpoint must not get
    more. `retries` counts the attempts after the first. For one event loop."""

    model: Model
    request_log: RequestLog | None = None
    budget: Budget = field(default_factory=Budget)
    _: KW_ONLY
    concurrency: int = 1
    retries: int = RETRIES
    log: Log = quiet

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.concurrency)
        self._stop = asyncio.Event()
        self._last_log = -_LOG_INTERVAL
        self.in_flight = 0
        """Requests that were sent and are not answered."""

    def stop(self) -> None:
        """Send nothing more and end all waits; requests in flight may still be answered."""
        self._stop.set()

    async def wait_for(self, work: Awaitable[Result]) -> Result:
        """The result of other work that a sample waits for; the work is dropped when the run ends."""
        task, stop = asyncio.ensure_future(work), asyncio.ensure_future(self._stop.wait())
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not task.done():
            task.cancel()
            raise Stopped
        return task.result()

    async def ask(self, request: Request) -> Answer:
        async with self._slots:
            answer = await self._ask(request)
            if answer.refusal and request.max_tokens > 1:
                await self._check_prompt_too_long(request, answer.refusal)
            return answer

    async def _check_prompt_too_long(self, request: Request, refusal: str) -> None:
        """Raise if the prompt fits with a limit of one token: then the fault is --max-tokens, not the model."""
        where = f"model {self.model.name}, {request.instance_id}"
        what = f"prompt and --max-tokens {request.max_tokens} exceed the model's context: {refusal}"
        try:
            probe = await self._ask(replace(request, max_tokens=1))
        except BudgetSpent:
            raise
        except DLBenchError as problem:
            what += f"; whether the prompt alone fits is unknown, a request with 1 token failed: {problem.what}"
            raise DLBenchError(what, where=where, fix=f"{problem.fix}; or {_FIT_CONTEXT}") from None
        if not probe.refusal:
            raise DLBenchError(f"{what}; the prompt alone fits", where=where, fix=_FIT_CONTEXT)

    async def _ask(self, request: Request) -> Answer:
        attempt = 0
        while True:
            try:
                return await self._try(request, attempt)
            except TransientError as problem:
                attempt += 1
                if attempt > self.retries and problem.fallback_answer is not None:
                    return problem.fallback_answer
                what, after = problem.what, problem.after or 0.0
                if after > _MAX_WAIT:
                    what += f"; it asked to retry after {after:.0f} s, above the limit of {_MAX_WAIT:.0f} s"
                if attempt > self.retries or after > _MAX_WAIT:
                    fix = f"{problem.fix}; {RESUME}" if problem.fix else RESUME
                    raise DLBenchError(what, where=problem.where, fix=fix) from None
                await self._wait(problem, attempt)

    async def _try(self, request: Request, attempt: int) -> Answer:
        async with self.budget.reserve(request):
            if self._stop.is_set():
                raise Stopped
            if self.request_log is not None:
                self.request_log.write(self.model, request, attempt)
            characters = count_characters(request.messages)
            self.in_flight += 1
            try:
                answer = await self.model.answer(request)
            except TransientError as problem:
                if problem.fallback_answer is not None:  # charged, whatever the next attempt returns
                    self.budget.add(problem.fallback_answer, characters)
                raise
            finally:
                self.in_flight -= 1
            self.budget.add(answer, characters)
            return answer

    async def _wait(self, problem: TransientError, attempt: int) -> None:
        seconds = find_wait(problem.after, attempt)
        if seconds and time.monotonic() - self._last_log > _LOG_INTERVAL:
            self._last_log = time.monotonic()
            self.log(f"{problem.what}; retrying in {seconds:.0f} s ({attempt} of {self.retries})")
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except TimeoutError:
            return
        raise Stopped


def find_wait(after: float | None, attempt: int) -> float:
    """Seconds before the next attempt; `after`: what the endpoint asks for, 0 to retry immediately.
    `after` is a lower bound: many requests that get the same value return together, and all but one are refused again.
    Without growing waits they would use up every attempt within seconds."""
    if after == 0:
        return 0.0
    backoff = min(0.5 * 2.0**attempt, _MAX_BACKOFF)
    return max(after or 0.0, 0.75 * backoff) + random.uniform(0.0, 0.25) * backoff
