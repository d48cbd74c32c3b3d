"""How does a run get its samples, each asked for once?

Requests cost time and money. Every answer is on disk before the next request of its thread; a run that is started again
asks only for what is missing; an error or Ctrl-C stops new requests, and the answers that are under way are still kept.
"""

import queue
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from dlbench.dataset.records import Instance
from dlbench.errors import DLBenchError
from dlbench.generation.models import Answer, Model, Request, Stoppable
from dlbench.generation.turns import TURNS, Turns, as_record
from dlbench.journal import Journal, rewrite

Key = tuple[str, int]
OnSample = Callable[[dict[str, Any]], None]


def generate(
    model: Model,
    instances: Sequence[Instance],
    request_of: Callable[[Instance, int], Request],
    samples_path: Path,
    n: int,
    workers: int,
    on_sample: OnSample,
) -> None:
    """`n` samples of each instance in `samples_path`; `on_sample` gets each new record, in the caller's thread."""
    if n < 1 or workers < 1:
        raise DLBenchError(f"{n} samples with {workers} workers is nothing to do", mend="give 1 or more of each")
    with Journal(samples_path) as journal, Turns(samples_path.with_name(TURNS)) as turns:
        there = _already(journal, model.name)
        wanted = [(instance, sample) for instance in instances for sample in range(n)]
        missing = [(instance, sample) for instance, sample in wanted if (instance.id, sample) not in there]
        _Asking(model, request_of, journal, turns, missing).run(workers, on_sample)
        if missing or list(there) != [(instance.id, sample) for instance, sample in wanted]:
            _put_in_order(journal, instances)


class _Asking:
    """Threads that ask, and the thread that waits for them.

    Answers are written by the threads that got them: Ctrl-C arrives in the main thread, where it could cut a write.
    """

    def __init__(
        self,
        model: Model,
        request_of: Callable[[Instance, int], Request],
        journal: Journal,
        turns: Turns,
        work: list[tuple[Instance, int]],
    ) -> None:
        self._model = model
        self._request_of = request_of
        self._journal = journal
        self._turns = turns
        self._work = iter(work)
        self._lock = Lock()
        self._stop = Event()
        self._done: queue.SimpleQueue[dict[str, Any] | BaseException | None] = queue.SimpleQueue()
        self._size = len(work)

    def run(self, workers: int, on_sample: OnSample) -> None:
        # Daemons: a second Ctrl-C must end the command, not wait for a model that hangs.
        threads = [Thread(target=self._ask, daemon=True) for _ in range(min(workers, self._size))]
        failure: BaseException | None = None
        running = len(threads)
        try:
            for thread in threads:
                thread.start()
            while running:
                event = self._done.get()
                if event is None:
                    running -= 1
                elif isinstance(event, BaseException):
                    failure = failure or event
                    self._halt()
                else:
                    on_sample(event)
        except BaseException:
            self._halt()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
            raise
        if failure is not None:
            raise failure

    def _halt(self) -> None:
        self._stop.set()
        if isinstance(self._model, Stoppable):
            self._model.stop()

    def _ask(self) -> None:
        try:
            while (task := self._next()) is not None:
                instance, sample = task
                request = self._request_of(instance, sample)
                answered = self._turns.ask(self._model, request, self._stop.is_set)
                if answered is None:
                    return
                record = _record(request, self._model.name, *answered)
                self._journal.append(record)
                self._done.put(record)
        except BaseException as error:
            # Set here as well: the main thread may be busy in `on_sample` while others would ask on.
            self._stop.set()
            self._done.put(error)
        finally:
            self._done.put(None)

    def _next(self) -> tuple[Instance, int] | None:
        with self._lock:
            return None if self._stop.is_set() else next(self._work, None)


def _record(request: Request, model: str, answer: Answer, earlier: Sequence[Answer]) -> dict[str, Any]:
    record: dict[str, Any] = {"instance": request.instance_id, "sample": request.sample, "model": model}
    record |= as_record(answer) | dict(request.notes)
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
                    mend="this is not a file of samples; choose another --out folder",
                )
        if record.get("model", model) != model:
            raise DLBenchError(
                f"holds samples of the model {record['model']}, and {model} is asked now",
                where=str(journal.path),
                mend="choose another --out folder for another model",
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
