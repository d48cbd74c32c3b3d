"""Connect to Ray, count the workers that the cluster can run, and start them.

A command uses the Ray at the given address, or starts one on this machine that ends with the command.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.execution.ray_cluster.actor import RemoteWorkerCache, Reply, make_key
from dlbench.execution.ray_cluster.transfer import Part, find_folder, pack
from dlbench.execution.worker_cache import CachePolicy, Held, NoWorkerAvailable
from dlbench.workspace import Prepared
from dlbench.workspace.home import Log, quiet

EXECUTORS = ("local", "ray")


def open_executor(
    executor: str,
    ray_address: str | None,
    *,
    workers: int | None,
    cores: int,
    memory_mb: float,
    sandbox: str,
    log: Log = quiet,
) -> "RayExecutor | None":
    """The executor of a cluster, for the caller to close; None for this machine."""
    if executor not in EXECUTORS:
        raise DLBenchError(f"there is no executor {executor!r}", fix=f"use one of: {', '.join(EXECUTORS)}")
    if executor == "ray":
        return RayExecutor(ray_address, workers=workers, cores=cores, memory_mb=memory_mb, sandbox=sandbox, log=log)
    if ray_address:
        raise DLBenchError("--ray-address requires --executor ray", fix="add --executor ray")
    return None


def count_slots(memory_mb: float) -> list[int]:
    """How many workers each node can run. A worker cannot be split between nodes."""
    import ray

    return [_slots_of(node, memory_mb) for node in ray.nodes() if node["Alive"]]


def _slots_of(node: dict[str, Any], memory_mb: float) -> int:
    resources = node["Resources"]
    return int(min(resources.get("CPU", 0.0), resources.get("memory", 0.0) // (memory_mb * (1 << 20))))


_ADDRESS = "RAY_ADDRESS"
_STORE_BYTES = 128 << 20
"""Enough on this machine, where nothing is shipped."""
_CONNECT_SECONDS = 5.0
_FIX = "check the address (`ray status` on the head node); this machine must be a node of the cluster"


def connect(address: str | None, workers: int, memory_mb: float) -> bool:
    """True if the caller must shut Ray down. `workers` and `memory_mb`: the size of a Ray started here."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError:
        raise DLBenchError("ray is not installed", fix="pip install 'dlbench[ray]'") from None

    if ray.is_initialized():
        return False
    address = address or os.environ.get(_ADDRESS, "")
    if address.startswith("ray://"):
        fix = "run the command on a node of the cluster, with the address of its head node (port 6379)"
        raise DLBenchError("Ray's client protocol cannot be used", where=address, fix=fix)
    options: dict[str, Any] = {"address": address or "local", "log_to_driver": False, "logging_level": "ERROR"}
    if options["address"] != "local":
        _check_address(address)
    else:
        options |= {"num_cpus": workers, "num_gpus": 0, "include_dashboard": False}
        options |= {"object_store_memory": _STORE_BYTES, "_memory": int(workers * memory_mb) << 20}
    try:
        ray.init(**options)
    except Exception as error:  # Ray raises many types
        first = str(error).strip().splitlines()
        what = f"Ray does not start: {first[0] if first else type(error).__name__}"
        raise DLBenchError(what, where=address, fix=_FIX if address else "`ray start --head` may say more") from None
    # Ray reports dead nodes on standard output, which is for the command's results; lost workers are logged anyway
    from ray._private import worker

    worker.print_to_stdstream = lambda *args, **named: None
    return True


def _check_address(address: str) -> None:
    """Connect once, to fail fast: Ray itself would retry for minutes."""
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise DLBenchError("not an address of Ray", where=address, fix="give HOST:PORT, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise DLBenchError(f"no Ray answers there: {error}", where=address, fix=_FIX) from None


_PATIENCE = 120.0


class RayExecutor:
    """Runs workers on the cluster at an address, or on a Ray started for them.

    `workers`: the maximum; None uses all slots. `cores`: those of a Ray that must be started here. `sandbox`: as the
    user named it; every node chooses its own.
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
        self.active: set[RemoteWorkerCache[Any]] = set()
        self.left_at = time.monotonic()
        """When the last worker became inactive."""
        self._lock = threading.Lock()
        self._shipped: dict[str, list[Any]] = {}
        self._is_ours = connect(address, workers or cores, memory_mb)

    def count(self, engine: Engine, requested: int) -> int:
        slots = sum(count_slots(engine.limits.memory_mb))
        if not slots:
            what = f"no node of the cluster declares a core and {engine.limits.memory_mb} MiB of memory"
            raise DLBenchError(what, fix="start nodes that do (`ray start --num-cpus --memory`), or lower --memory")
        return min(self.workers or slots, slots)

    def open(
        self, engine: Engine, prepared: Mapping[str, Prepared], policy: CachePolicy[Held]
    ) -> RemoteWorkerCache[Held]:
        return RemoteWorkerCache(self, engine, prepared, policy)

    def close(self) -> None:
        import ray

        self._shipped.clear()
        if self._is_ours:
            ray.shutdown()

    def divide(self, engine: Engine, policy: CachePolicy[Held]) -> CachePolicy[Held]:
        """The share of one worker on a full node."""
        most = max(count_slots(engine.limits.memory_mb), default=0)
        return replace(policy, memory_mb=policy.memory_mb / max(1, min(self.workers or most, most)))

    def check_actor(self, reply: Reply) -> None:
        if reply.error:
            raise NoWorkerAvailable(f"nothing can be judged on the node {reply.node}: {reply.error}")
        if reply.value != make_key():
            what = f"the node {reply.node} has {reply.value}, but this machine has {make_key()}"
            raise NoWorkerAvailable(what, fix="install the same release on every node: verdicts may differ between two")

    def check_patience(self, began: float) -> None:
        """Raises if no worker has been active for long."""
        waited = time.monotonic() - max(began, self.left_at)
        if not self.active and waited > self.patience:
            what = f"the cluster has had no free slot for {waited:.0f} s: its nodes are gone or busy"
            raise NoWorkerAvailable(what, fix="see `ray status`; rerun the same command to resume")

    def ship(self, prepared: Prepared, part: Part, check: Callable[[], None]) -> list[Any]:
        """The pieces of the part's archive in Ray's store, made once for all nodes. `check` raises to stop."""
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
