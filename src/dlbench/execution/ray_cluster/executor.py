"""Which seats does a Ray cluster offer, and what do they have in common?

How many there are, on which terms a node gives one, what is sent to nodes that lack it, and how long to wait when the
last of them is gone.

How many candidates can the cluster judge at once? As many as its nodes have cores with memory for one each.

Counted node by node: two halves of what a seat needs, on two nodes, are no seat.

Which Ray does a command use, and how does it get away from it again?

The one at an address that somebody gave, or one of its own on this machine, which ends with the command. Whatever is
wrong is said within seconds: left to itself Ray tries for minutes. Ray never reports to its makers from here.
"""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.execution.ray_cluster.actor import ActorInfo, RemoteWorkerCache, WorkerActor, make_key
from dlbench.execution.ray_cluster.transfer import Part, find_folder, pack
from dlbench.execution.worker_cache import CachePolicy, Held, NoWorkerAvailable
from dlbench.workspace import Prepared
from dlbench.workspace.home import Log, quiet


def count_slots(memory_mb: float) -> int:
    return sum(_places_of(node, memory_mb) for node in _list_nodes())


def find_most_slots(memory_mb: float) -> int:
    """The most that one node has."""
    return max((_places_of(node, memory_mb) for node in _list_nodes()), default=0)


def _list_nodes() -> list[dict[str, Any]]:
    import ray

    return [node for node in ray.nodes() if node["Alive"]]


def _places_of(node: dict[str, Any], memory_mb: float) -> int:
    has = node["Resources"]
    return int(min(has.get("CPU", 0.0), has.get("memory", 0.0) // (memory_mb * (1 << 20))))


_ADDRESS = "RAY_ADDRESS"
_STORE_BYTES = 128 << 20
"""On this machine nothing is shipped, and little is needed."""
_SECONDS = 5.0
_FIX = "check the address (`ray status` on the head node); this machine must be a node of the cluster"


def connect(address: str | None, workers: int, memory_mb: float) -> bool:
    """True where it is now ours to end. `workers` and `memory_mb`: what one of our own has to offer."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError:
        raise DLBenchError("ray is not installed", fix="pip install 'dlbench[ray]'") from None

    if ray.is_initialized():
        return False
    given = address or os.environ.get(_ADDRESS, "")
    if given.startswith("ray://"):
        fix = "run the command on a node of the cluster, with the address of its head node (port 6379)"
        raise DLBenchError("Ray's client protocol cannot be used", where=given, fix=fix)
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    with _in_words(given):
        if given and given != "local":
            _knock(given)
            ray.init(address=given, **quiet)
        else:
            ray.init(
                address="local",
                num_cpus=workers,
                num_gpus=0,
                include_dashboard=False,
                object_store_memory=_STORE_BYTES,
                _memory=int(workers * memory_mb) << 20,
                **quiet,
            )
    _hush()
    return True


def _hush() -> None:
    """Ray tells of nodes that die on standard output, where a command's own results go; seats tell of it themselves."""
    from ray._private import worker

    worker.print_to_stdstream = lambda *args, **named: None


@contextlib.contextmanager
def _in_words(address: str) -> Iterator[None]:
    try:
        yield
    except DLBenchError:
        raise
    except Exception as error:  # Ray raises whatever its parts do
        first = str(error).strip().splitlines()
        what = f"there is no Ray to be had: {first[0] if first else type(error).__name__}"
        raise DLBenchError(what, where=address, fix=_FIX if address else "`ray start --head` may say more") from None


def _knock(address: str) -> None:
    """Is anybody there at all?"""
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise DLBenchError("not an address of Ray", where=address, fix="give HOST:PORT, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise DLBenchError(f"no Ray answers there: {error}", where=address, fix=_FIX) from None


_PATIENCE = 120.0


class RayExecutor:
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
        log: Log = quiet,
        patience: float = _PATIENCE,
    ) -> None:
        self.workers, self.sandbox, self.log, self.patience = workers, sandbox, log, patience
        self.seated: set[RemoteWorkerCache[Any]] = set()
        self._left_at = time.monotonic()
        self._lock = threading.Lock()
        self._shipped: dict[str, list[Any]] = {}
        self._is_ours = connect(address, workers or cores, memory_mb)

    def count(self, engine: Engine, wanted: int) -> int:
        places = count_slots(engine.limits.memory_mb)
        if not places:
            what = f"no node of the cluster has a core and {engine.limits.memory_mb} MiB of memory to declare"
            raise DLBenchError(what, fix="start nodes that do (`ray start --num-cpus --memory`), or give less --memory")
        return min(self.workers or places, places)

    def open(self, engine: Engine, prepared: Mapping[str, Prepared], keeping: CachePolicy[Held]) -> RemoteWorkerCache[Held]:
        return RemoteWorkerCache(self, engine, prepared, keeping)

    def close(self) -> None:
        import ray

        self._shipped.clear()
        if self._is_ours:
            ray.shutdown()

    def hire(self, engine: Engine) -> Any:  # noqa: ANN401 - Ray's handles have no type
        """A host on a node that has room for one, as soon as there is such a node."""
        import ray

        declared = {"num_cpus": 1, "memory": engine.limits.memory_mb << 20, "scheduling_strategy": "SPREAD"}
        return ray.remote(WorkerActor).options(**declared).remote()

    def share(self, engine: Engine, keeping: CachePolicy[Held]) -> CachePolicy[Held]:
        """What one seat of a full node may keep."""
        beside = min(self.workers or 1 << 30, find_most_slots(engine.limits.memory_mb))
        return replace(keeping, memory_mb=keeping.memory_mb / max(1, beside))

    def check_greeting(self, greeting: ActorInfo) -> None:
        if greeting.refusal:
            raise NoWorkerAvailable(f"nothing can be judged on the node {greeting.node}: {greeting.refusal}")
        if greeting.key != make_key():
            what = f"the node {greeting.node} has {greeting.key}, and this machine {make_key()}"
            raise NoWorkerAvailable(what, fix="install the same release on every node: verdicts may differ between two")

    def check_patience(self, began: float) -> Callable[[], None]:
        """Raises when nobody has had a seat for long."""

        def check() -> None:
            waited = time.monotonic() - max(began, self._left_at)
            if not self.seated and waited > self.patience:
                what = f"the cluster has had no place for {waited:.0f} s: its nodes are gone, or busy with other work"
                fix = "`ray status` shows what there is; the same command goes on from here"
                raise NoWorkerAvailable(what, fix=fix)

        return check

    def leave(self, seat: "RemoteWorkerCache[Any]") -> None:
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
