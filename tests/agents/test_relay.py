"""The relay reaches the model's endpoint and nothing else; what agents tried otherwise is found in their trajectory."""

import errno
import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlbench.agents.attempts import audit, list_commands
from dlbench.agents.relay import Relay
from dlbench.agents.sandbox import find_installed
from dlbench.generation.budget import Budget, Price
from dlbench.generation.providers import Endpoint as Address
from dlbench.workspace.home import home
from tests.agents.scripted import KEY
from tests.generation.endpoint import Endpoint, Reply, completion, refusal, stream


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    def reply(number: int, body: dict[str, Any]) -> Reply:
        if body.get("fail"):
            return refusal(body.get("status", 500), f"{KEY} failed")
        if body.get("uncounted"):
            status, headers, text = stream("a", "b") if body.get("stream") else completion("four")
            return status, headers, text.replace('"usage"', '"none"')
        return stream("a", "b") if body.get("stream") else completion(f"answer {number}")

    with Endpoint(reply) as made:
        yield made


class Served:
    """Requests to a relay, as an agent sends them."""

    def __init__(self, relay: Relay) -> None:
        self.relay, self.listener = relay, socket.create_server(("127.0.0.1", 0))

    def ask(self, target: str, body: object = None, method: str = "POST", **headers: str) -> tuple[int, str]:
        with self.relay.serve(self.listener.dup()):
            connection = http.client.HTTPConnection(*self.listener.getsockname()[:2], timeout=30)
            text = body if isinstance(body, str) else json.dumps(body)
            connection.request(method, target, text if body is not None else None, headers)
            response = connection.getresponse()
            text = response.read().decode()
            connection.close()
        return response.status, text


def serve(endpoint: Endpoint, tmp_path: Path, model: str = "", most_tokens: int | None = None) -> Served:
    budget = Budget(price=Price(1.0, 2.0))
    address, log = Address("m", endpoint.url, KEY), tmp_path / "requests.jsonl"
    return Served(Relay(address, log, budget, most_tokens, model))


def read_log(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]


CHAT = {"model": "dear", "messages": [{"role": "user", "content": "solve it"}]}


def test_a_request_gets_the_key_and_our_model_and_is_counted(endpoint: Endpoint, tmp_path: Path) -> None:
    served = serve(endpoint, tmp_path, model="m")
    status, text = served.ask("/v1/chat/completions", CHAT, Authorization="Bearer relay")
    assert (status, json.loads(text)["choices"][0]["message"]["content"]) == (200, "answer 0")
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"
    assert endpoint.requests[0] == {**CHAT, "model": "m"}
    assert dict(served.relay.tokens) == {"prompt_tokens": 3, "completion_tokens": 2}
    assert served.relay.cost == pytest.approx(7e-6)
    [line] = read_log(tmp_path)
    assert (line["status"], line["new"], line["prompt_tokens"]) == (200, CHAT["messages"], 3)


def test_no_compressed_answer_is_asked_for(endpoint: Endpoint, tmp_path: Path) -> None:
    headers = {"Accept-Encoding": "gzip", "Accept": "application/json", "anthropic-version": "1", "X-Own": "1"}
    serve(endpoint, tmp_path).ask("/v1/chat/completions", CHAT, **headers)
    passed = {name.lower(): endpoint.headers[0].get(name.lower()) for name in headers}
    assert passed == {
        "accept-encoding": "identity",
        "accept": "application/json",
        "anthropic-version": "1",
        "x-own": None,
    }


@pytest.mark.parametrize(
    "body",
    [
        "no JSON",
        "[1]",
        "[" * 200_000,
        f'{{"seed": {"9" * 5000}}}',
        '{"tools": [1, {"type": "web_search"}]}',
        '{"tools": {"type": "web_search"}}',
    ],
)
def test_a_request_that_cannot_be_read_is_not_sent(endpoint: Endpoint, tmp_path: Path, body: str) -> None:
    served = serve(endpoint, tmp_path)
    assert (served.ask("/v1/chat/completions", body)[0], endpoint.requests) == (400, [])
    assert "cannot be read" in read_log(tmp_path)[0]["error"]


def test_a_request_in_chunks_is_refused_and_not_sent_without_its_body(endpoint: Endpoint, tmp_path: Path) -> None:
    status, _ = serve(endpoint, tmp_path).ask("/v1/chat/completions", CHAT, **{"Transfer-Encoding": "chunked"})
    assert (status, endpoint.requests, read_log(tmp_path)[0]["status"]) == (411, [], 411)


