"""Each turn is paid for once: a plan that was answered is not requested again, however the run ended."""

import asyncio
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from dlbench.dataset.records import Instance
from dlbench.errors import DLBenchError
from dlbench.generation import Answer, OpenAIModel, Request, generate
from dlbench.generation.conversation import TURNS
from dlbench.generation.sources import PromptBuilder
from dlbench.generation.techniques import find_technique

from .endpoint import Endpoint, completion, refusal
from .library import INSTANCES, example_pool
from .test_sampling import Scripted, lines

RIVERS = [INSTANCES["rivers/rivers.depth"], INSTANCES["rivers/rivers.rank"]]


def request_of(instance: Instance, sample: int) -> Request:
    return PromptBuilder(find_technique("self-planning"), example_pool()).request(instance, sample, 0.0, 100, sample)


def is_plan(request: Request) -> bool:
    return "Do not write code yet" in request.messages[-1]["content"]


class Planner(Scripted):
    """Answers plans and code, and records the requests; fails at request number `ends`."""

    def __init__(self, plan: str = "1. Subtract.", ends: int = -1) -> None:
        super().__init__()
        self.plan, self.ends = plan, ends
        self.requests: list[Request] = []

    async def answer(self, request: Request) -> Answer:
        if len(self.requests) == self.ends:
            raise DLBenchError("the connection is gone")
        self.requests.append(request)
        text = self.plan if is_plan(request) else "```python\nx = 1\n```"
        return Answer(text, {"completion_tokens": 5, "details": {"cached": 1}}, "stop", 0.5)


def run(model: Planner, path: Path, instances: list[Instance] = RIVERS, n: int = 1) -> list[dict[str, Any]]:
    generate(model, instances, request_of, path, n, 1, lambda _: None)
    return lines(path)


def test_second_turn_contains_the_first_and_the_last_answer_counts(tmp_path: Path) -> None:
    model = Planner()
    (record,) = run(model, tmp_path / "samples.jsonl", RIVERS[:1])
    plan, code = model.requests
    assert code.messages[: len(plan.messages)] == plan.messages
    assert [message["role"] for message in code.messages] == ["system", "user", "assistant", "user"]
    assert code.messages[2]["content"] == "1. Subtract."
    assert record["answer"] == "```python\nx = 1\n```"
    assert record["technique"] == "self-planning"
    assert record["usage"] == {"completion_tokens": 10, "details": {"cached": 2}}
    assert record["seconds"] == 1.0
    assert [turn["answer"] for turn in record["earlier_turns"]] == ["1. Subtract."]


@pytest.mark.parametrize("ends", range(8))
def test_interrupted_run_requests_each_turn_once(ends: int, path: Path) -> None:
    first = Planner(ends=ends)
    with pytest.raises(DLBenchError, match="gone"):
        run(first, path, n=2)
    again = Planner()
    records = run(again, path, n=2)
    assert len(first.requests) + len(again.requests) == 8
    turns = [(request.instance_id, request.sample, is_plan(request)) for request in first.requests + again.requests]
    assert len(set(turns)) == 8
    assert [(record["instance"], record["sample"]) for record in records] == [
        (instance.id, sample) for instance in RIVERS for sample in range(2)
    ]
    assert all(record["usage"]["completion_tokens"] == 10 for record in records)


@pytest.mark.parametrize(
    "edit", [lambda text: text[:-20], lambda text: re.sub('"asked": "[^"]*"', '"asked": "0"', text)]
)
def test_torn_line_or_another_prompt_is_requested_again(edit: Callable[[str], str], path: Path) -> None:
    with pytest.raises(DLBenchError):
        run(Planner(ends=1), path)
    turns = path.with_name(TURNS)
    kept = turns.read_text()
    turns.write_text(edit(kept))
    assert turns.read_text() != kept
    again = Planner()
    run(again, path)
    assert len(again.requests) == 4
    assert sum(kept == line + "\n" for line in turns.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("plan", "history"),
    [("<think>\nsecret\n</think>\n\n1. Do.", "1. Do."), ("", "(no answer)"), ("<think>\nno end", "(no answer)")],
)
def test_history_has_no_reasoning_and_no_empty_turn(plan: str, history: str, tmp_path: Path) -> None:
    model = Planner(plan)
    (record,) = run(model, tmp_path / "samples.jsonl", RIVERS[:1])
    assert model.requests[1].messages[2]["content"] == history
    assert record["earlier_turns"][0]["answer"] == plan


