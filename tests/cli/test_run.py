"""A model is asked over HTTP, its answers are judged, and whatever the endpoint does, nothing is lost."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.cli.test_judging import RIGHT, verdicts_of

STEP = "def step(self, by=1):\n    self.count += by\n    return self.count\n"


class Endpoint(BaseHTTPRequestHandler):
    """Speaks the chat-completions protocol; `server.plan` gives the status of each coming request."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        status = self.server.plan.pop(0) if self.server.plan else 200
        if status == "nonsense":
            return self._send(200, "<html>welcome</html>", "text/html")
        if status != 200:
            return self._send(status, json.dumps({"error": {"message": f"status {status}"}}))
        code = STEP if "Counter" in asked["messages"][-1]["content"] else RIGHT
        message = {"role": "assistant", "content": f"Here:\n\n```python\n{code}```"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
        answer = {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
        return self._send(200, json.dumps(answer))

    def _send(self, status, text, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        if status == 429:
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def endpoint():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    server.plan, server.asked = [], []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


def ask(dlbench, endpoint, toy_root, out, *more):
    url = f"http://127.0.0.1:{endpoint.server_port}/v1"
    arguments = ("--model", "m", "--base-url", url, "--out", out, "--benchmark", toy_root, "--concurrency", 1)
    return dlbench("run", *arguments, *more, env={"DLBENCH_API_KEY": "sk-very-secret"})


def test_run_asks_judges_and_prints_a_table(dlbench, endpoint, toy_root, tmp_path):
    out = tmp_path / "run"
    ended = ask(dlbench, endpoint, toy_root, out)
    assert ended.status == 0, ended.err
    assert "100.0 %" in ended.out
    assert [verdict["status"] for verdict in verdicts_of(out)] == ["pass", "pass"]
    config = json.loads((out / "config.json").read_text())
    assert config["model"] == "m"
    assert "100.0 %" in (out / "report.md").read_text()
    everything = ended.said + "".join(path.read_text() for path in out.iterdir())
    assert "sk-very-secret" not in everything


def test_a_429_is_waited_out(dlbench, endpoint, toy_root, tmp_path):
    endpoint.plan = [429, 429]
    assert ask(dlbench, endpoint, toy_root, tmp_path / "run").status == 0
    assert len(endpoint.asked) == 4


@pytest.mark.parametrize(("trouble", "word"), [(401, "key"), ("nonsense", "html")])
def test_an_endpoint_that_refuses_ends_the_run_with_what_was_done(dlbench, endpoint, toy_root, tmp_path, trouble, word):
    out = tmp_path / "run"
    endpoint.plan = [200, trouble]
    ended = ask(dlbench, endpoint, toy_root, out)
    assert ended.status == 1
    assert word in ended.err.lower()
    assert "Traceback" not in ended.said
    assert len((out / "samples.jsonl").read_text().splitlines()) == 1
    endpoint.plan, endpoint.asked[:] = [], []
    again = ask(dlbench, endpoint, toy_root, out)
    assert again.status == 0, again.err
    assert len(endpoint.asked) == 1


def test_an_endpoint_that_is_not_there_gets_a_clear_message(dlbench, endpoint, toy_root, tmp_path):
    endpoint.server_close()
    endpoint.shutdown()
    ended = ask(dlbench, endpoint, toy_root, tmp_path / "run")
    assert ended.status == 1
    assert "127.0.0.1" in ended.err
    assert "Traceback" not in ended.said


def test_a_folder_of_another_run_is_not_written_to(dlbench, endpoint, toy_root, tmp_path):
    out = tmp_path / "run"
    ask(dlbench, endpoint, toy_root, out)
    before = {path.name: path.read_text() for path in out.iterdir()}
    ended = ask(dlbench, endpoint, toy_root, out, "--temperature", 0.5)
    assert ended.status == 1
    assert "another temperature" in ended.err
    assert {path.name: path.read_text() for path in out.iterdir()} == before


def test_reference_passes_and_stub_fails_side_by_side(dlbench, toy_root, tmp_path):
    out = tmp_path / "both"
    ended = dlbench("run", "--model", "reference", "--model", "stub", "--out", out, "--benchmark", toy_root)
    assert ended.status == 0, ended.err
    assert {verdict["status"] for verdict in verdicts_of(out / "reference")} == {"pass"}
    assert {verdict["status"] for verdict in verdicts_of(out / "stub")} == {"fail"}
    again = dlbench("report", out / "reference", out / "stub", "--benchmark", toy_root)
    assert again.status == 0
    assert "100.0 %" in again.out
    assert "0.0 %" in again.out
