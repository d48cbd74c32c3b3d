"""`--technique repair`: the model sees what became of its answer and answers again; each round has a score."""

import json
import re
import signal

import pytest

from tests.cli.test_judging import ID, RIGHT, WRONG, verdicts_of
from tests.cli.test_models import count_lines, start, wait_until
from tests.cli.test_run import STEP, config_of, run
from tests.generation.endpoint import Endpoint, completion, refusal


@pytest.fixture
def endpoint():
    """Solves `step` at once, and `scale` in its second turn; `plan` lists statuses of second turns."""
    plan: list[int] = []

    def reply(number, body):
        task, is_first = body["messages"][1]["content"], len(body["messages"]) == 2
        if not is_first and (status := plan.pop(0) if plan else 200) != 200:
            return refusal(status, "no")
        code = STEP if "Counter" in task else WRONG if is_first or "scale" in server.stubborn else RIGHT
        return completion(f"```python\n{code}```")

    with Endpoint(reply) as server:
        server.plan, server.stubborn = plan, ""
        yield server


def read_rounds(report):
    """Round, answers and pass@1 of each row of the table in report.md."""
    rows = re.findall(r"^\| m \| (\d) \| (\d) \| ([\d.]+ %) \|", report.read_text(), re.MULTILINE)
    return [tuple(row) for row in rows]


def second_turns(endpoint):
    return [body["messages"] for body in endpoint.requests if len(body["messages"]) > 2]


def test_wrong_answer_is_repaired_and_each_round_is_scored(dlbench, endpoint, toy_root, tmp_path):
    out = tmp_path / "run"
    ended = run(dlbench, endpoint, toy_root, out, "--technique", "repair", "--repair-rounds", 2)
    assert ended.status == 0, ended.err
    assert len(endpoint.requests) == 3
    (messages,) = second_turns(endpoint)
    assert [one["role"] for one in messages] == ["system", "user", "assistant", "user"]
    assert "3 of 5 do not pass" in messages[-1]["content"]
    assert "- tests/test_core.py::test_scale[2]: " in messages[-1]["content"]
    assert "assert [1, 2] == [2, 4]" in messages[-1]["content"]
    assert "test_scale[1]" not in messages[-1]["content"]
    assert [one["status"] for one in verdicts_of(out)] == ["pass", "pass"]
    samples = {one["instance"]: one for one in map(json.loads, (out / "samples.jsonl").open())}
    assert [turn["verdict"]["status"] for turn in samples[ID]["earlier_turns"]] == ["fail"]
    assert read_rounds(out / "report.md") == [("0", "2", "50.0 %"), ("1", "1", "100.0 %"), ("2", "0", "100.0 %")]
    assert "repair rounds" in ended.out
    assert config_of(out)["repair_rounds"] == 2


@pytest.mark.slow
def test_ten_failed_tests_are_shown_with_their_messages(dlbench, toy_root, tmp_path):
    ids = [f"tests/test_more.py::test_number[{number}]" for number in range(12)]
    (tmp_path / "source/tests/test_more.py").write_text(
        "import pytest\nfrom toy.core import scale\n\n\n@pytest.mark.parametrize('number', range(12))\n"
        "def test_number(number):\n    assert scale([number], 3) == [3 * number]\n"
    )
    record = toy_root / "instances/toy/scale.toml"
    record.write_text(re.sub("^tests = .*", f"tests = {ids}", record.read_text(), flags=re.MULTILINE))
    with Endpoint(lambda *_: completion("```python\ndef scale(values, factor=2):\n    return None\n```")) as endpoint:
        run(dlbench, endpoint, toy_root, tmp_path / "run", "--technique", "repair", "--instance", ID)
    (messages,) = second_turns(endpoint)
    assert messages[-1]["content"].count(": assert None == [") == 10
    assert "- and 2 more" in messages[-1]["content"]


@pytest.mark.slow
def test_variant_shows_only_the_number_and_rounds_are_limited(dlbench, endpoint, toy_root, tmp_path):
    endpoint.stubborn, out = "scale", tmp_path / "run"
    ended = run(dlbench, endpoint, toy_root, out, "--technique", "repair-count", "--instance", ID)
    assert ended.status == 0, ended.err
    assert len(endpoint.requests) == 2
    (messages,) = second_turns(endpoint)
    assert "3 of 5 do not pass" in messages[-1]["content"]
    assert "test_scale" not in messages[-1]["content"]
    assert [one["status"] for one in verdicts_of(out)] == ["fail"]
    assert read_rounds(out / "report.md") == [("0", "1", "0.0 %"), ("1", "1", "0.0 %")]


@pytest.mark.slow
def test_stopped_repair_resumes_with_the_same_turn(dlbench, endpoint, toy_root, tmp_path):
    out, technique = tmp_path / "run", ("--technique", "repair", "--instance", ID)
    endpoint.plan.append(401)
    assert run(dlbench, endpoint, toy_root, out, *technique).status == 1
    assert verdicts_of(out) == []
    again = run(dlbench, endpoint, toy_root, out, *technique)
    assert again.status == 0, again.err
    assert len(endpoint.requests) == 3
    first, second = second_turns(endpoint)
    assert first == second
    assert [one["status"] for one in verdicts_of(out)] == ["pass"]
    assert read_rounds(out / "report.md") == [("0", "1", "0.0 %"), ("1", "1", "100.0 %")]


def test_ctrl_c_does_not_wait_for_a_verdict(toy_root, tmp_path):
    out = tmp_path / "run"
    endless = "```python\ndef scale(values, factor=2):\n    while True: pass\n```"
    with Endpoint(lambda *_: completion(endless)) as endpoint:
        more = ("--technique", "repair", "--instance", ID, "--timeout", 100_000)
        process = start(endpoint.url, toy_root, out, *more)
        wait_until(lambda: count_lines(out / "turns.jsonl") == 1)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 130, output
    assert count_lines(out / "turns.jsonl") == 1
    assert count_lines(out / "samples.jsonl") == 0


@pytest.mark.parametrize("option", ["--repair-rounds", "--shots"])
def test_option_of_another_technique_is_refused(dlbench, endpoint, toy_root, tmp_path, option):
    ended = run(dlbench, endpoint, toy_root, tmp_path / "run", option, 2)
    assert ended.status == 1
    assert f"zero-shot does not use {option}" in ended.err
    assert not (tmp_path / "run").exists()
