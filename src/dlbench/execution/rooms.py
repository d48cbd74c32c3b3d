"""How do many solutions and checks keep every core busy?

A thread for each core, which stays with an instance, then with its project, while there is work for it, so that imports
are paid once. A thread holds one project's worker at a time, and so memory stays that of as many projects as threads.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from dlbench.dataset import Instance
from dlbench.execution.candidate import Engine
from dlbench.execution.meetings import SECONDS, Met, Result, Room
from dlbench.execution.pool import Work, keep_busy
from dlbench.execution.rehearsal import recall
from dlbench.execution.seat import Keeping, NoSeat, Seat, count_seats, open_seat
from dlbench.workspace import Prepared


@dataclass(frozen=True)
class Meeting:
    """One solution and the checks that it meets; `key` says to the caller which it is."""

    instance: Instance
    key: str
    code: str
    checks: Sequence[str]


OnMet = Callable[[Meeting, list[Met]], None]


class Rooms:
    def __init__(
        self,
        engine: Engine,
        prepared: dict[str, Prepared],
        *,
        workers: int = 1,
        seconds: float = SECONDS,
        outputs: bool = False,
    ) -> None:
        self.engine, self.prepared, self.workers = engine, prepared, workers
        self.seconds, self.outputs = seconds, outputs

    def run(self, meetings: Iterable[Meeting], on_met: OnMet) -> None:
        """Every meeting once; `on_met` is called before its thread takes the next."""
        work = Work(meetings, self._estimate)
        if not work.left:
            return
        count = min(count_seats(self.engine, self.workers), work.left)
        keep_busy(work, [partial(self._keep, work, on_met)] * count)

    def _keep(self, work: "Work[Meeting]", on_met: OnMet) -> None:
        seat = open_seat(self.engine, self.prepared, Keeping(Room, most=1))
        meeting = work.take(None)
        try:
            while meeting is not None:
                on_met(meeting, self._meet(seat, meeting))
                meeting = work.take(meeting, seat.projects)
        finally:
            seat.close()

    def _meet(self, seat: Seat[Room], meeting: Meeting) -> list[Met]:
        meet = partial(_meet, seconds=self.seconds, outputs=self.outputs)
        try:
            return seat.ask(meeting.instance.project, meet, meeting)
        except NoSeat:
            raise
        except Exception as error:  # whatever it is, it is our fault, and one solution must not end a run
            return [Met(Result.NOT_RUN, message=f"{type(error).__name__}: {error}")] * len(meeting.checks)

    def _estimate(self, instance: Instance) -> tuple[float, float]:
        facts = recall(self.prepared[instance.project], instance)
        return 1.0, facts.load_seconds if facts is not None else 10.0


def _meet(room: Room, meeting: Meeting, *, seconds: float, outputs: bool) -> list[Met]:
    return room.meet(meeting.instance, meeting.code, meeting.checks, seconds=seconds, outputs=outputs)
