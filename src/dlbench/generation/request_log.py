"""Log every request before it is sent, and write many records with few disk syncs.

The log makes a limit on requests hold across kills. A request can quote a project's code, and people share samples.
"""

import asyncio
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.generation.budget import count_characters
from dlbench.generation.model import Model, Request
from dlbench.jsonl import Journal


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
