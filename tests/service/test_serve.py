"""`dlbench serve` gives the verdicts of `dlbench.Judge` to any number of clients, and refuses what it should refuse."""

import json
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

import dlbench
from dlbench.service.app import Server
from dlbench.service.guard import Settings
from tests.cli.test_judging import ID, RIGHT, WRONG, steady
from tests.service.conftest import AUTH, TOKEN
from tests.test_public_judge import ENDLESS, PARTLY, STEP

SLOW = RIGHT.replace("return", "import time; time.sleep(0.3); return")


def lines_of(response):
    assert response.status_code == 200, response.text
    return [json.loads(line) for line in response.text.splitlines()]


def error_of(response, status):
    assert response.status_code == status, response.text
    assert set(response.json()["error"]) == {"status", "what", "where", "fix"}
    assert response.json()["error"]["status"] == status
    return response.json()["error"]


def test_verdicts_are_those_of_the_judge(service, toy):
    with dlbench.Judge(toy, workers=1) as judge:
        verdicts = [judge.judge(ID, code) for code in (RIGHT, WRONG, PARTLY, "def scale(:")]
    for code, verdict in zip((RIGHT, WRONG, PARTLY, "def scale(:"), verdicts, strict=True):
        found = service.post({"instance": ID, "code": code, "id": "mine"}).json()
        assert found.pop("id") == "mine"
        assert found.pop("rewards") == {kind: verdict.reward(kind) for kind in ("pass", "plus", "fraction")}
        assert steady([found]) == steady([verdict.as_record()])


def test_answers_are_extracted_and_cut_ones_noted(service):
    found = service.post({"instance": ID, "answer": f"Sure:\n```python\n{RIGHT}```\n"}).json()
    assert (found["status"], found["id"], found["rewards"]["pass"]) == ("pass", 0, 1)
    found = service.post({"instance": ID, "answer": "def scale(", "finish_reason": "length"}).json()
    assert found["truncated"]


def test_list_streams_in_the_order_of_completion(service):
    right, slow = ({"instance": ID, "code": code} for code in (RIGHT, SLOW))
    service.post(right)  # the next time it is in the cache
    with service.post([slow, right], stream=True) as response:
        assert response.headers["content-type"] == "application/x-ndjson"
        found = [json.loads(line) for line in response.iter_lines()]
    assert [(one["id"], one["status"]) for one in found] == [(1, "pass"), (0, "pass")]


@pytest.mark.slow
def test_64_clients_at_once_get_their_own_verdicts(service):
    def ask(number):
        code = RIGHT if number % 2 else WRONG
        code += f"NUMBER = {number % 16}\n"
        found = service.post([{"instance": ID, "code": code, "id": f"{number}-{n}"} for n in range(3)])
        return {(one["id"], one["status"]) for one in lines_of(found)}

    with ThreadPoolExecutor(64) as threads:
        for number, found in enumerate(threads.map(ask, range(64))):
            assert found == {(f"{number}-{n}", "pass" if number % 2 else "fail") for n in range(3)}
    assert service.get("/healthz").json()["waiting"] == 0


@pytest.mark.slow
def test_fail_fast_and_graded_choose_the_rewards(serve):
    no_code = {"instance": ID, "answer": "I do not know."}
    assert set(serve("--fail-fast").post({"instance": ID, "code": WRONG}).json()["rewards"]) == {"pass", "plus"}
    graded = serve("--graded")
    found = graded.post({"instance": ID, "code": PARTLY}).json()["rewards"]
    assert 0 < found["graded"] != found["fraction"]
    assert graded.post(no_code).json()["rewards"] == {"pass": 0, "plus": 0, "fraction": 0, "graded": 0}


