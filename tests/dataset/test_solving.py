"""Attempts at solving are counted correctly; malformed lines are errors with their number."""

import json

import pytest

from dlbench.dataset import load
from dlbench.dataset.statistics import Attempt, Solved, read_attempts, summarise
from dlbench.errors import DLBenchError

SCALE, STEP = "toy/toy.core.scale", "toy/toy.core.Counter.step"


def write(root, *rows):
    (root / "solving.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_first_try_and_final_rates(toy_root):
    write(
        toy_root,
        {"id": SCALE, "attempt": 2, "status": "pass"},
        {"id": SCALE, "attempt": 1, "status": "fail", "fault": "prompt", "lacked": "what zero does"},
        {"id": STEP, "attempt": 1, "status": "pass"},
        {"id": "gone/gone.f", "attempt": 1, "status": "pass"},
    )
    benchmark = load(toy_root)
    attempts = read_attempts(toy_root)
    assert summarise(attempts, list(benchmark.instances.values())) == Solved(tried=2, first=1, final=2, repaired=1)
    assert summarise(attempts, [benchmark.instances[STEP]]) == Solved(tried=1, first=1, final=1, repaired=0)


@pytest.mark.parametrize("row", [{"id": SCALE}, {"id": SCALE, "attempt": 1, "status": "fail", "fault": "nobody"}])
def test_malformed_attempt_is_reported_with_its_line(toy_root, row):
    write(toy_root, Attempt(id=SCALE, attempt=1, status="pass").model_dump(), row)
    with pytest.raises(DLBenchError, match=r"solving\.jsonl:2"):
        read_attempts(toy_root)
