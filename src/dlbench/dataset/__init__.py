"""The benchmark's records: projects, instances, labels, splits, and their checks. Independent of execution.

Names load on demand: the command line needs the labels at once, and pydantic only when it reads a record.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dlbench.dataset.labels import AXES, Data, Framework, Label, Stage, Task
    from dlbench.dataset.loading import Benchmark, Kind, Problem, Version, default_root, load, read
    from dlbench.dataset.records import Instance, Labels, Measures, Project, Unrunnable, Votes
    from dlbench.dataset.splits import Selection, has_split, name_live, select

__all__ = [
    "AXES",
    "Benchmark",
    "Data",
    "Framework",
    "Instance",
    "Kind",
    "Label",
    "Labels",
    "Measures",
    "Problem",
    "Project",
    "Selection",
    "Stage",
    "Task",
    "Unrunnable",
    "Version",
    "Votes",
    "default_root",
    "has_split",
    "load",
    "name_live",
    "read",
    "select",
]

_PARTS = ("labels", "records", "loading", "splits")


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the type is the attribute's own
    if name in __all__:
        for part in _PARTS:
            module = import_module(f"dlbench.dataset.{part}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module 'dlbench.dataset' has no attribute {name!r}")
