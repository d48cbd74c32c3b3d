"""A real Ray cluster of several nodes on this machine, each with its own raylet and workers."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.execution.processes import remove_groups

if TYPE_CHECKING:
    from ray._private.node import Node
    from ray.cluster_utils import Cluster

STORE = 80 << 20
MEMORY = 4 << 30
# notice dead nodes within seconds instead of half a minute
CONFIG = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 500, "health_check_failure_threshold": 6}


@dataclass(frozen=True)
class Nodes:
    cluster: "Cluster"
    nodes: "list[Node]"

    @property
    def address(self) -> str:
        return self.cluster.address

    def kill(self, place: int) -> None:
        """Kill all its processes at once, as a power failure does."""
        self.cluster.remove_node(self.nodes[place], allow_graceful=False)


@contextmanager
def start_cluster(*environments: dict[str, str], cores: int = 1) -> Iterator[Nodes]:
    """One node per environment. The first is the head, and the node of the driver."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    # short, since names of sockets are limited
    folder = os.environ["RAY_TMPDIR"] = tempfile.mkdtemp(dir="/tmp", prefix="r")
    cluster = Cluster()
    nodes = []
    try:
        for number, environment in enumerate(environments):
            head = {"_system_config": CONFIG, "include_dashboard": False} if not number else {}
            resources = {"num_cpus": cores, "object_store_memory": STORE, "memory": MEMORY * cores}
            nodes.append(cluster.add_node(wait=not number, env_vars=environment, **resources, **head))
        cluster.wait_for_nodes()
        yield Nodes(cluster, nodes)
    finally:
        ray.shutdown()
        cluster.shutdown()
        del os.environ["RAY_TMPDIR"]
        shutil.rmtree(folder, ignore_errors=True)
        remove_groups()


def find_sandboxes(place: Path) -> list[int]:
    """Processes whose command line names the folder, as that of every sandbox names the project's tree."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if os.fsencode(place) in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found
