"""Samples files of any endpoint are read."""

import pytest

from dlbench.runs.samples import parse_samples
from tests.scoring.made import make_benchmark


@pytest.mark.parametrize(
    ("reason", "is_cut"),
    [
        *((reason, True) for reason in ("length", "max_tokens", "MAX_TOKENS", "model_length", "max_output_tokens")),
        *((reason, False) for reason in ("stop", "end_turn", "", None, 3)),
    ],
)
def test_finish_reason_of_any_endpoint_marks_a_cut_off_answer(reason, is_cut):
    benchmark = make_benchmark(1)
    (instance,) = benchmark.instances
    record = {"instance": instance, "answer": "def f(): pass", "finish_reason": reason}
    (sample,) = parse_samples([(1, record)], "samples.jsonl", benchmark)
    assert sample.is_cut is is_cut
