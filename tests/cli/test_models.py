"""Any model can be evaluated within limits; its key is sent only to its endpoint; a kill loses no answer."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time

import pytest

from dlbench.generation.sampling import draw_seed
from tests.cli.test_judging import ID, RIGHT, verdicts_of
from tests.cli.test_run import STEP
from tests.generation.chaos import Chaos
from tests.generation.endpoint import Endpoint, completion

KEY = "sk-planted-0123456789abcdef"
KEYS = {"DLBENCH_API_KEY": KEY, "OPENAI_API_KEY": KEY, "GROQ_API_KEY": KEY}
PROGRAM = f"""
import json, os, sys
request = json.load(sys.stdin)
print("request for", request["instance"], file=sys.stderr)
if request["instance"].endswith(os.environ.get("FAILS_ON", "?")):
    sys.exit("cannot do this one, with " + os.environ["DLBENCH_API_KEY"])
print({STEP!r} if "Counter" in request["messages"][-1]["content"] else {RIGHT!r})
"""


def code_for(prompt):
    return f"```python\n{STEP if 'Counter' in prompt else RIGHT}```"


def samples_of(out):
    return [json.loads(line) for line in (out / "samples.jsonl").read_text().splitlines()]


def everything_in(folder):
    return "".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_program_is_a_model_and_its_failure_ends_the_run(dlbench, toy_root, tmp_path):
    out = tmp_path / "run"
    command = f"{sys.executable} -c {shlex.quote(PROGRAM)}"
    arguments = ("run", "--model-command", command, "--out", out, "--benchmark", toy_root, "--concurrency", 1)
    failed = dlbench(*arguments, env=KEYS | {"FAILS_ON": "scale"})
    assert failed.status == 1
    assert "cannot do this one" in failed.err
    assert "Traceback" not in failed.said
    ended = dlbench(*arguments, env=KEYS)
    assert ended.status == 0, ended.err
    assert [verdict["status"] for verdict in verdicts_of(out)] == ["pass", "pass"]
    assert json.loads((out / "config.json").read_text())["model"] == "command"
    assert KEY not in failed.said + ended.said + everything_in(out)


@pytest.mark.slow
def test_file_of_answers_is_a_model(dlbench, toy_root, tmp_path, write_samples):
    path = write_samples({"instance": ID, "sample": 0, "answer": RIGHT})
    arguments = ("run", "--model", f"file:{path}", "--out", tmp_path / "run", "--benchmark", toy_root)
    missing = dlbench(*arguments)
    assert missing.status == 1
    assert "there is no sample 0 of toy/toy.core.Counter.step" in missing.err
    ended = dlbench(*arguments[:4], tmp_path / "one", *arguments[5:], "--instance", ID)
    assert ended.status == 0, ended.err
    assert [verdict["status"] for verdict in verdicts_of(tmp_path / "one")] == ["pass"]


@pytest.mark.slow
def test_run_of_a_file_records_its_cost_and_no_sampling_settings(dlbench, toy_root, tmp_path, write_samples):
    usage = {"prompt_tokens": 1000, "completion_tokens": 500}
    record = {"instance": ID, "sample": 0, "answer": RIGHT, "usage": usage, "cost": 0.125}
    arguments = ("--benchmark", toy_root, "--instance", ID)
    ended = dlbench("run", "--model", f"file:{write_samples(record)}", "--out", tmp_path / "paid", *arguments)
    assert ended.status == 0, ended.err
    assert samples_of(tmp_path / "paid")[0]["cost"] == 0.125
    assert "0.1250" in ended.out
    assert not {"temperature", "max_tokens"} & json.loads((tmp_path / "paid/config.json").read_text()).keys()
    del record["cost"]
    dlbench("run", "--model", f"file:{write_samples(record)}", "--out", tmp_path / "unknown", *arguments)
    assert "cost" not in samples_of(tmp_path / "unknown")[0]


@pytest.fixture
def endpoint():
    with Endpoint(lambda _, body: completion(code_for(body["messages"][-1]["content"]))) as server:
        yield server


@pytest.mark.slow
def test_budget_stops_the_run_and_a_higher_one_resumes_it(dlbench, endpoint, toy_root, tmp_path):
    out = tmp_path / "run"
    arguments = ("run", "--model", "m", "--base-url", endpoint.url, "--out", out, "--benchmark", toy_root, "-n", 3)
    ended = dlbench(*arguments, "--max-requests", 4)
    assert ended.status == 1
    assert "the budget is exhausted: 4 of 4 requests" in ended.err
    assert "run the same command with a higher --max-requests" in ended.err
    assert len(samples_of(out)) == len(endpoint.requests) == 4
    assert dlbench(*arguments, "--max-requests", 4).status == 1
    assert len(endpoint.requests) == 4
    assert "5 of 5 requests" in dlbench(*arguments, "--max-requests", 5).err
    assert len(samples_of(out)) == len(endpoint.requests) == 5


def test_max_cost_requires_a_price(dlbench, endpoint, toy_root, tmp_path):
    out = tmp_path / "run"
    arguments = ("run", "--model", "m", "--base-url", endpoint.url, "--out", out, "--benchmark", toy_root)
    ended = dlbench(*arguments, "--max-cost", 1)
    assert ended.status == 1
    assert "--max-cost requires a price" in ended.err
    assert not out.exists()
    assert endpoint.requests == []


@pytest.mark.slow
def test_cost_uses_the_user_s_prices(dlbench, endpoint, toy_root, tmp_path):
    out = tmp_path / "run"
    arguments = ("run", "--model", "m", "--base-url", endpoint.url, "--out", out, "--benchmark", toy_root)
    prices = tmp_path / "prices.toml"
    prices.write_text('["m"]\ninput = 1000\noutput = 1000\n')
    ended = dlbench(*arguments, "--max-cost", 1, "--prices", prices)
    assert ended.status == 1
    assert "of $1.0000 spent, the next request may cost" in ended.err
    ended = dlbench(*arguments, "--max-cost", 100, "--max-requests", 1, "--prices", prices)
    assert [record["cost"] for record in samples_of(out)] == [0.005], ended.err


@pytest.mark.slow
def test_reasoning_omits_the_temperature_and_records_it(dlbench, endpoint, toy_root, tmp_path):
    out = tmp_path / "run"
    url = ("--base-url", endpoint.url)
    ended = dlbench("run", "--model", "vllm/m", *url, "--reasoning", "--seed", 7, "-n", 2, "--out", out, "--benchmark", toy_root)  # fmt: skip
    assert ended.status == 0, ended.err
    assert {request["model"] for request in endpoint.requests} == {"m"}
    assert not any("temperature" in request or "max_tokens" in request for request in endpoint.requests)
    keys = [(record["instance"], record["sample"]) for record in map(json.loads, (out / "samples.jsonl").open())]
    assert len(keys) == 4
    assert {request["seed"] for request in endpoint.requests} == {draw_seed(7, *key) for key in keys}
    assert json.loads((out / "config.json").read_text())["temperature"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--base-url", "http://127.0.0.1:9/v1"), "--base-url requires --model"),
        (("--model", "stub", "--base-url", "http://127.0.0.1:9/v1"), "stub does not use --base-url"),
        (("--model", "reference", "--reasoning", "--stream"), "reference does not use --stream, --reasoning"),
        (("--model", "stub", "--top-p", "0.5", "--header", "A: b"), "stub does not use --top-p, --header"),
        (("--model", "stub", "--port", "4000"), "stub does not use --port"),
        (("--model-command", "cat", "--api-key", "k"), "--model-command does not use --api-key"),
        (("--model", "stub", "--variants", "4", "--rule", "b4"), "zero-shot does not use --variants, --rule"),
    ],
)
def test_ignored_options_are_refused(dlbench, toy_root, tmp_path, options, message):
    """An ignored --base-url would give the score of another model."""
    ended = dlbench("run", *options, "--out", tmp_path / "run", "--benchmark", toy_root)
    assert ended.status == 1
    assert message in ended.err
    assert not (tmp_path / "run").exists()


def test_missing_key_is_refused_before_the_folder_is_created(dlbench, toy_root, tmp_path):
    out = tmp_path / "run"
    unset = dict.fromkeys(("DLBENCH_API_KEY", "GROQ_API_KEY"), "")
    ended = dlbench("run", "--model", "groq/x", "--out", out, "--benchmark", toy_root, env=unset)
    assert ended.status == 1
    assert "GROQ_API_KEY" in ended.err
    assert not out.exists()


PRYING = """```python
def scale(values, factor=2):
    import glob, os
    seen = [str(dict(os.environ))]
    for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
        try:
            seen.append(open(path, errors="replace").read())
        except OSError:
            pass
    raise RuntimeError("sk-planted" in str(seen), len(seen), str(seen)[:3000])
```"""


@pytest.mark.slow
def test_key_reaches_no_file_no_output_and_no_candidate(dlbench, toy_root, tmp_path):
    """The endpoint repeats the key, and the candidate searches for it."""

    def reply(number, body):
        if number == 0:
            return 500, {"Content-Type": "text/plain"}, f"oops, {KEY}"
        return completion(f"{PRYING}\nYour key is {KEY}.", reasoning=KEY)

    out = tmp_path / "run"
    with Endpoint(reply) as endpoint:
        arguments = ("run", "--model", "m", "--base-url", endpoint.url, "--out", out, "--benchmark", toy_root)
        ended = dlbench(*arguments, "--instance", ID, env=KEYS)
        assert len(endpoint.requests) == 2
        assert all(headers["authorization"] == f"Bearer {KEY}" for headers in endpoint.headers)
    assert ended.status == 0, ended.err
    (verdict,) = verdicts_of(out)
    assert verdict["status"] == "fail"
    everything = everything_in(out)
    assert "RuntimeError: (False, " in everything
    assert "Your key is ***." in everything
    assert KEY not in ended.said + everything
    refused = Endpoint(lambda *_: (401, {"Content-Type": "text/plain"}, f"no: {KEY}"))
    with refused as endpoint:
        ended = dlbench("run", "--model", "m", "--base-url", endpoint.url, "--out", tmp_path / "other", "--benchmark", toy_root, env=KEYS)  # fmt: skip
    assert ended.status == 1
    assert KEY not in ended.said + everything_in(tmp_path / "other")


def start(url, toy_root, out, *more):
    options = {"--model": "m", "--base-url": url, "--out": out, "--benchmark": toy_root, "--request-timeout": 3}
    words = [str(word) for word in (*(word for pair in options.items() for word in pair), *more)]
    command, environment = [sys.executable, "-m", "dlbench", "run", *words], {**os.environ, **KEYS}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def kept_in(out):
    """Complete lines only: a kill may cut the last one."""
    path = out / "samples.jsonl"
    whole = path.read_text().rpartition("\n")[0].splitlines() if path.exists() else []
    return {(record["instance"], record["sample"]) for record in map(json.loads, whole)}


@pytest.mark.slow
def test_killed_run_requests_no_sample_on_disk_again(toy_root, tmp_path):
    out, each, concurrency = tmp_path / "run", 40, 8
    more = ("-n", each, "--concurrency", concurrency)
    with Chaos(code_for, most=2) as chaos:
        names = {}
        for kill_at in (30, 45, 60):
            process = start(chaos.url, toy_root, out, *more)
            while len(chaos.answered) < kill_at and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kept, received_before = kept_in(out), len(chaos.received)
            with (out / "samples.jsonl").open("a") as file:
                file.write('{"instance": "toy/toy.core.scale", "sam')  # a line cut by a kill
            answered = len(chaos.answered)
            assert answered - 2 * concurrency <= len(kept) <= answered
            names[received_before] = kept
        process = start(chaos.url, toy_root, out, *more)
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output
        prompts = {False: ID, True: "toy/toy.core.Counter.step"}
        received = [(prompts["Counter" in prompt], seed) for prompt, seed in chaos.received]
        for before, kept in names.items():
            assert not kept & set(received[before:])
        # only requests in flight or being written at a kill may be paid for twice
        assert len(chaos.answered) <= 2 * each + 3 * 2 * concurrency
        logged = len((out / "requests.jsonl").read_text().splitlines())
        assert logged >= len(chaos.received), "a request was sent that is not in the log"
    samples = samples_of(out)
    assert [(s["instance"], s["sample"]) for s in samples] == [(i, n) for i in (prompts[True], ID) for n in range(each)]
    verdicts = verdicts_of(out)
    assert [(one["instance"], one["sample"]) for one in verdicts] == [(s["instance"], s["sample"]) for s in samples]
    assert {verdict["status"] for verdict in verdicts} == {"pass"}
    assert KEY not in output + everything_in(out)


def count_lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_until(condition):
    deadline = time.monotonic() + 120
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)


@pytest.mark.slow
def test_answer_is_judged_while_others_are_awaited_and_ctrl_c_loses_nothing(dlbench, toy_root, tmp_path):
    """The endpoint answers the second request only when the first answer is judged, and the third after Ctrl-C."""
    out, over, judged = tmp_path / "run", threading.Event(), []

    def reply(number, body):
        if number == 1:
            wait_until(lambda: count_lines(out / "verdicts.jsonl") == 1)
            judged.append(count_lines(out / "verdicts.jsonl"))
        if number == 2:
            over.wait(120)
        return completion(code_for(body["messages"][-1]["content"]))

    with Endpoint(reply) as endpoint:
        process = start(endpoint.url, toy_root, out, "-n", 2, "--concurrency", 1, "--request-timeout", 300)
        wait_until(lambda: len(endpoint.requests) == 3 and count_lines(out / "verdicts.jsonl") == 2)
        process.send_signal(signal.SIGINT)
        over.set()
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 130, output
        assert judged == [1]
        before = verdicts_of(out)
        assert len(samples_of(out)) >= 3
        arguments = ("run", "--model", "m", "--base-url", endpoint.url, "--out", out, "--benchmark", toy_root, "-n", 2)
        ended = dlbench(*arguments, env=KEYS)
        assert ended.status == 0, ended.err
        assert len(endpoint.requests) == 4
    after = verdicts_of(out)
    assert [(one["instance"], one["sample"]) for one in after] == [
        (s["instance"], s["sample"]) for s in samples_of(out)
    ]
    assert len(after) == 4
    assert all(one in after for one in before)
