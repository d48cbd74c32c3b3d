"""A request is paid for once: no answer is lost and nothing is requested twice."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dlbench.dataset.records import Instance, Labels
from dlbench.errors import DLBenchError
from dlbench.generation import Answer, Model, OpenAIModel, Request, generate
from dlbench.generation.sampling import draw_seed

from .endpoint import Endpoint, completion, refusal


def instance(name: str) -> Instance:
    return Instance(
        id=f"toy/toy.{name}",
        path="toy.py",
        qualname=name,
        sha256="0" * 64,
        introduced=date(2026, 1, 2),
        prompt="Do it.",
        tests=("tests/test_toy.py::test_it",),
        labels=Labels(stage="training", task="general", data="others"),
    )


INSTANCES = [instance(name) for name in ("c", "a", "b")]


def request_of(instance: Instance, sample: int) -> Request:
    return Request(instance.id, sample, [{"role": "user", "content": instance.id}], seed=sample)


class Scripted(Model):
    name = "scripted"

    def __init__(self, act: Callable[[Request], str] = lambda request: f"{request.instance_id} {request.sample}"):
        self._act = act
        self.received: list[tuple[str, int]] = []

    async def answer(self, request: Request) -> Answer:
        self.received.append((request.instance_id, request.sample))
        text = await asyncio.to_thread(self._act, request)
        return Answer(text, {"completion_tokens": 1}, "stop", 0.25)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def keys(path: Path) -> list[tuple[str, int]]:
    return [(record["instance"], record["sample"]) for record in lines(path)]


REQUESTED = [(one.id, sample) for one in INSTANCES for sample in range(2)]


def test_samples_are_in_the_order_of_the_instances(tmp_path: Path) -> None:
    path = tmp_path / "run" / "samples.jsonl"
    seen: list[dict[str, Any]] = []
    slow_first = Scripted(lambda request: time.sleep(0.2 if request.instance_id == "toy/toy.c" else 0) or "x")
    generate(slow_first, INSTANCES, request_of, path, 2, 4, seen.append)
    assert keys(path) == REQUESTED
    assert lines(path)[0] == {
        "instance": "toy/toy.c",
        "sample": 0,
        "model": "scripted",
        "answer": "x",
        "usage": {"completion_tokens": 1},
        "finish_reason": "stop",
        "seconds": 0.25,
    }
    assert sorted((record["instance"], record["sample"]) for record in seen) == sorted(REQUESTED)


def test_resume_requests_only_missing_samples(path: Path) -> None:
    generate(Scripted(), INSTANCES[:2], request_of, path, 1, 1, lambda _: None)
    with path.open("a") as file:
        file.write('{"instance": "toy/toy.b", "sam')  # a line cut by a kill
    again = Scripted()
    generate(again, INSTANCES, request_of, path, 2, 2, lambda _: None)
    assert sorted(again.received) == sorted(set(REQUESTED) - {("toy/toy.c", 0), ("toy/toy.a", 0)})
    assert keys(path) == REQUESTED
    last = Scripted()
    generate(last, INSTANCES, request_of, path, 2, 2, lambda _: None)
    assert last.received == []


def test_samples_of_other_instances_are_kept(path: Path) -> None:
    generate(Scripted(), INSTANCES, request_of, path, 2, 2, lambda _: None)
    generate(Scripted(), INSTANCES[1:2], request_of, path, 1, 2, lambda _: None)
    assert sorted(keys(path)) == sorted(REQUESTED)


def test_error_stops_new_requests_and_keeps_those_in_flight(path: Path) -> None:
    both = threading.Barrier(2)

    def act(request: Request) -> str:
        both.wait(5)
        if request.instance_id == "toy/toy.c":
            raise DLBenchError("no more")
        time.sleep(0.3)
        return "kept"

    model = Scripted(act)
    with pytest.raises(DLBenchError, match="no more"):
        generate(model, INSTANCES, request_of, path, 1, 2, lambda _: None)
    assert len(model.received) == 2
    assert [record["answer"] for record in lines(path)] == ["kept"]


def test_error_of_the_caller_stops_generation(path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        generate(Scripted(), INSTANCES, request_of, path, 100, 1, lambda _: 1 // 0)
    assert lines(path)


def test_samples_of_two_models_are_not_mixed(path: Path) -> None:
    generate(Scripted(), INSTANCES, request_of, path, 1, 1, lambda _: None)
    other = Scripted()
    other.name = "other"
    with pytest.raises(DLBenchError, match="holds samples of the model scripted, not of other"):
        generate(other, INSTANCES, request_of, path, 2, 1, lambda _: None)
    assert other.received == []


@pytest.mark.parametrize("line", ["{}", '{"instance": 1, "sample": 0}', '{"instance": "a", "sample": "0"}'])
def test_file_of_other_records_is_refused(line: str, path: Path) -> None:
    path.write_text(line + "\n")
    with pytest.raises(DLBenchError, match="not a file of samples"):
        generate(Scripted(), INSTANCES, request_of, path, 1, 1, lambda _: None)


@pytest.mark.parametrize(("n", "workers"), [(0, 1), (1, 0)])
def test_zero_samples_or_concurrency_is_refused(n: int, workers: int, tmp_path: Path) -> None:
    with pytest.raises(DLBenchError):
        generate(Scripted(), INSTANCES, request_of, tmp_path / "samples.jsonl", n, workers, lambda _: None)


def test_run_resumes_after_a_failing_endpoint(path: Path) -> None:
    with (
        Endpoint(lambda n, body: completion(body["messages"][0]["content"]) if n < 4 else refusal(401, "no")) as bad,
        pytest.raises(DLBenchError, match="refused the API key"),
    ):
        generate(OpenAIModel("m", bad.url, "k"), INSTANCES, request_of, path, 2, 2, lambda _: None)
    kept = len(lines(path))
    assert kept == 4
    with Endpoint(lambda _, body: completion(body["messages"][0]["content"])) as good:
        generate(OpenAIModel("m", good.url, "k"), INSTANCES, request_of, path, 2, 2, lambda _: None)
    assert len(good.requests) == len(REQUESTED) - kept
    assert keys(path) == REQUESTED
    assert all(record["answer"] == record["instance"] for record in lines(path))


CTRL_C = """
    import signal, sys, time
    from pathlib import Path
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell makes its children ignore it
    from generation.test_sampling import INSTANCES, Scripted, generate, request_of

    def act(request):
        time.sleep(1)
        return "kept"

    print("up", flush=True)
    try:
        generate(Scripted(act), INSTANCES, request_of, Path(sys.argv[1]), 50, 2, lambda _: print("got", flush=True))
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""
HANGING = """
    import asyncio, signal, sys
    from pathlib import Path
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from generation.test_sampling import INSTANCES, Scripted, generate, request_of

    class Hanging(Scripted):
        async def answer(self, request):
            print("asked", flush=True)
            await asyncio.sleep(3600)

    log = lambda text: print(text, flush=True)
    try:
        generate(Hanging(), INSTANCES, request_of, Path(sys.argv[1]), 50, 2, print, log=log)
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""


def start(program: str, path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), *sys.path])},
    )


def test_ctrl_c_names_requests_in_flight_and_a_second_one_drops_them(path: Path) -> None:
    process = start(HANGING, path)
    assert process.stdout is not None
    assert [process.stdout.readline().strip() for _ in range(2)] == ["asked", "asked"]
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "stopping after the 2 request(s) in flight; a second Ctrl-C drops them\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[0] == "stopped\n"
    assert process.returncode == 0


def test_ctrl_c_keeps_answers_in_flight(path: Path) -> None:
    process = start(CTRL_C, path)
    assert process.stdout is not None
    output = [process.stdout.readline().strip() for _ in range(2)]
    assert output == ["up", "got"]
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=20)
    assert rest.split()[-1] == "stopped"
    assert process.returncode == 0
    assert len(lines(path)) == 4


def test_seeds_differ_between_samples_and_runs_and_fit_31_bits() -> None:
    """Otherwise instances would share their random draws, and runs would share samples."""
    instances = [f"toy/toy.f{number}" for number in range(20)]
    seeds = [draw_seed(*key) for key in product(range(5), instances, range(10))]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert draw_seed(1, "toy/toy.f0", 0) == draw_seed(1, "toy/toy.f0", 0)