def test_each_message_is_recorded_once(endpoint: Endpoint, tmp_path: Path) -> None:
    served, second = serve(endpoint, tmp_path), {"role": "user", "content": "go on"}
    _, text = served.ask("/v1/chat/completions", CHAT)
    answer = json.loads(text)["choices"][0]["message"]
    served.ask("/v1/chat/completions", {"messages": [*CHAT["messages"], answer, second]})
    assert [line["new"] for line in read_log(tmp_path)] == [CHAT["messages"], [second]]
    assert [turn["content"] for turn in served.relay.turns] == ["solve it", "answer 0", "go on", "answer 1"]


def test_a_stream_is_passed_on_and_counted(endpoint: Endpoint, tmp_path: Path) -> None:
    served = serve(endpoint, tmp_path)
    status, text = served.ask("/v1/chat/completions", {**CHAT, "stream": True})
    assert (status, text.count("data:")) == (200, 5)
    assert endpoint.requests[0]["stream_options"] == {"include_usage": True}
    assert dict(served.relay.tokens) == {"prompt_tokens": 3, "completion_tokens": 2}


def test_tools_that_the_endpoint_would_run_are_removed(endpoint: Endpoint, tmp_path: Path) -> None:
    own = {"type": "function", "function": {"name": "bash"}}
    tools = [own, {"type": "web_search_preview"}, {"type": "code_interpreter"}, {"type": "mcp"}]
    serve(endpoint, tmp_path).ask(
        "/v1/chat/completions", {**CHAT, "tools": tools, "web_search_options": {}, "plugins": []}
    )
    assert endpoint.requests[0] == {**CHAT, "tools": [own]}


@pytest.mark.parametrize(
    ("method", "target", "what"),
    [
        ("CONNECT", "example.com:443", "example.com:443"),
        ("GET", "http://example.com/simple/zuko", "example.com"),
        ("POST", "http://user@127.0.0.1:1/v1/chat/completions", "user@127.0.0.1:1"),
        ("GET", "/metrics", "/metrics"),
        ("GET", "/v1/../admin", "/v1/../admin"),
        ("GET", "/v1/%2e%2e/admin", "/v1/%2e%2e/admin"),
    ],
)
def test_everything_else_is_refused_and_recorded(
    endpoint: Endpoint, tmp_path: Path, method: str, target: str, what: str
) -> None:
    served = serve(endpoint, tmp_path)
    assert served.ask(target, method=method)[0] == 403
    assert (dict(served.relay.refused), endpoint.requests) == ({what: 1}, [])
    assert read_log(tmp_path)[0]["refused"] == what


def test_the_endpoint_s_own_tunnel_is_refused(endpoint: Endpoint, tmp_path: Path) -> None:
    served = serve(endpoint, tmp_path)
    assert served.ask(endpoint.url.split("/")[2], method="CONNECT")[0] == 403


def test_without_an_endpoint_everything_is_refused(tmp_path: Path) -> None:
    served = Served(Relay(None, tmp_path / "requests.jsonl", Budget()))
    assert served.ask("/v1/chat/completions", CHAT)[0] == 403


def test_a_failure_of_the_endpoint_is_remembered_without_the_key(endpoint: Endpoint, tmp_path: Path) -> None:
    served = serve(endpoint, tmp_path)
    status, text = served.ask("/v1/chat/completions", {**CHAT, "fail": True})
    assert (status, KEY in text, KEY in served.relay.problem) == (500, False, False)
    assert "HTTP 500" in served.relay.problem
    assert KEY not in (tmp_path / "requests.jsonl").read_text()
    served.ask("/v1/chat/completions", CHAT)
    assert served.relay.problem == ""


def test_a_full_disk_ends_the_attempt_and_takes_no_answer_from_the_agent(endpoint: Endpoint, tmp_path: Path) -> None:
    served = serve(endpoint, tmp_path)
    served.relay.log = Path("/dev/full")
    assert served.ask("/v1/chat/completions", CHAT)[0] == 200
    assert (served.relay.find_reason(), getattr(served.relay.failure, "errno", 0)) == ("log", errno.ENOSPC)


def test_no_request_is_sent_after_the_last_token(endpoint: Endpoint, tmp_path: Path) -> None:
    served = serve(endpoint, tmp_path, most_tokens=5)
    assert [served.ask("/v1/chat/completions", CHAT)[0] for _ in range(2)] == [200, 413]
    assert (served.relay.find_reason(), len(endpoint.requests)) == ("tokens", 1)


@pytest.mark.parametrize("is_stream", [False, True])
def test_tokens_that_the_endpoint_does_not_count_are_estimated(
    endpoint: Endpoint, tmp_path: Path, is_stream: bool
) -> None:
    served = serve(endpoint, tmp_path, most_tokens=5)
    uncounted = {**CHAT, "uncounted": True, "stream": is_stream}
    assert [served.ask("/v1/chat/completions", uncounted)[0] for _ in range(2)] == [200, 413]
    assert read_log(tmp_path)[0]["estimated_tokens"] == served.relay.tokens["estimated_tokens"] > 20
    assert served.relay.find_reason() == "tokens"


