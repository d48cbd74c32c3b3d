"""Samples files of any endpoint are read."""

import pytest

from dlbench.runs.samples import parse_samples
from tests.scoring.made import make_benchmark


@pytest.mark.parametrize(
    ("reason", "is_truncated"),
    [
        *((reason, True) for reason in ("length", "max_tokens", "MAX_TOKENS", "model_length", "max_output_tokens")),
        *((reason, False) for reason in ("stop", "end_turn", "", None, 3)),
    ],
)
def test_truncation_is_recognised_by_every_endpoint_s_finish_reason(reason, is_truncated):
    benchmark = make_benchmark(1)
    (instance,) = benchmark.instances
    record = {"instance": instance, "answer": "def f(): pass", "finish_reason": reason}
    (sample,) = parse_samples([(1, record)], "samples.jsonl", benchmark)
    assert sample.is_truncated is is_truncated
