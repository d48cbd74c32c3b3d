"""Nothing that a client sends makes the service fail: no status 5xx, no traceback, and the next client is served."""

import json
import random
import socket

import pytest
import requests
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.test_judging import ID, RIGHT
from tests.service.conftest import AUTH, TOKEN

HEAD = f"POST /v1/judge HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
TEXTS = st.text() | st.sampled_from([ID, RIGHT, "(" * 5000, "\x00", "def scale(values, factor=2):\n" + " " * 100])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)
FIELDS = st.sampled_from(["instance", "code", "answer", "id", "finish_reason", "sample", "deadline"])
CANDIDATES = st.dictionaries(FIELDS, st.just(ID) | JSON, max_size=6)
PATHS = st.sampled_from(["/v1/judge", "/v1/instances", "/v1/prompt", "/healthz", "/metrics", "/", "/v1/judge/", "//"])


@pytest.fixture(scope="module")
def alive(service):
    """The service, which must still be as it was after the tests."""
    yield service
    assert service.post({"instance": ID, "code": RIGHT}).json()["status"] == "pass"
    assert service.process.poll() is None
    assert "Traceback" not in service.log


def send(service, body, path="/v1/judge", method="POST", **headers):
    found = requests.request(method, service.url + path, data=body, headers=AUTH | headers, timeout=120)
    assert found.status_code < 500, (body, found.text)
    if found.status_code >= 400:
        assert set(found.json()["error"]) == {"status", "what", "where", "fix"}
    return found.status_code


@pytest.mark.slow
@settings(max_examples=300)
@given(body=CANDIDATES | st.lists(CANDIDATES | JSON, max_size=3) | JSON)
def test_json_of_any_shape(alive, body):
    send(alive, json.dumps(body), **{"Content-Type": "application/json"})


@pytest.mark.slow
@settings(max_examples=200)
@given(
    body=st.binary(max_size=300),
    path=PATHS,
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"]),
    query=st.dictionaries(st.sampled_from(["split", "instance", "deadline"]), st.text(max_size=20)),
    kind=st.sampled_from(["application/json", "text/plain", "multipart/form-data", "application/json; charset=utf-16"]),
)
def test_any_request(alive, body, path, method, query, kind):
    address = requests.Request("GET", "http://x" + path, params=query).prepare().path_url
    if method == "HEAD":
        requests.head(alive.url + address, headers=AUTH, timeout=60)
    else:
        send(alive, body, address, method, **{"Content-Type": kind})


@pytest.mark.parametrize(
    "body",
    [
        "[" * 200_000,
        '{"instance": ' * 50_000,
        "[" + "1" * 100_000 + "]",
        json.dumps({"instance": ID, "code": "\ud800", "id": "\udfff"}),
        json.dumps({"instance": "x" * 1_000_000, "code": ""}),
        json.dumps({"instance": ID, "code": "-" * 100_000 + "1"}),
        json.dumps({"instance": ID, "answer": "```\n" * 20_000}),
        b"\xff\xfe\x00",
        "NaN",
        "",
    ],
    ids=lambda body: repr(body[:12]),
)
def test_hostile_json(alive, body):
    assert send(alive, body, **{"Content-Type": "application/json"}) in {200, 400, 422}


@pytest.mark.slow
def test_huge_body_is_refused_without_being_kept(alive):
    def endless():
        for _ in range(1 << 10):
            yield b" " * (1 << 16)

    for body in (b" " * (20 << 20), endless()):
        assert send(alive, body, **{"Content-Type": "application/json"}) == 413


@pytest.mark.slow
def test_raw_bytes_and_clients_that_send_a_byte_at_a_time(alive):
    """Each of them is dropped or answered with 4xx, and meanwhile others are served."""
    rng = random.Random(0)
    valid = f"{HEAD}Content-Length: 9\r\n\r\n".encode() + b'{"a": 1}\n'
    connections = []
    for number in range(60):
        sock = socket.create_connection(("127.0.0.1", alive.port))
        sock.settimeout(60)
        data = bytearray(valid) if number % 3 else bytearray(rng.randbytes(400))
        for _ in range(number % 5):
            data[rng.randrange(len(data))] = rng.randrange(256)
        connections.append((sock, data))
    for place in range(len(valid) // 2):
        for sock, data in connections:
            try:
                sock.sendall(data[place : place + 1])
            except OSError:
                continue
    assert alive.post({"instance": ID, "code": RIGHT}).json()["status"] == "pass"
    for sock, data in connections:
        with sock:
            try:
                sock.sendall(data[len(valid) // 2 :])
                sock.shutdown(socket.SHUT_WR)
                answer = sock.recv(1000)
            except OSError:
                continue
            assert not answer or answer.split()[1][:1] == b"4", answer