def test_only_a_completion_that_fails_is_a_problem(endpoint: Endpoint, tmp_path: Path) -> None:
    served, missing = serve(endpoint, tmp_path), {**CHAT, "fail": True, "status": 404}
    served.ask("/v1/files", {"fail": True})
    assert served.relay.problem == ""
    served.ask("/v1/chat/completions", missing)
    assert "HTTP 404" in served.relay.problem
    served.ask("/v1/files", {})
    assert "HTTP 404" in served.relay.problem
    for body in (CHAT, missing):
        served.ask("/v1/chat/completions?beta=true", body)
        assert served.relay.problem == ""


def called(**arguments: str) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"function": {"name": "t", "arguments": json.dumps(arguments)}}]}


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (called(command="ls"), ["ls"]),
        (called(path="a.py", old="pip install x", new="pip install y"), ["a.py"]),
        ({"role": "assistant", "content": "I run\n```bash\nls -l\n```\nand `cd`."}, ["ls -l\n"]),
        ({"role": "assistant", "content": [{"type": "tool_use", "input": {"command": "ls"}}]}, ["ls"]),
        ({"type": "function_call", "name": "shell", "arguments": '{"command": ["bash", "-lc", "ls"]}'}, ["bash", "ls"]),
        ({"role": "tool", "content": "```\npip install x\n```"}, []),
        ({"role": "user", "content": [{"type": "tool_result", "content": "pip install x"}]}, []),
        (called(command="not JSON")["tool_calls"][0] | {"arguments": "{"}, ["not JSON"]),
    ],
)
def test_commands_are_found_in_the_usual_formats(turn: dict[str, Any], expected: list[str]) -> None:
    found = list(list_commands(turn))
    assert [command for command in found if command in expected] == expected
    assert not [command for command in found if "pip" in command]


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("python -m pip download zuko==1.0", "download"),
        ("uv pip install zuko", "download"),
        ("git clone https://example.com/zuko", "download"),
        ("cat /opt/env/lib/python3.11/site-packages/zuko/flows.py", "copies"),
        ("find / -name 'flows*.py'", "copies"),
        ("ls ~/.cache/uv", "copies"),
        ("find . -name '*hidden*'", "hidden_tests"),
        ("cat ../benchmark/rebuilds/zuko.rebuild-zuko.json", "hidden_tests"),
        ("echo $DLBENCH_HOME", "workspace"),
        (f"ls {home()}/archives", "workspace"),
        ("kill -9 -1", "judge"),
        ("pkill -9 bwrap", "judge"),
        ("cat /proc/12/environ", "judge"),
        ("python -m pytest tests -k 'install'", ""),
        ("grep -rn 'hidden_features' zuko; ls zuko/components; sed -n 1,9p tests/test_hidden.py", ""),
        ("cat > a.py <<E\n@functools.cache\ndef f(self):\n    return self.cache, g().cache\nE", ""),
        ("pip install -e .", ""),
        ("pip install .", ""),
        ("pkill -f pytest; kill %1; kill 4242", ""),
        ("grep -rn 'def kill' src; find . -name core.py; ls tests", ""),
        (
            "/known/environment/bin/python -c 'import zuko'; cat /known/environment/lib/python3.11/site-packages/torch/x.py",
            "",
        ),
    ],
)
def test_a_command_that_looks_for_more_is_a_finding(tmp_path: Path, command: str, kind: str) -> None:
    relay = Relay(None, tmp_path / "log", Budget(), turns=[called(command=command)])
    found = list(audit(relay, "", ["zuko"], [Path("/known/environment")]))
    kinds = {one["kind"] for one in found}
    assert kind in kinds if kind else not kinds
    assert all(one["what"] in command and one["count"] == 1 for one in found)


def test_what_an_agent_of_its_own_network_printed_is_audited(tmp_path: Path) -> None:
    relay = Relay(None, tmp_path / "log", Budget(), refused={"example.com:443": 2})  # type: ignore[arg-type]
    found = list(audit(relay, "· ls\n· pip download zuko\n", ["zuko"], []))
    assert [(one["kind"], one["count"]) for one in found] == [("network", 2), ("download", 1)]


def test_installed_copies_are_found_under_any_spelling(tmp_path: Path) -> None:
    site = tmp_path / "lib/python3.11/site-packages"
    for name in (
        "torch_rechub/a.py",
        "torch_rechub-1.0.dist-info/x",
        "torch/a.py",
        "torch_rechub_extra/a.py",
        "rechub.py",
    ):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).touch()
    found = [path.name for path in find_installed(["Torch-Rechub", "rechub"], [tmp_path])]
    assert found == ["rechub.py", "torch_rechub", "torch_rechub-1.0.dist-info"]
