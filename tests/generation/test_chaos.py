"""No sample is lost and none is requested again after it was answered, whatever the endpoint does."""

import threading
from collections import Counter
from pathlib import Path

import pytest

from dlbench.errors import DLBenchError
from dlbench.generation import OpenAIModel, generate
from dlbench.runs import REQUESTS

from .chaos import FAILURES, Chaos
from .endpoint import Endpoint, Reply, completion
from .test_sampling import INSTANCES, keys, lines, request_of

ROOT = Path(__file__).parent.parent.parent
N = 20
TIMEOUT = 10.0
"""Seconds. An answer that a busy machine delays for longer is requested again, and arrives twice."""
ALL = [(one.id, sample) for one in INSTANCES for sample in range(N)]


@pytest.mark.parametrize(
    ("most", "stream"),
    [(2, False), pytest.param(4, False, marks=pytest.mark.slow), pytest.param(3, True, marks=pytest.mark.slow)],
)
def test_no_sample_is_lost_or_requested_twice(most: int, stream: bool, path: Path) -> None:
    with Chaos(lambda prompt: f"answer to {prompt}", most) as chaos:
        model = OpenAIModel("m", chaos.url, timeout=TIMEOUT, stream=stream)
        generate(model, INSTANCES, request_of, path, N, 32, lambda _: None)
        assert keys(path) == ALL
        assert all(record["answer"] == f"answer to {record['instance']}" for record in lines(path))
        assert all(record["finish_reason"] == "stop" and record["usage"] for record in lines(path))
        assert sorted(chaos.answered) == sorted(ALL)
        assert len(chaos.received) == len(ALL) + len(chaos.failures) == len(lines(path.with_name(REQUESTS)))
        assert set(chaos.failures) == set(FAILURES), "the test was too short to meet every failure"


@pytest.mark.slow
def test_restart_after_an_error_requests_only_missing_samples(path: Path) -> None:
    seen = Counter[str]()

    def give_up(_: object) -> None:
        seen["samples"] += 1
        if seen["samples"] == 15:
            raise DLBenchError("enough")

    with Chaos(lambda prompt: prompt, most=1) as chaos:
        with pytest.raises(DLBenchError, match="enough"):
            generate(OpenAIModel("m", chaos.url, timeout=TIMEOUT), INSTANCES, request_of, path, N, 8, give_up)
        kept = len(lines(path))
        assert 15 <= kept < len(ALL)
        assert kept == len(chaos.answered)
        generate(OpenAIModel("m", chaos.url, timeout=TIMEOUT), INSTANCES, request_of, path, N, 32, lambda _: None)
        assert sorted(chaos.answered) == sorted(ALL)
    assert keys(path) == ALL


def test_concurrency_is_reached_and_never_exceeded(tmp_path: Path) -> None:
    lock, current, most = threading.Lock(), 0, 0
    full = threading.Event()

    def reply(*_: object) -> Reply:
        nonlocal current, most
        with lock:
            current += 1
            most = max(most, current)
            if current == 12:
                full.set()
        full.wait(10)  # until all slots are occupied
        with lock:
            current -= 1
        return completion("x")

    with Endpoint(reply) as endpoint:
        model = OpenAIModel("m", endpoint.url)
        generate(model, INSTANCES, request_of, tmp_path / "samples.jsonl", N, 12, lambda _: None)
    assert full.is_set()
    assert most == 12
