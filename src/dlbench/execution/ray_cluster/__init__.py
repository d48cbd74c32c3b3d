"""Where are candidates judged when one machine is not enough? At seats on the nodes of a Ray cluster.

The driver keeps the schedule and the journal; a node keeps warm workers and gives verdicts. Ray is imported by the
functions that use it: it is an extra.

Who judges, by a user's word: this machine, or the nodes of a cluster? A mistyped word should cost a moment only.
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
    """The cluster's, for who called to close; None where this machine judges.

    `workers`: as many as there are cores where it is None; `cores`: those of a Ray that has to be started here.
    """
    if executor not in EXECUTORS:
        raise DLBenchError(f"there is no executor {executor!r}", fix=f"use one of: {', '.join(EXECUTORS)}")
    if executor == "local":
        if ray_address:
            raise DLBenchError("an address of Ray is for the executor ray alone", fix="say --executor ray, too")
        return None
    from dlbench.execution.ray_cluster.executor import RayExecutor

    return RayExecutor(ray_address, workers=workers, cores=cores, memory_mb=memory_mb, sandbox=sandbox, log=log)
