"""How does a thread of the driver work at a seat that may be gone at any moment?

It asks and waits. A host that is lost (its node died, its memory was taken) costs the question another try on another
host; a question that loses several is given up, in words. While there is no place for a new host the thread waits for
one, as long as any other seat is at work; when there is none for long, the run ends and can go on later.
"""

import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Generic, cast

from dlbench.execution.candidate import Engine
from dlbench.execution.cluster.host import Answer, Greeting, Readiness, Receipt
from dlbench.execution.cluster.parcel import describe
from dlbench.execution.seat import Held, Item, Keeping, NoSeat, Result
from dlbench.execution.supervise import Interrupted, under_way
from dlbench.workspace import Prepared

if TYPE_CHECKING:
    from dlbench.execution.cluster.seats import RaySeats

_ATTEMPTS = 3
_LOOK_SECONDS = 0.5
_FAREWELL_SECONDS = 20.0
_NOWHERE = "before it was opened"


class SeatError(Exception):
    """A question got no answer; the reason is the message."""


class RemoteSeat(Generic[Held]):
    def __init__(
        self, seats: "RaySeats", engine: Engine, prepared: Mapping[str, Prepared], keeping: Keeping[Held]
    ) -> None:
        self.seats, self.engine, self.prepared, self.keeping = seats, engine, prepared, keeping
        self.projects: Collection[str] = ()
        self.used_mb = 0.0
        self.node = ""
        self.is_stopped = False
        self._host: Any = None
        self._ready: set[str] = set()

    def ask(self, project: str, function: Callable[[Held, Item], Result], item: Item) -> Result:
        from ray.exceptions import RayError, RayTaskError

        losses: list[str] = []
        with under_way(self):
            while len(losses) < _ATTEMPTS:
                try:
                    self._get_ready(project)
                    answer = cast(Answer, self._wait(self._host.ask.remote(project, function, item)))
                except RayTaskError as error:  # a fault of ours, and no loss
                    self._drop()
                    raise SeatError(f"{type(error.cause).__name__}: {error.cause}") from None
                except RayError as error:
                    losses.append(self._tell_loss(error, losses))
                    self._drop()
                    continue
                except BaseException:
                    self._drop()
                    raise
                self.projects, self.used_mb = answer.projects, answer.used_mb
                if answer.error:
                    raise SeatError(answer.error)
                return cast(Result, answer.result)
        raise SeatError(f"every seat that it was tried at was lost: {', '.join(losses)}")

    def _tell_loss(self, error: Exception, before: list[str]) -> str:
        """Ends the run where no host can so much as begin: no candidate has anything to do with that."""
        if not self.node and before == [_NOWHERE] * (_ATTEMPTS - 1):
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            mend = "is the same release of dlbench installed on every node? `ray logs` has more"
            raise NoSeat(f"no seat can be opened on the cluster: {lines[-1] if lines else error!r}", mend=mend)
        loss = f"{type(error).__name__} on {self.node}" if self.node else _NOWHERE
        self.seats.say(f"lost a seat ({loss}); what it was at is tried again")
        return loss

    def close(self) -> None:
        """Its workers first, so that nothing of them is left on the node."""
        import ray
        from ray.exceptions import RayError

        if self._host is not None:
            try:
                ray.get(self._host.close.remote(), timeout=_FAREWELL_SECONDS)
            except RayError:
                pass
            self._drop()

    def _get_ready(self, project: str) -> None:
        if self._host is None:
            self._sit_down()
        if project in self._ready:
            return
        parcel = describe(self.prepared[project])
        found = cast(Readiness, self._wait(self._host.prepare.remote(parcel)))
        for part, why in found.missing.items():
            self.seats.say(f"sending the {part} of {project} to {self.node} ({why.splitlines()[0]})")
            pieces = self.seats.ship(self.prepared[project], part, self._check_stop)
            receipt = cast(Receipt, self._wait(self._host.receive.remote(parcel, part, pieces)))
            if receipt.refusal:
                raise NoSeat(f"the node {self.node} cannot take in {project}: {receipt.refusal}")
        if found.missing:
            found = cast(Readiness, self._wait(self._host.prepare.remote(parcel)))
        if found.missing or found.refusal:
            why = found.refusal or "; ".join(found.missing.values())
            raise NoSeat(f"the node {self.node} cannot prepare {project}: {why}")
        self._ready.add(project)

    def _sit_down(self) -> None:
        """Waits for a place, where there is none."""
        self._host = self.seats.hire(self.engine)
        share = self.seats.share(self.engine, self.keeping)
        opening = self._host.open.remote(self.seats.sandbox, self.engine.limits, share)
        greeting = cast(Greeting, self._wait(opening, self.seats.check_patience(time.monotonic())))
        self.node = greeting.node
        self.seats.check_greeting(greeting)
        self.seats.seated.add(self)

    def _wait(self, asked: object, check: Callable[[], None] = lambda: None) -> object:
        import ray

        while not ray.wait([asked], timeout=_LOOK_SECONDS)[0]:
            self._check_stop()
            check()
        return ray.get(asked)

    def _check_stop(self) -> None:
        if self.is_stopped:
            raise Interrupted

    def _drop(self) -> None:
        """What runs there ends at once, with everything under it."""
        import ray

        host, self._host = self._host, None
        self._ready.clear()
        self.projects, self.used_mb, self.node = (), 0.0, ""
        self.seats.leave(self)
        if host is not None:
            ray.kill(host)
