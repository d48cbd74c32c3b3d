"""How many candidates can the cluster judge at once? As many as its nodes have cores with memory for one each.

Counted node by node: two halves of what a seat needs, on two nodes, are no seat.
"""

from typing import Any


def count_places(memory_mb: float) -> int:
    return sum(_places_of(node, memory_mb) for node in _list_nodes())


def find_largest(memory_mb: float) -> int:
    """The most that one node has."""
    return max((_places_of(node, memory_mb) for node in _list_nodes()), default=0)


def _list_nodes() -> list[dict[str, Any]]:
    import ray

    return [node for node in ray.nodes() if node["Alive"]]


def _places_of(node: dict[str, Any], memory_mb: float) -> int:
    has = node["Resources"]
    return int(min(has.get("CPU", 0.0), has.get("memory", 0.0) // (memory_mb * (1 << 20))))
