"""How does a run get its samples, each asked for once?

Requests cost time and money. Many are in flight at once, in one event loop; every answer is written as soon as it is
there; a run that is started again asks only for what is missing; an error, a budget that is used up or Ctrl-C stops new
requests, and the answers that are under way are still kept.

Which seed does one request get, so that chance falls anew for each?

Were it the run's seed plus the sample's number, all instances of a run would meet the same throw of the dice, and one
unlucky throw would show in all of them at once; and the second sample of one run would be the first of the next, so
that several runs would be fewer than they say. Both make the spread between runs wrong, and the intervals with it.
"""

import asyncio
import hashlib
import queue
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from dlbench.dataset.records import Instance
from dlbench.errors import DLBenchError
from dlbench.generation.budget import Budget
from dlbench.generation.conversation import TURNS, TurnStore, as_record, read_record
from dlbench.generation.model import Answer, Model, Request
from dlbench.generation.request_log import REQUESTS, BatchedWriter, RequestLog
from dlbench.generation.retry import RETRIES, RateLimiter, Stopped
from dlbench.jsonl import Journal, rewrite
from dlbench.workspace.home import Log, quiet

# Requests that start together are answered together, and each then waits for all the others' answers to be read:
# seconds between two first requests, and in all at most.
_APART, _RAMP = 0.002, 0.4

Key = tuple[str, int]
OnSample = Callable[[dict[str, Any]], None]


def generate(
    model: Model,
    instances: Sequence[Instance],
    request_of: Callable[[Instance, int], Request],
    samples_path: Path,
    n: int | Callable[[Instance], int],
    concurrency: int,
    on_sample: OnSample,
    *,
    budget: Budget | None = None,
    retries: int = RETRIES,
    log: Log = quiet,
) -> None:
    """`n` samples of each instance in `samples_path`, `concurrency` requests at once; then the model is closed.

    `n` may depend on the instance. `on_sample` gets each new record, in the caller's thread. `budget` counts what
    earlier starts have used as well.
    """
    if (isinstance(n, int) and n < 1) or concurrency < 1:
        raise DLBenchError(f"{n} samples with {concurrency} at once is nothing to do", fix="give 1 or more of each")
    budget = budget or Budget()
    with (
        Journal(samples_path) as journal,
        TurnStore(samples_path.with_name(TURNS)) as turns,
        RequestLog(samples_path.with_name(REQUESTS)) as ledger,
    ):
        there = _already(journal, model.name)
        _count_spent(budget, there, turns, ledger)
        counts = [n if isinstance(n, int) else n(instance) for instance in instances]
        wanted = [
            (instance, sample) for instance, count in zip(instances, counts, strict=True) for sample in range(count)
        ]
        missing = [(instance, sample) for instance, sample in wanted if (instance.id, sample) not in there]
        gate = RateLimiter(model, ledger, budget, at_once=concurrency, retries=retries, log=log)
        # Twice as many as may ask: while one's answer is written, another asks.
        _Asking(gate, request_of, BatchedWriter(journal), turns, missing).run(2 * concurrency, on_sample)
        if missing or list(there) != [(instance.id, sample) for instance, sample in wanted]:
            _put_in_order(journal, instances)


class _Asking:
    """A thread with the event loop in which all is asked and kept, and the thread that waits for it.

    Ctrl-C arrives in the main thread: were the loop there, it could cut a write.
    """

    def __init__(
        self,
        gate: RateLimiter,
        request_of: Callable[[Instance, int], Request],
        keeper: BatchedWriter,
        turns: TurnStore,
        work: list[tuple[Instance, int]],
    ) -> None:
        self._gate = gate
        self._request_of = request_of
        self._keeper = keeper
        self._turns = turns
        self._work = iter(work)
        self._size = len(work)
        self._loop = asyncio.new_event_loop()
        self._done: queue.SimpleQueue[dict[str, Any] | BaseException | None] = queue.SimpleQueue()

    def run(self, workers: int, on_sample: OnSample) -> None:
        # A daemon: a second Ctrl-C must end the command, not wait for a model that hangs.
        thread = Thread(target=self._serve, args=(min(workers, self._size),), daemon=True)
        failure: BaseException | None = None
        thread.start()
        try:
            while (event := self._done.get()) is not None:
                if isinstance(event, BaseException):
                    failure = failure or event
                else:
                    on_sample(event)
        except BaseException:
            with suppress(RuntimeError):  # the loop has ended by itself
                self._loop.call_soon_threadsafe(self._gate.stop)
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
            await asyncio.gather(*(self._ask(number * min(_APART, _RAMP / workers)) for number in range(workers)))
        finally:
            await self._gate.model.close()

    async def _ask(self, delay: float) -> None:
        try:
            await asyncio.sleep(delay)
            for instance, sample in self._work:
                request = self._request_of(instance, sample)
                answer, earlier = await self._turns.ask(self._gate, request)
                cost = self._gate.budget.cost_of(answer.usage)
                record = _record(request, self._gate.model.name, answer, earlier, cost)
                await self._keeper.keep(record)
                self._done.put(record)
        except Stopped:
            return
        except BaseException as error:
            self._gate.stop()
            self._done.put(error)


def _count_spent(budget: Budget, there: dict[Key, dict[str, Any]], turns: TurnStore, ledger: RequestLog) -> None:
    budget.spent.requests += ledger.count
    for key, record in there.items():
        budget.add(read_record(record), ledger.asked(*key))
    for key, answers in turns.kept().items():
        if key not in there:  # a sample's own record counts its turns
            for answer in answers:
                budget.add(answer, ledger.asked(*key))


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


def _already(journal: Journal, model: str) -> dict[Key, dict[str, Any]]:
    there: dict[Key, dict[str, Any]] = {}
    for record in journal.records():
        match record:
            case {"instance": str(instance), "sample": int(sample)}:
                there.setdefault((instance, sample), record)
            case _:
                raise DLBenchError(
                    "a record without an instance or a sample number",
                    where=str(journal.path),
                    fix="this is not a file of samples; choose another --out folder",
                )
        if record.get("model", model) != model:
            raise DLBenchError(
                f"holds samples of the model {record['model']}, and {model} is asked now",
                where=str(journal.path),
                fix="choose another --out folder for another model",
            )
    return there


def _put_in_order(journal: Journal, instances: Sequence[Instance]) -> None:
    """By instance and sample, each once; what an earlier, wider run asked beside these comes after them."""
    place = {instance.id: number for number, instance in enumerate(instances)}
    there: dict[Key, dict[str, Any]] = {}
    for record in journal.records():
        there.setdefault((record["instance"], record["sample"]), record)
    keys = sorted(there, key=lambda key: (place.get(key[0], len(place)), key[0], key[1]))
    rewrite(journal.path, [there[key] for key in keys])


def draw_seed(seed: int, instance: str, sample: int) -> int:
    """From 0 to 2^31 - 1, which every endpoint takes; the same on every machine."""
    digest = hashlib.sha256(f"{seed}\n{instance}\n{sample}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
