"""`JudgeClient` gets every verdict exactly once, whatever happens to the server."""

import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import dlbench
from dlbench.service.client import JudgeClient
from tests.cli.test_judging import ID, RIGHT, WRONG
from tests.service.conftest import TOKEN

CODES = [(RIGHT if n % 3 else WRONG) + f"NUMBER = {n}\n" for n in range(60)]


def open_client(service, **options):
    return JudgeClient(service.url, TOKEN, **options)


def test_verdicts_have_the_places_of_their_candidates(service):
    client = open_client(service)
    assert client.judge(ID, RIGHT)["rewards"]["pass"] == 1
    assert client.judge(ID, f"```python\n{WRONG}```", is_answer=True)["status"] == "fail"
    found = {one["id"]: one["status"] for one in client.judge_many([(ID, RIGHT), (ID, WRONG), (ID, "")], batch=2)}
    assert found == {0: "pass", 1: "fail", 2: "no_code"}


def test_errors_that_a_retry_cannot_help_are_raised_at_once(service):
    with pytest.raises(dlbench.DLBenchError, match="there is no instance 'toy/none'"):
        open_client(service).judge("toy/none", RIGHT)
    with pytest.raises(dlbench.DLBenchError, match="the token is wrong"):
        JudgeClient(service.url, "another").judge(ID, RIGHT)
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        threading.Thread(target=other.handle_request).start()
        with pytest.raises(dlbench.DLBenchError, match="status 501 of another server"):
            JudgeClient(f"http://127.0.0.1:{other.server_port}").judge(ID, RIGHT)


def test_client_without_a_server_gives_up(caplog):
    with pytest.raises(dlbench.DLBenchError, match=r"gave up after 0.5 s: no connection"):
        JudgeClient("http://127.0.0.1:1", TOKEN, patience=0.5).judge(ID, RIGHT)
    with pytest.raises(dlbench.DLBenchError, match=r"fix: write http://127.0.0.1:1"):
        JudgeClient("127.0.0.1:1", TOKEN)
    assert "next attempt in" in caplog.text
    assert all(len(record.getMessage()) < 120 for record in caplog.records)


def test_client_that_never_reached_the_service_gives_up_early(service, monkeypatch):
    monkeypatch.setattr("dlbench.service.client._FIRST_PATIENCE", 0.5)
    with pytest.raises(dlbench.DLBenchError, match=r"gave up after 0.5 s: no connection(?s:.*)check the address"):
        JudgeClient("http://127.0.0.1:1", TOKEN).judge(ID, RIGHT)
    client = open_client(service, patience=1.5)
    client.judge(ID, RIGHT)
    client._url = "http://127.0.0.1:1"
    with pytest.raises(dlbench.DLBenchError, match=r"gave up after 1.5 s: no connection"):
        client.judge(ID, RIGHT)


@pytest.mark.slow
def test_client_waits_while_the_server_has_too_much_to_do(serve, caplog):
    service = serve("--workers", "1", "--max-candidates", "4", "--max-waiting", "4")
    found = Counter()

    def ask(first):
        pairs = [(ID, code) for code in CODES[first : first + 8]]
        found.update((first + one["id"], one["status"]) for one in open_client(service).judge_many(pairs, batch=4))

    threads = [threading.Thread(target=ask, args=[first]) for first in range(0, 48, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == Counter((n, "pass" if n % 3 else "fail") for n in range(48))
    assert "candidates wait" in caplog.text


@pytest.mark.slow
def test_kills_and_restarts_lose_and_repeat_nothing(serve, caplog):
    """The server holds no state but its cache: what it did not answer is asked for again, by id."""
    service, found = serve("--workers", "1"), []
    codes = [code.replace("return", "import time; time.sleep(0.1); return") for code in CODES]
    for record in open_client(service).judge_many([(ID, code) for code in codes], batch=30):
        found.append((record["id"], record["status"]))
        if len(found) in {3, 10, 40}:
            service.kill()
            service.start()
    assert sorted(found) == [(n, "pass" if n % 3 else "fail") for n in range(60)]
    assert caplog.text.count("next attempt in") >= 3