def test_instances_prompts_documentation_and_metrics(service):
    listed = service.get("/v1/instances").json()
    assert {one["id"]: one["tests"] for one in listed} == {ID: 5, STEP: 2}
    assert listed[0]["labels"]["task"] == "general"
    assert [one["id"] for one in service.get("/v1/instances?split=demo").json()] == [ID]
    assert "did you mean demo" in error_of(service.get("/v1/instances?split=dem"), 400)["fix"]
    system, user = service.get(f"/v1/prompt?instance={ID}").json()["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert "each number of `values`" in user["content"]
    assert "there is no instance" in error_of(service.get("/v1/prompt?instance=toy/none"), 400)["what"]
    assert "/v1/judge" in service.get("/openapi.json", {}).json()["paths"]
    service.post({"instance": ID, "code": RIGHT})
    metrics = service.get("/metrics").text
    assert 'dlbench_verdicts_total{status="pass"}' in metrics
    assert 'dlbench_requests_total{path="/v1/judge",status="200"}' in metrics
    assert "\ndlbench_waiting 0.0\n" in metrics


@pytest.mark.parametrize("path", ["/v1/judge", "/v1/instances", "/metrics", "/none"])
def test_everything_but_health_and_documentation_needs_the_token(service, path):
    for given in ({}, {"Authorization": TOKEN}, {"Authorization": f"Basic {TOKEN}"}, {"Authorization": "Bearer é"}):
        response = service.get(path, {name: value.encode() for name, value in given.items()})
        assert "Authorization: Bearer" in error_of(response, 401)["fix"]
        assert response.headers["www-authenticate"] == "Bearer"
    assert service.get("/healthz", {}).json()["status"] == "ok"


def test_request_id_is_in_the_reply_and_the_log(service):
    assert service.get("/healthz", {"X-Request-ID": "mine-7"}).headers["x-request-id"] == "mine-7"
    made = service.get("/healthz", {"X-Request-ID": "two words"}).headers["x-request-id"]
    service.wait_for_log(" mine-7 GET '/healthz' 200")
    service.wait_for_log(f" {made} GET '/healthz' 200")
    assert "two words" not in service.log


@pytest.mark.parametrize(
    ("body", "status", "what"),
    [
        ({"instance": "toy/none", "code": ""}, 400, "there is no instance"),
        ({"instance": ID}, 400, 'neither "answer" nor "code"'),
        ({"instance": ID, "code": "", "answer": ""}, 400, "both"),
        ([{"instance": ID, "code": "", "id": 1}, {"instance": ID, "code": ""}], 400, "the same id"),
        ([], 422, "at least 1"),
        ("text", 422, "valid dictionary"),
        ({"instance": ID, "code": 3}, 422, "valid string"),
    ],
    ids=str,
)
def test_malformed_request_says_what_is_wrong(service, body, status, what):
    assert what in error_of(service.post(body), status)["what"]


@pytest.mark.slow
def test_too_much_at_once_is_refused(serve):
    service = serve("--workers", "1", "--max-body", "16", "--max-candidates", "2", "--max-waiting", "2")
    one = {"instance": ID, "code": RIGHT}
    assert "16384 bytes" in error_of(service.post({"instance": ID, "code": "#" * 100_000}), 413)["what"]
    assert "at most 2" in error_of(service.post([one | {"id": n} for n in range(3)]), 413)["what"]
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(service.post, [{"instance": ID, "code": SLOW + f"X = {n}\n"} for n in range(2)])
        service.wait_until_waiting(2)
        refused = service.post(one)
        assert "2 candidates wait" in error_of(refused, 429)["what"]
        assert int(refused.headers["retry-after"]) > 0
        assert [one["status"] for one in lines_of(slow.result())] == ["pass"] * 2
    assert service.post(one).json()["status"] == "pass"


def test_after_a_deadline_judging_goes_on_and_the_verdict_is_kept(service):
    code = SLOW + "DEADLINE = 1\n"
    address = f"{service.url}/v1/judge?deadline=0.1"
    body = [{"instance": ID, "code": code, "id": "a"}, {"instance": ID, "code": "", "id": "b"}]
    one = requests.post(address, json=body[0], headers=AUTH, timeout=60)
    assert "no verdict after 0.1 s" in error_of(one, 504)["what"]
    many = requests.post(address, json=body, headers=AUTH, timeout=60)
    empty, late = lines_of(many)
    assert (empty["id"], empty["status"]) == ("b", "no_code")
    assert (late["id"], late["error"]["status"]) == ("a", 504)
    service.wait_until_waiting(0)
    hits = service.get("/metrics").text.partition("\ndlbench_cache_hits ")[2].split()[0]
    assert service.post(body[0]).json()["status"] == "pass"
    assert f"dlbench_cache_hits {float(hits) + 1}" in service.get("/metrics").text


def test_clients_that_stop_sending_or_reading_are_dropped(service):
    """They hold a connection for `--client-timeout` seconds, and never a worker."""
    head = f"POST /v1/judge HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
    body = json.dumps([{"instance": ID, "code": WRONG, "id": f"{'long' * 2000}{n}"} for n in range(800)])
    with socket.create_connection(("127.0.0.1", service.port)) as sender, socket.socket() as reader:
        sender.sendall(f"{head}Content-Length: 100\r\n\r\n[".encode())
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect(("127.0.0.1", service.port))
        reader.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        service.wait_until_waiting(0)
        assert service.post({"instance": ID, "code": RIGHT}).json()["status"] == "pass"
        assert b" 408 " in sender.recv(1000)
        service.wait_for_log("(the client left or stopped reading)")
        received = sum(map(len, iter(lambda: reader.recv(1 << 16), b"")))
    assert received < len(body)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_listening_beyond_loopback_needs_a_token(toy, host):
    command = [sys.executable, "-m", "dlbench", "serve", "--benchmark", str(toy.root), "--host", host, "--token", ""]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "other machines could connect, and no token was given" in ended.stderr
    assert "set DLBENCH_TOKEN" in ended.stderr


@pytest.mark.slow
def test_new_token_is_printed_and_bad_options_are_refused(serve, toy):
    service = serve(token="")
    token = service.log.partition("token: ")[2].split()[0]
    assert service.get("/v1/instances", {"Authorization": f"Bearer {token}"}).status_code == 200
    for options, what in {
        ("--token", "two words"): "ASCII",
        ("--max-waiting", "9"): "fewer than one request may have",
        ("--port", str(service.port)): "cannot listen",
    }.items():
        command = [sys.executable, "-m", "dlbench", "serve", "--benchmark", str(toy.root), *options]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (ended.returncode, what in ended.stderr) == (1, True), ended.stderr


@pytest.mark.slow
def test_sigterm_finishes_what_runs_and_refuses_the_rest(serve):
    service = serve()
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(service.post, [{"instance": ID, "code": SLOW + f"X = {n}\n"} for n in range(3)])
        service.wait_until_waiting(3)
        assert service.kill(signal.SIGTERM) == 0
        assert [one["status"] for one in lines_of(running.result())] == ["pass"] * 3
    with pytest.raises(requests.ConnectionError):
        service.get("/healthz")


@pytest.mark.slow
def test_after_the_grace_period_those_who_wait_are_told(serve):
    service = serve("--grace", "0.5")
    endless = {"instance": ID, "code": ENDLESS}
    with ThreadPoolExecutor(2) as threads:
        one, many = threads.submit(service.post, endless), threads.submit(service.post, [endless])
        service.wait_until_waiting(2)
        assert service.kill(signal.SIGTERM) == 0
        assert error_of(one.result(), 503)["what"] == "the service stops"
        assert [line["error"]["status"] for line in lines_of(many.result())] == [503]
    assert "Traceback" not in service.log


def test_service_ends_with_its_judge(toy):
    """Otherwise it would refuse everything from then on, and nobody would start it again."""
    settings = Settings(TOKEN, 1 << 20, 10, 10, deadline=60, client_timeout=60, grace=1)
    with dlbench.Judge(toy, workers=1) as judge, socket.create_server(("127.0.0.1", 0)) as listening:
        judge.judge(ID, RIGHT)
        server = Server(judge, settings)
        thread = threading.Thread(target=server.run, args=[[listening]])
        thread.start()
        judge.close()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/v1/judge"
        found = requests.post(address, json={"instance": ID, "code": WRONG}, headers=AUTH, timeout=60)
        assert "the judge has ended: the judge is closed" in error_of(found, 503)["what"]
        thread.join(60)
        assert not thread.is_alive()
        assert server.judging.is_broken
