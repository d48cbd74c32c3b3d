"""What exactly was sent, and how often?

Every try is written down before it is sent: the request as it is, without keys, in a file beside the samples. So it can
be said later what a model was asked word by word, and a bound on the number of requests holds over kills. Apart from
the samples because people exchange those, and a request can quote a project's code.

How do many answers at once reach the disk without waiting in a row?

Whoever waits for its record to be safe waits for one write; what comes in meanwhile is written together with the next.
Nobody goes on before its own record is on disk.
"""

import asyncio
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.generation.budget import count_characters
from dlbench.generation.model import Model, Request
from dlbench.jsonl import Journal

REQUESTS = "requests.jsonl"


class RequestLog:
    """`count` is of all tries ever sent."""

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)
        self.count = 0
        self._asked: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
        for record in self._journal.records():
            self.count += 1
            match record:
                case {"instance": str(instance), "sample": int(sample), "turn": int(turn), "characters": int(asked)}:
                    self._asked[instance, sample][turn] = asked

    def write(self, model: Model, request: Request, attempt: int) -> None:
        asked = count_characters(request.messages)
        record = {
            "instance": request.instance_id,
            "sample": request.sample,
            "turn": request.turn,
            "attempt": attempt,
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "characters": asked,
            "request": model.form(request),
        }
        # Outlives a kill; after a power cut it may lack what was sent last, and the answers' own file does not.
        self._journal.append(record, durable=False)
        self.count += 1

    def asked(self, instance: str, sample: int) -> int:
        """Characters that were asked in all turns of a sample."""
        return sum(self._asked[instance, sample].values())

    def __enter__(self) -> "RequestLog":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._journal.close()


class BatchedWriter:
    """Used in one event loop."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._waiting: list[tuple[dict[str, Any], asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def keep(self, record: dict[str, Any]) -> None:
        written = asyncio.get_running_loop().create_future()
        self._waiting.append((record, written))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        await written

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await asyncio.to_thread(self._journal.append, *(record for record, _ in batch))
            except DLBenchError as error:
                for _, written in batch:
                    written.set_exception(error)
            else:
                for _, written in batch:
                    written.set_result(None)
        self._writing = None
