"""Judge candidates on the nodes of a Ray cluster.

The driver keeps the schedule and the journal; actors on the nodes keep warm workers and give verdicts. Ray is an extra,
so only the functions that use it import it.
"""

from typing import TYPE_CHECKING

from dlbench.errors import DLBenchError
from dlbench.workspace.home import Log, quiet

if TYPE_CHECKING:
    from dlbench.execution.ray_cluster.executor import RayExecutor


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
    """The executor of a cluster, for the caller to close; None for this machine.

    `workers`: None uses all slots of the cluster. `cores`: those of a Ray that must be started here.
    """
    if executor not in EXECUTORS:
        raise DLBenchError(f"there is no executor {executor!r}", fix=f"use one of: {', '.join(EXECUTORS)}")
    if executor == "local":
        if ray_address:
            raise DLBenchError("--ray-address requires --executor ray", fix="add --executor ray")
        return None
    from dlbench.execution.ray_cluster.executor import RayExecutor

    return RayExecutor(ray_address, workers=workers, cores=cores, memory_mb=memory_mb, sandbox=sandbox, log=log)
