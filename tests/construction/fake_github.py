"""A local HTTP server that answers like GitHub's repository search, with configurable faults."""

import json
import threading
from collections.abc import Callable
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Reply = tuple[int, dict[str, str], bytes]
CUT: Reply = (0, {}, b"")
"""The connection breaks off halfway through the answer."""
LONG_AGO = 1_000_000_000


def repository(name: str, stars: int, **fields: object) -> dict[str, Any]:
    facts = {"full_name": name, "html_url": f"https://hub.test/{name}", "stargazers_count": stars}
    return facts | {"description": f"about {name}", "license": {"spdx_id": "MIT"}} | fields


def refusal(status: int, text: str = "no", **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, named, json.dumps({"message": text}).encode()


def answer(content: object) -> Reply:
    return 200, {}, json.dumps(content).encode()


class Hub:
    """`faults`: answers to send first, one per request. `before`: called with each request before it is answered."""

    def __init__(self, topics: dict[str, list[dict[str, Any]]], links: bool = True) -> None:
        self.topics = topics
        self.links = links
        self.faults: list[Reply] = []
        self.headers: dict[str, str] = {}
        self.asked: list[tuple[str, int]] = []
        self.questions: list[dict[str, str]] = []
        self.tokens: list[str | None] = []
        self.before: Callable[[tuple[str, int]], None] = lambda _: None
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                query = {key: value for key, [value] in parse_qs(urlsplit(self.path).query).items()}
                topic = query["q"].split()[0].removeprefix("topic:")
                question = (topic, int(query["page"]))
                hub.asked.append(question)
                hub.questions.append(query)
                hub.tokens.append(self.headers.get("Authorization"))
                hub.before(question)
                reply = hub.faults.pop(0) if hub.faults else hub.reply(*question)
                self.send(*reply)

            def send(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response_only(status or 200)
                for name, value in ({"Date": formatdate(LONG_AGO, usegmt=True)} | headers).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body) if status else 1000))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=lambda: self._server.serve_forever(0.02), daemon=True)

    def reply(self, topic: str, page: int) -> Reply:
        listed = self.topics.get(topic)
        if listed is None:
            return refusal(422, f"no topic {topic}")
        items = listed[100 * (page - 1) : 100 * page]
        headers = dict(self.headers)
        if self.links:
            more = page * 100 < len(listed)
            headers["Link"] = f'<{self.url}/x?page={page + 1}>; rel="next"' if more else f'<{self.url}/x>; rel="first"'
        content = {"total_count": len(listed), "incomplete_results": False, "items": items}
        return 200, headers, json.dumps(content).encode()

    def __enter__(self) -> "Hub":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
