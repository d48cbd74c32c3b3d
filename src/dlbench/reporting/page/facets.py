"""By what can the instances on a page be filtered? Labels, project, framework, difficulty: the values that occur."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dlbench.dataset import AXES
from dlbench.reporting.difficulty import LEVELS

_ORDERS: dict[str, Sequence[str]] = {axis: [str(label) for label in labels] for axis, labels in AXES.items()}
_ORDERS |= {"difficulty": LEVELS, "project": (), "framework": ()}


def find_facets(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    known = list(records)
    return [{"key": key, "values": _order({record[key] for record in known}, order)} for key, order in _ORDERS.items()]


def _order(values: set[str], order: Sequence[str]) -> list[str]:
    return sorted(values, key=lambda value: (order.index(value) if value in order else len(order), value))
