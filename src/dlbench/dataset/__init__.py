"""What the benchmark says: projects, instances, labels, splits, and checks of the records. Knows nothing of running."""

from dlbench.dataset.labels import AXES, Data, Framework, Label, Stage, Task
from dlbench.dataset.load import Benchmark, Version, default_root, load, read
from dlbench.dataset.problems import Kind, Problem
from dlbench.dataset.records import Instance, Labels, Measures, Project, Votes
from dlbench.dataset.select import Selection, find_known, select

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
    "Version",
    "Votes",
    "default_root",
    "find_known",
    "load",
    "read",
    "select",
]
