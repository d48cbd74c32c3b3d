"""What does a command say whose library is not installed? Which extra has it, and nothing of a traceback."""

from importlib.util import find_spec

from dlbench.errors import DLBenchError


def need(module: str, extra: str) -> None:
    if find_spec(module) is None:
        raise DLBenchError(f"{module} is not installed", mend=f"pip install 'dlbench[{extra}]'")
