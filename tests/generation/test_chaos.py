"""Whatever an endpoint does, in whatever order: no sample is lost, and none is sent again once it was answered."""

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

from .chaos import TROUBLES, Chaos
from .test_sampling import INSTANCES, keys, lines, request_of

ROOT = Path(__file__).parent.parent.parent
N = 20
PATIENCE = 10.0
"""Seconds. An answer that a busy machine delays for longer is asked for again, and comes twice."""
ALL = [(asked.id, sample) for asked in INSTANCES for sample in range(N)]


@pytest.mark.parametrize(
    ("most", "stream"),
    [(2, False), pytest.param(4, False, marks=pytest.mark.slow), pytest.param(3, True, marks=pytest.mark.slow)],
)
def test_no_sample_is_lost_and_none_is_sent_twice(most: int, stream: bool, tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    with Chaos(lambda prompt: f"answer to {prompt}", most) as chaos:
        model = OpenAIModel("m", chaos.url, timeout=PATIENCE, stream=stream)
        generate(model, INSTANCES, request_of, path, N, 32, lambda _: None)
        assert keys(path) == ALL
        assert all(record["answer"] == f"answer to {record['instance']}" for record in lines(path))
        assert all(record["finish_reason"] == "stop" and record["usage"] for record in lines(path))
        assert sorted(chaos.answered) == sorted(ALL)
        assert len(chaos.asked) == len(ALL) + len(chaos.troubles) == len(lines(tmp_path / REQUESTS))
        assert set(chaos.troubles) == set(TROUBLES), "the test was too short to meet every trouble"


@pytest.mark.slow
def test_an_error_in_the_middle_of_chaos_and_a_new_start_ask_for_the_rest_only(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    seen = Counter[str]()

    def give_up(_: object) -> None:
        seen["samples"] += 1
        if seen["samples"] == 15:
            raise DLBenchError("enough")

    with Chaos(lambda prompt: prompt, most=1) as chaos:
        with pytest.raises(DLBenchError, match="enough"):
            generate(OpenAIModel("m", chaos.url, timeout=PATIENCE), INSTANCES, request_of, path, N, 8, give_up)
        kept = len(lines(path))
        assert 15 <= kept < len(ALL)
        assert kept == len(chaos.answered)
        generate(OpenAIModel("m", chaos.url, timeout=PATIENCE), INSTANCES, request_of, path, N, 32, lambda _: None)
        assert sorted(chaos.answered) == sorted(ALL)
    assert keys(path) == ALL


RUN = """\
import sys
from pathlib import Path
from dlbench.generation import OpenAIModel, generate
from tests.generation.test_sampling import INSTANCES, request_of

url, path, n, at_once = sys.argv[1:]
generate(OpenAIModel("m", url, timeout=10), INSTANCES, request_of, Path(path), int(n), int(at_once), lambda _: None)
"""


def read_whole_lines(path: Path) -> list[tuple[str, int]]:
    text = path.read_text() if path.exists() else ""
    records = [json.loads(line) for line in text.split("\n")[:-1]]
    return [(record["instance"], record["sample"]) for record in records]


@pytest.mark.slow
def test_killed_in_the_middle_of_chaos_a_run_loses_no_sample_and_asks_for_none_that_was_kept(tmp_path: Path) -> None:
    path, at_once = tmp_path / "samples.jsonl", 4
    with Chaos(lambda prompt: prompt, most=1) as chaos:
        command = [sys.executable, "-c", RUN, chaos.url, str(path), str(N), str(at_once)]
        with subprocess.Popen(command, cwd=ROOT) as process:
            while process.poll() is None and len(read_whole_lines(path)) < 15:
                time.sleep(0.01)
            process.kill()
        assert process.returncode == -signal.SIGKILL, "it ended before it could be killed"
        kept = read_whole_lines(path)
        generate(OpenAIModel("m", chaos.url, timeout=PATIENCE), INSTANCES, request_of, path, N, 32, lambda _: None)
        answers = Counter(chaos.answered)
        sent = len(chaos.asked)
    assert 15 <= len(kept) < len(ALL)
    assert keys(path) == ALL
    assert [answers[key] for key in kept] == [1] * len(kept)
    # what was under way, or just being written, may be asked again, and nothing else
    assert sum(count - 1 for count in answers.values()) <= 2 * at_once
    assert len(lines(tmp_path / REQUESTS)) >= sent, "a request was sent that is not on record"


def test_as_many_requests_as_asked_are_under_way_and_never_more(tmp_path: Path) -> None:
    from .endpoint import Endpoint, Reply, completion

    lock, there, most = threading.Lock(), 0, 0
    full = threading.Event()

    def reply(*_: object) -> Reply:
        nonlocal there, most
        with lock:
            there += 1
            most = max(most, there)
            if there == 12:
                full.set()
        full.wait(10)  # until as many are here as may be
        with lock:
            there -= 1
        return completion("x")

    with Endpoint(reply) as endpoint:
        model = OpenAIModel("m", endpoint.url)
        generate(model, INSTANCES, request_of, tmp_path / "samples.jsonl", N, 12, lambda _: None)
    assert full.is_set()
    assert most == 12
