"""Which seats does a Ray cluster offer, and what do they have in common?

How many there are, on which terms a node gives one, what is sent to nodes that lack it, and how long to wait when the
last of them is gone.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.execution.candidate import Engine
from dlbench.execution.cluster.connection import connect
from dlbench.execution.cluster.host import Greeting, Host, make_key
from dlbench.execution.cluster.parcel import Part, find_folder
from dlbench.execution.cluster.places import count_places, find_largest
from dlbench.execution.cluster.remote import RemoteSeat
from dlbench.execution.cluster.shipping import pack
from dlbench.execution.seat import Held, Keeping, NoSeat
from dlbench.workspace import Prepared
from dlbench.workspace.home import Say, quiet

_PATIENCE = 120.0


class RaySeats:
    """Seats of the cluster at an address, or of a Ray that is started for them alone.

    `workers`: how many at most; all that there is room for where nobody said. `sandbox`: as the user named it; every
    node chooses for itself.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        workers: int | None = None,
        cores: int = 1,
        memory_mb: float = 4096,
        sandbox: str = "auto",
        say: Say = quiet,
        patience: float = _PATIENCE,
    ) -> None:
        self.workers, self.sandbox, self.say, self.patience = workers, sandbox, say, patience
        self.seated: set[RemoteSeat[Any]] = set()
        self._left_at = time.monotonic()
        self._lock = threading.Lock()
        self._shipped: dict[str, list[Any]] = {}
        self._is_ours = connect(address, workers or cores, memory_mb)

    def count(self, engine: Engine, wanted: int) -> int:
        places = count_places(engine.limits.memory_mb)
        if not places:
            what = f"no node of the cluster has a core and {engine.limits.memory_mb} MiB of memory to declare"
            raise DLBenchError(
                what, mend="start nodes that do (`ray start --num-cpus --memory`), or give less --memory"
            )
        return min(self.workers or places, places)

    def open(self, engine: Engine, prepared: Mapping[str, Prepared], keeping: Keeping[Held]) -> RemoteSeat[Held]:
        return RemoteSeat(self, engine, prepared, keeping)

    def close(self) -> None:
        import ray

        self._shipped.clear()
        if self._is_ours:
            ray.shutdown()

    def hire(self, engine: Engine) -> Any:  # noqa: ANN401 - Ray's handles have no type
        """A host on a node that has room for one, as soon as there is such a node."""
        import ray

        declared = {"num_cpus": 1, "memory": engine.limits.memory_mb << 20, "scheduling_strategy": "SPREAD"}
        return ray.remote(Host).options(**declared).remote()

    def share(self, engine: Engine, keeping: Keeping[Held]) -> Keeping[Held]:
        """What one seat of a full node may keep."""
        beside = min(self.workers or 1 << 30, find_largest(engine.limits.memory_mb))
        return replace(keeping, memory_mb=keeping.memory_mb / max(1, beside))

    def check_greeting(self, greeting: Greeting) -> None:
        if greeting.refusal:
            raise NoSeat(f"nothing can be judged on the node {greeting.node}: {greeting.refusal}")
        if greeting.key != make_key():
            what = f"the node {greeting.node} has {greeting.key}, and this machine {make_key()}"
            raise NoSeat(what, mend="install the same release on every node: verdicts may differ between two")

    def check_patience(self, began: float) -> Callable[[], None]:
        """Raises when nobody has had a seat for long."""

        def check() -> None:
            waited = time.monotonic() - max(began, self._left_at)
            if not self.seated and waited > self.patience:
                what = f"the cluster has had no place for {waited:.0f} s: its nodes are gone, or busy with other work"
                mend = "`ray status` shows what there is; the same command goes on from here"
                raise NoSeat(what, mend=mend)

        return check

    def leave(self, seat: "RemoteSeat[Any]") -> None:
        self.seated.discard(seat)
        self._left_at = time.monotonic()

    def ship(self, prepared: Prepared, part: Part, check: Callable[[], None]) -> list[Any]:
        """The pieces of its archive, made once for all nodes; they are there for as long as we are.

        `check`: asked before each piece; raises where somebody wants to stop.
        """
        import ray

        folder = find_folder(prepared, part)
        with self._lock:
            if str(folder) not in self._shipped:
                pieces: list[Any] = []

                def put(data: bytes) -> None:
                    check()
                    pieces.append(ray.put(data))

                pack(folder, put)
                self._shipped[str(folder)] = pieces
            return self._shipped[str(folder)]
