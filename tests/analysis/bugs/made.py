"""Failures of the toy function, as in a run folder."""

from dlbench.analysis.bugs import Failure

HEADER = "def scale(values, factor=2):\n"
BODY = "    return [value * factor + OFFSET for value in values]\n"


def make_failure(toy, code, error="AssertionError: assert [1] == [2]", *, status="fail", passed=0, run="run"):
    instance = toy.instances["toy/toy.core.scale"]
    outcomes = ["passed"] * passed + ["failed"] * (len(instance.tests) - passed)
    verdict = {
        "instance": instance.id,
        "sample": 0,
        "status": status,
        "tests": dict(zip(instance.tests, outcomes, strict=True)),
        "message": f"tests/test_core.py:8: in test_scale\nE   {error}",
    }
    return Failure(run, instance, verdict, code)
