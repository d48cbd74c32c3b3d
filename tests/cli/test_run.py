"""`run` asks a model over HTTP and evaluates its answers; nothing is lost whatever the endpoint does."""

import json

import pytest

from dlbench.dataset import load
from dlbench.reporting.candidates import read_candidates
from dlbench.runs import read_run
from tests.cli.test_judging import RIGHT, verdicts_of
from tests.generation.endpoint import Endpoint, completion, refusal

STEP = "def step(self, by=1):\n    self.count += by\n    return self.count\n"


@pytest.fixture
def endpoint():
    """Answers correctly, except where `plan` lists statuses of the next requests."""
    plan: list[int | str] = []

    def reply(number, body):
        status = plan.pop(0) if plan else 200
        if status == "nonsense":
            return 200, {"Content-Type": "text/html"}, "<html>welcome</html>"
        if status != 200:
            return refusal(status, f"status {status}", retry_after="0")
        code = STEP if "Counter" in body["messages"][-1]["content"] else RIGHT
        return completion(f"Here:\n\n```python\n{code}```")

    with Endpoint(reply) as server:
        server.plan = plan
        yield server


def run(dlbench, endpoint, toy_root, out, *more):
    arguments = ("--model", "m", "--base-url", endpoint.url, "--out", out, "--benchmark", toy_root, "--concurrency", 1)
    return dlbench("run", *arguments, *more, env={"DLBENCH_API_KEY": "sk-very-secret"})


def test_run_evaluates_and_prints_a_table(dlbench, endpoint, toy_root, tmp_path):
    out = tmp_path / "run"
    ended = run(dlbench, endpoint, toy_root, out)
    assert ended.status == 0, ended.err
    assert "100.0 %" in ended.out
    assert [verdict["status"] for verdict in verdicts_of(out)] == ["pass", "pass"]
    config = json.loads((out / "config.json").read_text())
    assert config["model"] == "m"
    assert "100.0 %" in (out / "report.md").read_text()
    everything = ended.said + "".join(path.read_text() for path in out.iterdir())
    assert "sk-very-secret" not in everything


def test_status_429_is_retried(dlbench, endpoint, toy_root, tmp_path):
    endpoint.plan += [429, 429]
    assert run(dlbench, endpoint, toy_root, tmp_path / "run").status == 0
    assert len(endpoint.requests) == 4


@pytest.mark.parametrize(
    ("failure", "word"), [(401, "key"), ("nonsense", "html")]
)  # the latter is transient: --retries 0
def test_failing_endpoint_ends_the_run_and_keeps_answers(dlbench, endpoint, toy_root, tmp_path, failure, word):
    out = tmp_path / "run"
    endpoint.plan += [200, failure]
    ended = run(dlbench, endpoint, toy_root, out, "--retries", 0)
    assert ended.status == 1
    assert word in ended.err.lower()
    assert "Traceback" not in ended.said
    assert len((out / "samples.jsonl").read_text().splitlines()) == 1
    endpoint.requests.clear()
    again = run(dlbench, endpoint, toy_root, out)
    assert again.status == 0, again.err
    assert len(endpoint.requests) == 1


def test_unreachable_endpoint_is_reported(dlbench, toy_root, tmp_path):
    with Endpoint(lambda number, body: completion("")) as gone:
        pass
    ended = run(dlbench, gone, toy_root, tmp_path / "run", "--retries", 0)
    assert ended.status == 1
    assert "127.0.0.1" in ended.err
    assert "Traceback" not in ended.said


def test_occupied_port_is_reported(dlbench, endpoint, toy_root, tmp_path):
    port = endpoint.url.rpartition(":")[2].partition("/")[0]
    ended = dlbench("run", "--model", "embedded", "--port", port, "--out", tmp_path / "run", "--benchmark", toy_root)
    assert ended.status == 1
    assert port in ended.err
    assert "Traceback" not in ended.said


def test_folder_of_another_run_is_refused(dlbench, endpoint, toy_root, tmp_path):
    out = tmp_path / "run"
    run(dlbench, endpoint, toy_root, out)
    before = {path.name: path.read_text() for path in out.iterdir()}
    ended = run(dlbench, endpoint, toy_root, out, "--temperature", 0.5)
    assert ended.status == 1
    assert "this run was started with temperature 0.0, you passed 0.5" in ended.err
    assert {path.name: path.read_text() for path in out.iterdir()} == before


def test_mutant_is_the_reference_with_one_change_and_differs_by_sample(dlbench, toy_root, tmp_path):
    out, chosen = tmp_path / "run", ("--instance", "toy/toy.core.scale", "--benchmark", toy_root)
    ended = dlbench("run", "--model", "mutant", "-n", 3, "--out", out, *chosen)
    assert ended.status == 0, ended.err
    answers = {json.loads(line)["answer"] for line in (out / "samples.jsonl").read_text().splitlines()}
    assert len(answers) > 1
    assert all("def scale(values, factor=2):" in one for one in answers)
    assert "fail" in {verdict["status"] for verdict in verdicts_of(out)}
    assert any("passed" in verdict["tests"].values() for verdict in verdicts_of(out) if verdict["status"] == "fail")
    # it is mostly the project's own code
    assert read_candidates(read_run(out), load(toy_root), public=True) == {}


def test_higher_number_of_samples_extends_a_finished_run(dlbench, endpoint, toy_root, tmp_path):
    out = tmp_path / "run"
    run(dlbench, endpoint, toy_root, out, "--samples", 3)
    before, kept = verdicts_of(out), (out / "samples.jsonl").read_text().splitlines()
    ended = run(dlbench, endpoint, toy_root, out, "--samples", 4)
    assert ended.status == 0, ended.err
    assert len(endpoint.requests) == 8
    after = verdicts_of(out)
    assert [(one["sample"], one["status"]) for one in after] == [(n, "pass") for n in range(4)] * 2
    assert [one for one in after if one["sample"] < 3] == before
    assert set(kept) < set((out / "samples.jsonl").read_text().splitlines())
    assert json.loads((out / "config.json").read_text())["samples"] == 4
    fewer = run(dlbench, endpoint, toy_root, out, "--samples", 3)
    assert fewer.status == 1
    assert "this run was started with samples 4, you passed 3" in fewer.err


def test_reference_passes_and_stub_fails(dlbench, toy_root, tmp_path):
    out = tmp_path / "both"
    ended = dlbench("run", "--model", "reference", "--model", "stub", "--out", out, "--benchmark", toy_root)
    assert ended.status == 0, ended.err
    assert {verdict["status"] for verdict in verdicts_of(out / "reference")} == {"pass"}
    assert {verdict["status"] for verdict in verdicts_of(out / "stub")} == {"fail"}
    again = dlbench("report", out / "reference", out / "stub", "--benchmark", toy_root)
    assert again.status == 0
    assert "100.0 %" in again.out
    assert "0.0 %" in again.out
