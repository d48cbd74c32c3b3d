"""How do many answers at once reach the disk without waiting in a row?

Whoever waits for its record to be safe waits for one write; what comes in meanwhile is written together with the next.
Nobody goes on before its own record is on disk.
"""

import asyncio
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.jsonl import Journal


class Keeper:
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
