"""DL-Bench: how well does a model write deep-learning code?

`import dlbench` stays light: what is heavy (pydantic, libcst, aiohttp) is imported by the part that needs it.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Benchmark": "dlbench.dataset",
    "Instance": "dlbench.dataset",
    "Project": "dlbench.dataset",
    "load": "dlbench.dataset",
    "Verdict": "dlbench.execution",
    "Sample": "dlbench.execution",
    "judge": "dlbench.execution",
    "extract": "dlbench.generation",
    "pass_at_k": "dlbench.scoring",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the type is the attribute's own
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'dlbench' has no attribute {name!r}")
