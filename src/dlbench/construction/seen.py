"""How does a trace outlive a kill?

What each test ran is put down as it comes, in a journal that begins with what it is a trace of. A function stands there
once, before the first test that ran it, and its number is its place among the functions of the journal: whichever
process the numbers on the channel belonged to, the journal says everything by itself.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from dlbench.construction.work import Row
from dlbench.jsonl import Journal

Place = tuple[str, int, str]
"""A function by its file, the line on which it begins (decorators included) and its bare name."""
RAN = ("direct", "deeper", "helpers")


@dataclass(frozen=True)
class SeenTest:
    id: str
    outcome: str
    seconds: float
    direct: tuple[Place, ...]
    """Functions that the test's own code called, or what it called outside the project."""
    deeper: tuple[Place, ...]
    """Functions that ran only because others of the project called them."""
    helpers: tuple[Place, ...]
    """Functions of the tests' own code that the test called."""
    message: str


class Seen:
    """The tests that ran so far and what was left out; put down where there is a journal, and read from it first."""

    def __init__(self, journal: Journal | None = None) -> None:
        self.tests: list[SeenTest] = []
        self.left_out: dict[str, str] = {}
        """What could not be collected or run, and why."""
        self._journal, self._lock = journal, Lock()
        self._numbers: dict[Place, int] = {}
        if journal is not None:
            self._read(journal)

    def _read(self, journal: Journal) -> None:
        places: list[Place] = []
        for record in journal.records()[1:]:
            if "place" in record:
                path, line, name = record["place"]
                places.append((path, line, name))
            elif "what" in record:
                self.left_out[record["what"]] = record["why"]
            else:
                ran = {key: tuple(places[number] for number in record.get(key, ())) for key in RAN}
                self.tests.append(SeenTest(**(record | ran)))
        self._numbers = {place: number for number, place in enumerate(places)}

    def add(self, test: SeenTest) -> None:
        with self._lock:
            self.tests.append(test)
            places = (*test.direct, *test.deeper, *test.helpers)
            new = [place for place in places if place not in self._numbers]
            ran = {key: self._number(getattr(test, key)) for key in RAN}
            self._put(*({"place": place} for place in new), vars(test) | ran)

    def leave_out(self, what: str, why: str) -> None:
        with self._lock:
            self.left_out[what] = why
            self._put({"what": what, "why": why})

    def _number(self, places: tuple[Place, ...]) -> list[int]:
        return [self._numbers.setdefault(place, len(self._numbers)) for place in places]

    def _put(self, *rows: Row) -> None:
        if self._journal is not None:
            # a test that a power cut takes is run again; to wait for the disk after each takes longer than many tests
            self._journal.append(*rows, durable=False)


@contextmanager
def open_seen(path: Path, subject: Row) -> Iterator[Seen]:
    """What is kept there, where it was seen of the same; where it was of something else, it is begun anew."""
    with Journal(path) as journal:
        if journal.records()[:1] != [subject]:
            os.truncate(path, 0)
            journal.append(subject)
        yield Seen(journal)
