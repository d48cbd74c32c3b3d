"""What exactly was sent, and how often?

Every try is written down before it is sent: the request as it is, without keys, in a file beside the samples. So it can
be said later what a model was asked word by word, and a bound on the number of requests holds over kills. Apart from
the samples because people exchange those, and a request can quote a project's code.
"""

from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from dlbench.generation.budget import count_characters
from dlbench.generation.models import Model, Request
from dlbench.jsonl import Journal

REQUESTS = "requests.jsonl"


class Ledger:
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

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._journal.close()
