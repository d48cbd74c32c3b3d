"""`run` asks a model over HTTP and evaluates its answers; nothing is lost whatever the endpoint does."""

import json
from datetime import UTC, date, datetime

import pytest

from dlbench.dataset import load
from dlbench.reporting.candidates import read_candidates
from dlbench.runs import read_run
from tests.cli.test_judging import ID, RIGHT, verdicts_of
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
    assert config_of(out)["model"] == "m"
    assert "100.0 %" in (out / "report.md").read_text()
    everything = ended.said + "".join(path.read_text() for path in out.iterdir())
    assert "sk-very-secret" not in everything


def config_of(out):
    return json.loads((out / "config.json").read_text())


def test_limit_and_file_of_ids_choose_instances(dlbench, endpoint, toy_root, tmp_path):
    ids = tmp_path / "ids.txt"
    ids.write_text(f"# mine\n\n{ID}\n")
    assert run(dlbench, endpoint, toy_root, tmp_path / "listed", "--instances", ids).status == 0
    assert config_of(tmp_path / "listed")["instances"] == [ID]
    listed = dlbench("list", "--benchmark", toy_root, "--json", "--limit", 1)
    assert [one["id"] for one in json.loads(listed.out)] == ["toy/toy.core.Counter.step"]
    for text, message in ((f"{ID}\ntoy/toy.core.scal\n", "ids.txt:2"), ("# none\n", "the file lists no instance")):
        ids.write_text(text)
        ended = dlbench("list", "--benchmark", toy_root, "--instances", ids)
        assert ended.status == 1
        assert message in ended.err


@pytest.mark.slow
def test_sampling_options_are_sent_and_recorded_and_keys_in_headers_are_not_stored(
    dlbench, endpoint, toy_root, tmp_path
):
    out = tmp_path / "run"
    options = ("--top-p", 0.9, "--reasoning-effort", "high", "--extra-body", '{"top_k": 20}', "--limit", 1)
    headers = ("--header", "X-Api-Key: planted-0123456789", "--header", "X-Title: mine")
    ended = run(dlbench, endpoint, toy_root, out, *options, *headers)
    assert ended.status == 0, ended.err
    (sent,), (received,) = endpoint.requests, endpoint.headers
    assert (sent["top_p"], sent["reasoning_effort"], sent["top_k"]) == (0.9, "high", 20)
    assert (received["x-api-key"], received["x-title"]) == ("planted-0123456789", "mine")
    config = config_of(out)
    assert (config["top_p"], config["reasoning_effort"], config["extra_body"]) == (0.9, "high", {"top_k": 20})
    assert config["headers"] == ["X-Api-Key", "X-Title"]
    assert sent["max_tokens"] == config["max_tokens"] == 32768
    assert "planted" not in ended.said + "".join(path.read_text() for path in out.iterdir())
    other = run(dlbench, endpoint, toy_root, out, *options, *headers, "--top-p", 0.5)
    assert "this run was started with top_p 0.9, you passed 0.5" in other.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--extra-body", "[1]"), "the value is not a JSON object"),
        (("--extra-body", '{"temperature": 1, "n": 2}'), "cannot set n, temperature"),
        (("--header", "planted-0123456789"), "the value is not NAME: VALUE"),
        (("--header", "X: plant\ned-0123456789"), "the value is not NAME: VALUE"),
    ],
)
def test_invalid_body_or_header_is_refused_before_any_request(dlbench, endpoint, toy_root, tmp_path, options, message):
    ended = run(dlbench, endpoint, toy_root, tmp_path / "run", *options)
    assert ended.status == 1
    assert message in ended.err
    assert "planted" not in ended.said
    assert endpoint.requests == []
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_configuration_names_endpoint_split_and_day_and_a_moved_endpoint_resumes(dlbench, endpoint, toy_root, tmp_path):
    out = tmp_path / "run"
    endpoint.url = endpoint.url.replace("127.0.0.1", "user:planted-0123@127.0.0.1") + "?api-version=planted-4567"
    run(dlbench, endpoint, toy_root, out, "--split", "demo")
    config = config_of(out)
    assert config["endpoint"] == endpoint.url.replace("user:planted-0123@", "").partition("?")[0]
    assert config["split"] == "demo"
    assert date.fromisoformat(config["date"]) <= datetime.now(UTC).date()
    assert config["max_tokens"] == 16384
    endpoint.url = endpoint.url.replace("127.0.0.1", "localhost")
    again = run(dlbench, endpoint, toy_root, out, "--instance", ID)
    assert again.status == 0, again.err
    assert "asking m: 1 of 1 kept" in again.err
    assert "judging: 1 of 1 kept" in again.err
    assert config_of(out) == config


@pytest.mark.slow
def test_status_429_is_retried(dlbench, endpoint, toy_root, tmp_path):
    endpoint.plan += [429, 429]
    assert run(dlbench, endpoint, toy_root, tmp_path / "run").status == 0
    assert len(endpoint.requests) == 4


@pytest.mark.slow
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


@pytest.mark.slow
def test_folder_of_another_run_is_refused(dlbench, endpoint, toy_root, tmp_path):
    out = tmp_path / "run"
    run(dlbench, endpoint, toy_root, out)
    before = {path.name: path.read_text() for path in out.iterdir()}
    ended = run(dlbench, endpoint, toy_root, out, "--temperature", 0.5)
    assert ended.status == 1
    assert "this run was started with temperature 0.0, you passed 0.5" in ended.err
    assert {path.name: path.read_text() for path in out.iterdir()} == before


def test_settings_may_change_until_the_first_answer(dlbench, endpoint, toy_root, tmp_path):
    out = tmp_path / "run"
    endpoint.plan.append(400)
    assert run(dlbench, endpoint, toy_root, out).status == 1
    ended = run(dlbench, endpoint, toy_root, out, "--reasoning")
    assert ended.status == 0, ended.err
    assert config_of(out)["temperature"] is None
    assert len(endpoint.requests) == 3


def test_configuration_of_another_program_is_not_replaced(dlbench, endpoint, toy_root, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.json").write_text('{"mine": 1}')
    assert run(dlbench, endpoint, toy_root, tmp_path / "run").status == 1
    assert (tmp_path / "run/config.json").read_text() == '{"mine": 1}'


@pytest.mark.slow
def test_answers_to_other_records_are_refused(dlbench, endpoint, toy_root, tmp_path):
    out = tmp_path / "run"
    run(dlbench, endpoint, toy_root, out)
    record = toy_root / "instances/toy/scale.toml"
    record.write_text(record.read_text() + "# changed\n")
    ended = run(dlbench, endpoint, toy_root, out)
    assert ended.status == 1
    assert "this run was started with benchmark 1.0+" in ended.err
    submitted = dlbench("leaderboard", "add", out, "--samples-from", "here", "--benchmark", toy_root, "--split", "full")
    assert "the run is on version 1.0+" in submitted.err


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


@pytest.mark.slow
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
    assert config_of(out)["samples"] == 4
    fewer = run(dlbench, endpoint, toy_root, out, "--samples", 3)
    assert fewer.status == 1
    assert "this run was started with samples 4, you passed 3" in fewer.err
    assert "fix: pass --samples 4, or choose a new --out" in fewer.err


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
