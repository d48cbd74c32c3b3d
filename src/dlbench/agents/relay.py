"""Relay an agent's requests to the model's endpoint, and refuse and record everything else.

It is the only network of the sandbox: an HTTP server on the sandbox's port that is also given to programs as their
proxy. It adds the API key, so that no agent needs one, and writes each exchange to a log.
"""

import contextlib
import http.client
import json
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from dlbench.generation.budget import CHARACTERS_PER_TOKEN, Budget
from dlbench.generation.providers import Endpoint, Secrets, find_proxy
from dlbench.jsonl import dump

_MOST_BODY, _MOST_LOG, _MOST_REFUSED, _MOST_THREADS = 64 << 20, 256 << 20, 1000, 500
_TIMEOUT = 900.0
_HEADERS = re.compile(r"content-type|accept|(anthropic|openai)-.*", re.IGNORECASE)
"""Not Accept-Encoding: a compressed answer could not be read here."""
_COMPLETIONS = ("/chat/completions", "/completions", "/responses", "/messages", "/v1/messages")
_UNAVAILABLE = (401, 402, 403, 404, 408, 409, 425, 429)
_HOSTED = re.compile(r"web_|.*search|.*fetch|mcp|plugins|code_(interpreter|execution)")
"""Tools, and fields of a request, by which the endpoint itself would use the network for the agent."""
_COUNTS = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}


