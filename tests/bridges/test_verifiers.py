"""verifiers finds our environment by its name; its rollouts get the rewards of our verdicts, or fail without one."""

import asyncio
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

from dlbench.bridges.shared import judges
from dlbench.bridges.verifiers import DLBenchTask, DLBenchTaskset, DLBenchTasksetConfig
from dlbench.errors import DLBenchError
from dlbench.generation.sources import Sources, make_prompt_builder
from dlbench.runs.verdict import PENALTY
from tests.bridges.test_trl import TAMPERING
from tests.cli.test_judging import ID, RIGHT
from tests.conftest import write_toy
from tests.generation.endpoint import Endpoint, completion
from tests.test_public_judge import PARTLY


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    yield write_toy(tmp_path_factory.mktemp("verifiers"))
    judges.close()


def strict_completion(text: str, reason: str = "stop"):
    """verifiers requires every field that OpenAI documents."""
    status, headers, body = completion(text)
    record = {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted"} | json.loads(body)
    record["usage"]["total_tokens"] = 5
    record["choices"][0]["finish_reason"] = reason
    return status, headers, json.dumps(record)


def evaluate(root, out, answers, *, task=None, reply=strict_completion, **taskset):
    """The traces of one rollout per answer, in the order of the requests."""
    judge = {"benchmark": str(root), "timeout": 20, "workers": 2} | (task or {})
    with Endpoint(lambda number, body: reply(answers[number])) as endpoint:
        config = EvalConfig(
            env={"taskset": {"id": "dlbench-env", "split": "demo", "task": judge} | taskset},
            model="scripted",
            client={"base_url": endpoint.url, "api_key_var": "NO_KEY"},
            num_rollouts=len(answers),
            max_concurrent=1,
            push=False,
            rich=None,
            output_dir=out,
        )
        traces = [trace for episode in asyncio.run(run_eval(config)) for trace in episode.traces]
    assert len(traces) == len(endpoint.requests)
    return sorted(traces, key=lambda trace: trace.timing.agent.start), endpoint.requests


@pytest.mark.slow
def test_rollouts_are_rewarded_by_their_verdicts(root, tmp_path):
    answers = [f"Sure:\n```python\n{RIGHT}```\n", PARTLY, "I do not know.", TAMPERING]
    traces, _ = evaluate(root, tmp_path, answers, task={"kind": "fraction"})
    assert [trace.reward for trace in traces] == [1.0, 0.8, 0.0, PENALTY]
    assert [trace.metrics["tests_passed"] for trace in traces[:3]] == [1.0, 0.8, 0.0]
    statuses = ["pass", "fail", "no_code", "tampered"]
    assert [trace.info["verdict"]["status"] for trace in traces] == statuses
    assert [trace.metrics[f"status_{status}"] for trace, status in zip(traces, statuses, strict=True)] == [1.0] * 4
    assert all(trace.ok for trace in traces)
    assert traces[0].info["verdict"]["confirmed"]  # training gets no pass that was not replayed


@pytest.mark.parametrize("technique", ["zero-shot", "few-shot-random"])
def test_models_are_asked_what_dlbench_run_asks(root, tmp_path, toy, technique):
    _, requests = evaluate(root, tmp_path, [RIGHT], technique=technique, shots=1)
    (turn,) = make_prompt_builder(Sources(toy), technique, 1, 0, 6000).build(toy.instances[ID]).turns
    assert requests[0]["messages"] == turn


def test_harness_error_fails_the_rollout_and_gives_no_reward(tmp_path):
    root = write_toy(tmp_path)
    record = root / "instances/toy/scale.toml"
    record.write_text(record.read_text().replace("test_scale_zero", "test_that_is_not_there"))
    (trace,), _ = evaluate(root, tmp_path / "out", [RIGHT])
    assert not trace.ok
    assert trace.rewards == {"verdict": None}
    assert trace.info["verdict"]["status"] == "harness_error"
    assert "toy.core.scale: harness error, not judged: the reference does not pass" in trace.errors[0].message


def test_answer_that_was_cut_off_is_judged_as_such(root, tmp_path):
    (trace,), _ = evaluate(root, tmp_path, [PARTLY], reply=partial(strict_completion, reason="length"))
    assert trace.info["verdict"]["truncated"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"split": "none"}, "there is no split 'none'"),
        ({"technique": "self-planning"}, "self-planning needs several answers"),
        ({"task": {"sandbox": "none"}}, "none"),
        ({"task": {"kind": "fraction", "fail_fast": True}}, "the reward fraction needs all tests"),
    ],
)
def test_wrong_options_end_the_run_before_the_first_rollout(root, settings, message):
    task = {"benchmark": str(root)} | settings.pop("task", {})
    with pytest.raises(DLBenchError, match=message):
        list(DLBenchTaskset(DLBenchTasksetConfig(task=task, **settings)))


def test_task_rebuilt_from_its_data_judges_without_blocking_the_event_loop(root, tmp_path):
    """Servers and `vf-replay` rebuild tasks; they do not load the taskset."""
    (trace,), _ = evaluate(root, tmp_path, [PARTLY])
    data = DLBenchTask.data_type().model_validate(trace.task.data.model_dump())
    task = DLBenchTask(data, DLBenchTask.config_type()(benchmark=str(root), kind="fraction"))
    done = []

    async def judge():
        done.append(await task.verdict(trace))

    async def go_on():
        done.append("other")

    async def both():
        await asyncio.gather(judge(), go_on())

    asyncio.run(both())
    assert done == ["other", 0.8]


@pytest.mark.slow
def test_command_of_verifiers_evaluates_the_environment(root, tmp_path):
    with Endpoint(lambda number, body: strict_completion(RIGHT)) as endpoint:
        command = [Path(sys.executable).with_name("vf-eval"), "dlbench-env", "--env.taskset.split", "demo"]
        command += ["--env.taskset.task.benchmark", root, "--env.taskset.task.kind", "fraction", "--no-rich"]
        command += ["--no-push", "--client.base-url", endpoint.url, "-m", "scripted", "-o", tmp_path]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
    (written,) = tmp_path.rglob("traces.jsonl")
    assert '"tests_passed":1.0' in written.read_text().replace(" ", "")
