"""Failures of the toy function, as in a run folder."""

from dlbench.analysis.bugs.evidence import Failure, ModuleSource, collect
from dlbench.dataset.target import find_target
from tests.conftest import MODULE

HEADER = "def scale(values, factor=2):\n"
CHECK = "    if factor == 0:\n        raise ValueError('factor must not be zero')\n"
BODY = "    return [value * factor + OFFSET for value in values]\n"
LINE = find_target(MODULE, "scale").node.lineno


def make_failure(
    toy, code, error="AssertionError: assert [1] == [2]", *, frames=(), status="fail", passed=0, run="run"
):
    instance = toy.instances["toy/toy.core.scale"]
    outcomes = ["passed"] * passed + ["failed"] * (len(instance.tests) - passed)
    lines = [*(frames or ["tests/test_core.py:8: in test_scale"]), f"E   {error}"]
    verdict = {
        "instance": instance.id,
        "sample": 0,
        "status": status,
        "tests": dict(zip(instance.tests, outcomes, strict=True)),
        "message": "\n".join(lines),
    }
    return Failure(run, instance, verdict, code)


def inside(line):
    """Frames that end in the candidate, at this line of its text."""
    return ["tests/test_core.py:8: in test_scale", f"toy/core.py:candidate:{LINE + line - 1}: in scale"]


def find_evidence(toy, *arguments, missing=None, **named):
    return collect(
        make_failure(toy, *arguments, **named), ModuleSource(MODULE, find_target(MODULE, "scale")), missing or {}
    )
