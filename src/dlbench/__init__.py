"""DL-Bench: evaluate how well models write deep-learning code.

`import dlbench` stays light: heavy libraries (pydantic, libcst, numpy, aiohttp) are imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dlbench.api import Judge, evaluate, load, score
    from dlbench.dataset import Benchmark, Instance, Project
    from dlbench.errors import DLBenchError
    from dlbench.execution import judge
    from dlbench.extraction import extract
    from dlbench.runs.samples import Sample
    from dlbench.runs.verdict import Verdict
    from dlbench.scoring import Summary, pass_at_k

__version__ = "0.1.0"

__all__ = [
    "Benchmark",
    "DLBenchError",
    "Instance",
    "Judge",
    "Project",
    "Sample",
    "Summary",
    "Verdict",
    "__version__",
    "evaluate",
    "extract",
    "judge",
    "load",
    "pass_at_k",
    "score",
]

_PARTS = {
    "api": ("Judge", "evaluate", "load", "score"),
    "dataset": ("Benchmark", "Instance", "Project"),
    "errors": ("DLBenchError",),
    "execution": ("judge",),
    "extraction": ("extract",),
    "runs.samples": ("Sample",),
    "runs.verdict": ("Verdict",),
    "scoring": ("Summary", "pass_at_k"),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the type of the attribute
    for part, names in _PARTS.items():
        if name in names:
            return getattr(import_module(f"dlbench.{part}"), name)
    raise AttributeError(f"module 'dlbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