def test_too_long_first_turn_ends_the_conversation(tmp_path: Path) -> None:
    class Short(Planner):
        async def answer(self, request: Request) -> Answer:
            self.requests.append(request)
            return Answer("", finish_reason="context_length")

    model = Short()
    (record,) = run(model, tmp_path / "samples.jsonl", RIVERS[:1])
    assert len(model.requests) == 1
    assert record["finish_reason"] == "context_length"


def test_error_elsewhere_stops_before_the_next_turn(tmp_path: Path) -> None:
    """A refused key must not cost another request for each plan in flight."""
    both = Barrier(2)

    class Failing(Planner):
        async def answer(self, request: Request) -> Answer:
            if is_plan(request):
                await asyncio.to_thread(both.wait, 5)
                if request.instance_id == RIVERS[0].id:
                    raise DLBenchError("refused")
                await asyncio.sleep(0.3)  # the other one fails meanwhile
            return await super().answer(request)

    model = Failing()
    with pytest.raises(DLBenchError, match="refused"):
        generate(model, RIVERS, request_of, tmp_path / "samples.jsonl", 1, 2, lambda _: None)
    assert [is_plan(request) for request in model.requests] == [True]
    assert len(lines(tmp_path / TURNS)) == 1


def test_single_turn_creates_no_file_of_turns(tmp_path: Path) -> None:
    def plain(instance: Instance, sample: int) -> Request:
        return PromptBuilder(find_technique("few-shot-random"), example_pool()).request(
            instance, sample, 0.0, 100, sample
        )

    generate(Scripted(), RIVERS, plain, tmp_path / "samples.jsonl", 1, 1, lambda _: None)
    assert not (tmp_path / TURNS).exists()
    assert [len(record["shots"]) for record in lines(tmp_path / "samples.jsonl")] == [3, 3]


def test_plan_survives_a_refusal_of_the_second_turn(path: Path) -> None:
    with (
        Endpoint(lambda n, _: completion("1. Plan.") if n == 0 else refusal(401, "no")) as bad,
        pytest.raises(DLBenchError, match="refused the API key"),
    ):
        generate(OpenAIModel("m", bad.url, "k"), RIVERS[:1], request_of, path, 1, 1, lambda _: None)
    with Endpoint(lambda _, body: completion("code")) as good:
        generate(OpenAIModel("m", good.url, "k"), RIVERS[:1], request_of, path, 1, 1, lambda _: None)
    assert [request["messages"][2]["content"] for request in good.requests] == ["1. Plan."]
    assert lines(path)[0]["usage"] == {"prompt_tokens": 6, "completion_tokens": 4}


KILLED_SCRIPT = """
    import os, sys
    from pathlib import Path
    from generation.test_conversation import RIVERS, Planner, is_plan, run

    class Dying(Planner):
        async def answer(self, request):
            if not is_plan(request):
                os._exit(9)
            return await super().answer(request)

    run(Dying(), Path(sys.argv[1]), RIVERS[:1])
"""


def test_plan_survives_a_kill_during_the_second_turn(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), *sys.path])}
    command = [sys.executable, "-c", textwrap.dedent(KILLED_SCRIPT), str(path)]
    assert subprocess.run(command, env=environment, check=False, timeout=30).returncode == 9
    again = Planner()
    run(again, path)
    planned = [request.instance_id for request in again.requests if is_plan(request)]
    assert planned == [RIVERS[1].id]
    assert len(again.requests) == 3
