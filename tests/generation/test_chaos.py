"""No sample is lost and none is requested again after it was answered, whatever the endpoint does."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from dlbench.errors import DLBenchError
from dlbench.generation import OpenAIModel, generate
from dlbench.generation.request_log import REQUESTS

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
def test_no_sample_is_lost_or_requested_twice(most: int, stream: bool, tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    with Chaos(lambda prompt: f"answer to {prompt}", most) as chaos:
        model = OpenAIModel("m", chaos.url, timeout=TIMEOUT, stream=stream)
        generate(model, INSTANCES, request_of, path, N, 32, lambda _: None)
        assert keys(path) == ALL
        assert all(record["answer"] == f"answer to {record['instance']}" for record in lines(path))
        assert all(record["finish_reason"] == "stop" and record["usage"] for record in lines(path))
        assert sorted(chaos.answered) == sorted(ALL)
        assert len(chaos.received) == len(ALL) + len(chaos.failures) == len(lines(tmp_path / REQUESTS))
        assert set(chaos.failures) == set(FAILURES), "the test was too short to meet every failure"


@pytest.mark.slow
def test_restart_after_an_error_requests_only_missing_samples(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
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


RUN_SCRIPT = """\
import sys
from pathlib import Path
from dlbench.generation import OpenAIModel, generate
from tests.generation.test_sampling import INSTANCES, request_of

url, path, n, concurrency = sys.argv[1:]
generate(OpenAIModel("m", url, timeout=10), INSTANCES, request_of, Path(path), int(n), int(concurrency), lambda _: None)
"""


def read_whole_lines(path: Path) -> list[tuple[str, int]]:
    text = path.read_text() if path.exists() else ""
    records = [json.loads(line) for line in text.split("\n")[:-1]]
    return [(record["instance"], record["sample"]) for record in records]


@pytest.mark.slow
def test_restart_after_a_kill_loses_no_sample_and_repeats_none_on_disk(tmp_path: Path) -> None:
    path, concurrency = tmp_path / "samples.jsonl", 4
    with Chaos(lambda prompt: prompt, most=1) as chaos:
        command = [sys.executable, "-c", RUN_SCRIPT, chaos.url, str(path), str(N), str(concurrency)]
        with subprocess.Popen(command, cwd=ROOT) as process:
            while process.poll() is None and len(read_whole_lines(path)) < 15:
                time.sleep(0.01)
            process.kill()
        assert process.returncode == -signal.SIGKILL, "the process ended before it was killed"
        kept = read_whole_lines(path)
        generate(OpenAIModel("m", chaos.url, timeout=TIMEOUT), INSTANCES, request_of, path, N, 32, lambda _: None)
        answers = Counter(chaos.answered)
        sent = len(chaos.received)
    assert 15 <= len(kept) < len(ALL)
    assert keys(path) == ALL
    assert [answers[key] for key in kept] == [1] * len(kept)
    # only requests in flight or being written may be repeated
    assert sum(count - 1 for count in answers.values()) <= 2 * concurrency
    assert len(lines(tmp_path / REQUESTS)) >= sent, "a request was sent that is not in the log"


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
