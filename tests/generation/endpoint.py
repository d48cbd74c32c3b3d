"""A local HTTP endpoint that implements chat completions and can misbehave."""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Cut(str):
    """A body whose end is missing: the connection is closed early."""


Reply = tuple[int, dict[str, str], str]


def completion(text: str | None, **message: object) -> Reply:
    body = {
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
    return 200, {"Content-Type": "application/json"}, json.dumps(body)


def stream(*pieces: str, done: bool = True, **delta: str) -> Reply:
    """The same as a stream of events; without `done` it ends early."""
    events: list[object] = [{"choices": [{"index": 0, "delta": delta}]}] if delta else []
    events += [{"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in pieces]
    if done:
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        events.append({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + ("data: [DONE]\n\n" if done else "")
    return 200, {"Content-Type": "text/event-stream"}, text if done else Cut(text)


def refusal(status: int, message: str, code: str = "", **headers: str) -> Reply:
    body = json.dumps({"error": {"message": message, "code": code}})
    return status, {"Content-Type": "application/json", **headers}, body


class Endpoint:
    """`reply(n, body)` returns the response to the n-th request (from 0)."""

    def __init__(self, reply: Callable[[int, dict[str, Any]], Reply]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        endpoint = self
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    number = len(endpoint.requests)
                    endpoint.requests.append(body)
                    endpoint.headers.append({key.lower(): value for key, value in self.headers.items()})
                    endpoint.times.append(time.monotonic())
                status, headers, text = reply(number, body)
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name.replace("_", "-"), value)
                    if not isinstance(text, Cut):
                        self.send_header("Content-Length", str(len(text.encode())))
                    elif "event-stream" not in headers.get("Content-Type", ""):
                        self.send_header("Content-Length", str(len(text.encode()) + 99))
                    self.end_headers()
                    self.wfile.write(text.encode())
                except (BrokenPipeError, ConnectionResetError):
                    pass

            def log_message(self, *_: object) -> None:
                """No log in the output of the tests."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=lambda: self._server.serve_forever(0.02), daemon=True)

    def __enter__(self) -> "Endpoint":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
