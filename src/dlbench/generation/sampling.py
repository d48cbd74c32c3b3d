"""Generate the samples of a run: many requests in flight, each answer written at once, none requested twice.

An error, an exhausted budget or Ctrl-C stops new requests; answers in flight are still kept.
"""

import asyncio
import hashlib
import queue
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, Generic, Protocol, TypeVar

from dlbench.errors import DLBenchError
from dlbench.generation.budget import Budget
from dlbench.generation.conversation import TURNS, TurnStore, as_record, read_record
from dlbench.generation.model import Answer, Model, Request
from dlbench.generation.retry import RETRIES, BatchedWriter, RateLimiter, RequestLog, Stopped
from dlbench.jsonl import Journal, rewrite
from dlbench.runs import REQUESTS
from dlbench.workspace.home import Log, quiet

# Seconds between the first requests, and for all of them: those that start together would wait for each other.
_STAGGER, _MAX_STAGGER = 0.002, 0.4

Key = tuple[str, int]


class HasId(Protocol):
    @property
    def id(self) -> str: ...


AnyInstance = TypeVar("AnyInstance", bound=HasId)
OnSample = Callable[[dict[str, Any]], None]


def generate(
    model: Model,
    instances: Sequence[AnyInstance],
    request_of: Callable[[AnyInstance, int], Request],
    samples_path: Path,
    n: int | Callable[[AnyInstance], int],
    concurrency: int,
    on_sample: OnSample,
    *,
    budget: Budget | None = None,
    retries: int = RETRIES,
    log: Log = quiet,
    on_kept: Callable[[int], None] = lambda count: None,
) -> None:
    """Write `n` samples of each instance to `samples_path`, with `concurrency` requests in flight; close the model.
    `n` may depend on the instance. `on_sample` gets each new record, in the caller's thread; `on_kept` the number of
    samples that are there already. `budget` includes what earlier starts used."""
    if (isinstance(n, int) and n < 1) or concurrency < 1:
        fix = "pass 1 or more of each"
        raise DLBenchError(f"cannot generate {n} samples with a concurrency of {concurrency}", fix=fix)
    budget = budget or Budget()
    with (
        Journal(samples_path) as journal,
        closing(TurnStore(samples_path.with_name(TURNS))) as turns,
        closing(RequestLog(samples_path.with_name(REQUESTS))) as request_log,
    ):
        known = _read_known(journal, model.name)
        _count_spent(budget, known, turns, request_log)
        requested = [(one, index) for one in instances for index in range(n if isinstance(n, int) else n(one))]
        missing = [(instance, sample) for instance, sample in requested if (instance.id, sample) not in known]
        on_kept(len(requested) - len(missing))
        limiter = RateLimiter(model, request_log, budget, concurrency=concurrency, retries=retries, log=log)
        # Twice the concurrency: while one worker's answer is written, another sends.
        _Generation(limiter, request_of, BatchedWriter(journal), turns, missing).run(2 * concurrency, on_sample)
        if missing or list(known) != [(instance.id, sample) for instance, sample in requested]:
            position = {instance.id: number for number, instance in enumerate(instances)}
            known = _read_known(journal, model.name)
            # By instance and sample, each once; samples of other instances, from an earlier run, come last.
            keys = sorted(known, key=lambda key: (position.get(key[0], len(position)), *key))
            rewrite(journal.path, [known[key] for key in keys])


@dataclass
class _Generation(Generic[AnyInstance]):
    """An event loop in a thread of its own: Ctrl-C arrives in the main thread, and there it could interrupt a write."""

    limiter: RateLimiter
    request_of: Callable[[AnyInstance, int], Request]
    writer: BatchedWriter
    turns: TurnStore
    missing: list[tuple[AnyInstance, int]]

    def __post_init__(self) -> None:
        self._work = iter(self.missing)
        self._loop = asyncio.new_event_loop()
        self._done: queue.SimpleQueue[dict[str, Any] | BaseException | None] = queue.SimpleQueue()

    def run(self, workers: int, on_sample: OnSample) -> None:
        # A daemon: a second Ctrl-C must not wait for a hanging model.
        thread = Thread(target=self._serve, args=(min(workers, len(self.missing)),), daemon=True)
        failure: BaseException | None = None
        thread.start()
        try:
            while (event := self._done.get()) is not None:
                if isinstance(event, BaseException):
                    failure = failure or event
                else:
                    on_sample(event)
        except BaseException as error:
            with suppress(RuntimeError):  # the loop has already ended
                self._loop.call_soon_threadsafe(self.limiter.stop)
            if waiting := self.limiter.in_flight:
                again = "a second Ctrl-C" if isinstance(error, KeyboardInterrupt) else "Ctrl-C"
                self.limiter.log(f"stopping after the {waiting} request(s) in flight; {again} drops them")
            thread.join()
            raise
        thread.join()
        if failure is not None:
            raise failure

    def _serve(self, workers: int) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._ask_all(workers))
        except BaseException as error:
            self._done.put(error)
        finally:
            self._done.put(None)

    async def _ask_all(self, workers: int) -> None:
        try:
            delay = min(_STAGGER, _MAX_STAGGER / workers) if workers else 0.0
            await asyncio.gather(*(self._ask(number * delay) for number in range(workers)))
        finally:
            await self.limiter.model.close()

    async def _ask(self, delay: float) -> None:
        try:
            await asyncio.sleep(delay)
            for instance, sample in self._work:
                request = self.request_of(instance, sample)
                answer, earlier = await self.turns.ask(self.limiter, request)
                cost = self.limiter.budget.cost_of(answer.usage)
                record = _record(request, self.limiter.model.name, answer, earlier, cost)
                await self.writer.write(record)
                self._done.put(record)
        except Stopped:
            return
        except BaseException as error:
            self.limiter.stop()
            self._done.put(error)


def _count_spent(budget: Budget, known: dict[Key, dict[str, Any]], turns: TurnStore, request_log: RequestLog) -> None:
    budget.spent.requests += request_log.count
    for key, record in known.items():
        budget.add(read_record(record), request_log.prompt_characters(*key))
    for key, answer in turns.answers():
        if key not in known:  # a sample's own record includes its turns
            budget.add(answer, request_log.prompt_characters(*key))


def _record(
    request: Request, model: str, answer: Answer, earlier: Sequence[Answer], cost: float | None
) -> dict[str, Any]:
    record: dict[str, Any] = {"instance": request.instance_id, "sample": request.sample, "model": model}
    record |= as_record(answer) | dict(request.notes)
    if cost is not None:
        record["cost"] = cost
    if earlier:
        record["earlier_turns"] = [as_record(turn) for turn in earlier]
    return record


def _read_known(journal: Journal, model: str) -> dict[Key, dict[str, Any]]:
    known: dict[Key, dict[str, Any]] = {}
    for record in journal.records():
        match record:
            case {"instance": str(instance), "sample": int(sample)}:
                known.setdefault((instance, sample), record)
            case _:
                what = "not a file of samples: a record without an instance or a sample index"
                raise DLBenchError(what, where=str(journal.path), fix="choose another --out folder")
        if (other := record.get("model", model)) != model:
            what = f"the file holds samples of the model {other}, not of {model}"
            raise DLBenchError(what, where=str(journal.path), fix="choose another --out folder for another model")
    return known


def draw_seed(seed: int, instance: str, sample: int) -> int:
    """The seed of one request: 0 to 2^31 - 1, which every endpoint accepts; the same on every machine. With `seed +
    sample`, instances would share their random draws and consecutive runs their samples: intervals would be wrong."""
    digest = hashlib.sha256(f"{seed}\n{instance}\n{sample}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