@dataclass
class Relay:
    """One attempt's way to the model. Without an endpoint everything is refused. `model`: sent in place of the one that
    the agent names, unless empty."""

    endpoint: Endpoint | None
    log: Path
    budget: Budget
    most_tokens: int | None = None
    model: str = ""
    refused: Counter[str] = field(default_factory=Counter)
    turns: list[Any] = field(default_factory=list)
    """Each message of the conversations once, as the agent sent it or the endpoint answered."""
    requests: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    cost: float | None = 0.0
    problem: str = ""
    """Why the last request for a completion got none, if that is the endpoint's fault."""
    failure: OSError | None = None
    """Why the log could not be written, such as a full disk."""
    has_answered: bool = False
    """The endpoint has answered with a completion."""

    def __post_init__(self) -> None:
        self._lock, self._written, self._kept, self._known = threading.Lock(), 0, 0, set[int]()
        self.hide = Secrets(*(self.endpoint.secrets if self.endpoint is not None else ())).hide

    @contextmanager
    def serve(self, listener: socket.socket) -> Iterator[None]:
        server = _Server(listener, self)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()

    def record(self, **entry: object) -> None:
        line = self.hide(dump({"time": round(time.time(), 3), **entry})) + "\n"
        try:
            with self._lock, self.log.open("a", encoding="utf-8") as file:
                self._written += len(line)
                if self._written <= _MOST_LOG:
                    file.write(line)
        except OSError as error:  # the agent gets its answer, which is paid for, and the attempt ends
            self.failure = error

    def refuse(self, what: str) -> None:
        if self.refused.total() < _MOST_REFUSED:
            self.refused[what[:200]] += 1
            self.record(refused=what[:200])

    def find_path(self, url: str) -> str | None:
        """The part after the base URL, of an address below it; None for others."""
        parts, base = urlsplit(url), urlsplit(self.endpoint.base_url if self.endpoint is not None else "")
        root = base.path.rstrip("/") + "/"
        is_same = not parts.netloc or (parts.scheme, parts.netloc) == (base.scheme, base.netloc.rpartition("@")[2])
        if not base.netloc or not is_same or not parts.path.startswith(root) or ".." in unquote(parts.path):
            return None
        return parts.path[len(root) - 1 :] + (f"?{parts.query}" if parts.query else "")

    def find_reason(self) -> str:
        """To stop the attempt."""
        if self.failure is not None:
            return "log"
        return "tokens" if self.most_tokens is not None and self.tokens.total() >= self.most_tokens else ""

    def prepare(self, path: str, body: bytes) -> tuple[bytes, list[Any]]:
        """The request with our model and without tools that the endpoint runs; and its new messages. ValueError for a
        request that cannot be read, which could hold such tools."""
        try:
            request = json.loads(body)
            messages = request.get("messages") or request.get("input") or []
            if request.get("tools"):
                request["tools"] = [one for one in request["tools"] if not _HOSTED.match(str(one.get("type")))]
        except (RecursionError, AttributeError, TypeError) as error:
            raise ValueError(str(error)) from None
        request = {name: value for name, value in request.items() if not _HOSTED.match(name)}
        if self.model:
            request["model"] = self.model
        if request.get("stream") and path == "/chat/completions":
            request["stream_options"] = {"include_usage": True}
        return json.dumps(request).encode(), self._find_new(messages if isinstance(messages, list) else [messages])

    def _find_new(self, messages: list[Any]) -> list[Any]:
        new = []
        with self._lock:
            for message in messages:
                text = json.dumps(message, sort_keys=True)
                if hash(text) not in self._known and self._kept < _MOST_LOG:
                    self._known.add(hash(text))
                    self._kept += len(text)
                    new.append(message)
            self.turns += new
        return new

    def finish(
        self, path: str, status: int, body: bytes | None, new: list[Any], reply: str, seconds: float, problem: str
    ) -> None:
        usage: dict[str, Any] = {}
        answers: list[Any] = []
        parts = list(_read_parts(reply))
        for part in parts:
            for holder in (part, part.get("message"), part.get("response")):
                found = holder.get("usage") if isinstance(holder, dict) else None
                usage |= found if isinstance(found, dict) else {}
            with contextlib.suppress(LookupError, TypeError):
                answers.append(part["choices"][0]["message"])
        counts = {kind: usage.get(kind, usage.get(other)) for kind, other in _COUNTS.items()}
        known = {kind: count for kind, count in counts.items() if isinstance(count, int)}
        is_completion = path.partition("?")[0] in _COMPLETIONS
        if is_completion and status == 200 and not known:  # an event of a stream is about a token
            written = len(parts) if len(parts) > 1 else len(reply) // CHARACTERS_PER_TOKEN
            known = {"estimated_tokens": len(body or b"") // CHARACTERS_PER_TOKEN + written}
        self._find_new(answers)
        with self._lock:
            self.requests += 1
            self.tokens.update(known)
            cost = self.budget.cost_of({**usage, **known}) if status == 200 else 0.0
            self.cost = None if cost is None or self.cost is None else self.cost + cost
            if is_completion:
                self.has_answered |= status == 200 and not problem
                # after an answer, 404 says that the request is wrong
                self.problem = "" if self.has_answered and status == 404 else problem
        shown = {"new": new, "answers": answers, "error": problem or (reply[:2000] if status >= 400 else "")}
        shown = {name: value for name, value in shown.items() if value}
        self.record(path=path, status=status, seconds=round(seconds, 3), **known, **shown)


def _read_parts(reply: str) -> Iterator[dict[str, Any]]:
    """The JSON object of a reply, or those of a stream."""
    for text in [line[5:] for line in reply.split("\n") if line.startswith("data:")] or [reply]:
        with contextlib.suppress(ValueError, RecursionError):
            yield part if isinstance(part := json.loads(text), dict) else {}


class _Server(ThreadingHTTPServer):
    """On a socket of the sandbox's network, which the kernel lets us serve from here."""

    daemon_threads, block_on_close = True, False

    def __init__(self, listener: socket.socket, relay: Relay) -> None:
        super().__init__(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket, self.relay = listener, relay

    def verify_request(self, *_: object) -> bool:
        return threading.active_count() < _MOST_THREADS

    def handle_error(self, *_: object) -> None:
        """The agent must handle a connection that breaks."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would send the key elsewhere."""

    def redirect_request(self, *_: object) -> None:
        return None


class _Handler(BaseHTTPRequestHandler):
    timeout = _TIMEOUT
    server: _Server

    def log_message(self, *_: object) -> None:
        """The relay has its own log."""

    def do_CONNECT(self) -> None:
        """No tunnel leads anywhere, since nobody could tell what goes through it."""
        self._refuse(self.path)

    def do_POST(self) -> None:
        relay, path = self.server.relay, self.server.relay.find_path(self.path)
        size = int(self.headers.get("Content-Length") or 0)
        if path is None or relay.endpoint is None:
            self._refuse(urlsplit(self.path).netloc or self.path)
        elif "Transfer-Encoding" in self.headers:  # its body has no length, and would be left out
            relay.record(path=path, status=411, error="the request has no Content-Length")
            self._answer(411, '{"error": {"message": "requests need a Content-Length"}}')
        elif size > _MOST_BODY or relay.find_reason():
            self._answer(413, '{"error": {"message": "the limit of the attempt is reached"}}')
        else:
            self._forward(relay.endpoint, path, size)

    do_GET = do_PUT = do_DELETE = do_HEAD = do_POST

    def _forward(self, endpoint: Endpoint, path: str, size: int) -> None:
        relay = self.server.relay
        try:
            body, new = relay.prepare(path, self.rfile.read(size)) if size else (None, [])
        except ValueError as error:
            relay.record(path=path, status=400, error=f"the request cannot be read: {error}"[:2000])
            self._answer(400, '{"error": {"message": "the request is no JSON object of the usual form"}}')
            return
        headers = {name: value for name, value in self.headers.items() if _HEADERS.fullmatch(name)}
        headers |= endpoint.authorization | ({"x-api-key": endpoint.key} if "x-api-key" in self.headers else {})
        proxy = find_proxy(endpoint.base_url)
        proxies = urllib.request.ProxyHandler({"http": proxy, "https": proxy} if proxy else {})
        url = endpoint.url.removesuffix("/chat/completions") + path
        began, problem, kind = time.monotonic(), "", "application/json"
        try:
            request = urllib.request.Request(url, body, headers, method=self.command)
            try:
                response = urllib.request.build_opener(proxies, _NoRedirect).open(request, timeout=_TIMEOUT)
            except urllib.error.HTTPError as error:
                response = error
            with response:
                status, kind = response.status or 502, response.headers.get("Content-Type", kind)
                data = self._stream(response, kind) if kind.startswith("text/event-stream") else response.read()
            reply = relay.hide(data.decode("utf-8", "replace"))
            if status in _UNAVAILABLE or status >= 500:
                problem = f"the endpoint answered HTTP {status}: {reply[:300]}"
        except (OSError, ValueError, http.client.HTTPException) as error:
            problem = relay.hide(f"the endpoint cannot be reached: {getattr(error, 'reason', error)}")
            status, reply = 502, json.dumps({"error": {"message": problem}})
        relay.finish(path, status, body, new, reply, time.monotonic() - began, problem)
        if not kind.startswith("text/event-stream"):
            self._answer(status, reply, kind)

    def _stream(self, response: Any, kind: str) -> bytes:  # noqa: ANN401 - a response, or an error with a body
        self.send_response(response.status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        reply = b""
        while data := response.read1(1 << 16):
            reply += data
            with contextlib.suppress(OSError):  # the agent has gone; what the answer costs is counted
                self.wfile.write(data)
        return reply

    def _refuse(self, what: str) -> None:
        self.server.relay.refuse(what)
        self._answer(403, '{"error": {"message": "this sandbox reaches the endpoint of the model only"}}')

    def _answer(self, status: int, body: str, kind: str = "application/json") -> None:
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
