"""Serve the review page and its JSON API to this machine's own browser, and to nobody else.

Other pages in the browser must not be able to vote. The server listens on the loopback interface, answers only to its
own host name (against DNS rebinding), rejects other origins, and requires the token of the address it was opened with.
"""

import hmac
import json
import secrets
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs

from dlbench.construction import Row, WorkFolder
from dlbench.construction.labelling.catalogue import ReadSource
from dlbench.construction.labelling.review_api import AnnotationApi, BadRequest
from dlbench.errors import DLBenchError

MAX_BODY = 256 * 1024
_LOCAL = ("127.0.0.1", "localhost")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_FILES = {
    "": ("construction/labelling/review_page.html", "text/html"),
    "base.css": ("web/base.css", "text/css"),
    "review_page.css": ("construction/labelling/review_page.css", "text/css"),
    "python.js": ("web/python.js", "text/javascript"),
    "review_page.js": ("construction/labelling/review_page.js", "text/javascript"),
}
"""By path after the token: the file in this package, and its media type."""
_NOTHING = "there is nothing here"


def serve(work: WorkFolder, read_source: ReadSource, port: int, ready: Callable[[str], None]) -> None:
    """Serve until interrupted; `ready` receives the address, token included, once the page can be opened."""
    with ReviewServer(AnnotationApi(work, read_source), port) as server:
        ready(server.address)
        server.serve_forever()


class ReviewServer(ThreadingHTTPServer):
    request_queue_size = 128  # with the default of five, simultaneous connections are reset

    def __init__(self, api: AnnotationApi, port: int = 0) -> None:
        try:
            super().__init__((_LOCAL[0], port), _Handler)
        except OSError as error:
            what, fix = f"cannot listen on this port: {error}", "give another --port, or none"
            raise DLBenchError(what, where=f"{_LOCAL[0]}:{port}", fix=fix) from None
        self.api = api
        self.token = secrets.token_urlsafe(24)
        self.names = {f"{name}:{self.server_port}" for name in _LOCAL}

    @property
    def address(self) -> str:
        return f"http://{_LOCAL[0]}:{self.server_port}/{self.token}/"

    def get(self, inner: str, query: Row) -> Any:  # noqa: ANN401 - any JSON value
        api = self.api
        match inner:
            case "labels":
                return api.explain_labels()
            case "functions":
                return api.list_functions(read_text(query, "as"))
            case "function":
                return api.show(read_text(query, "as"), read_text(query, "id"))
            case "source":
                return api.read_source(read_text(query, "id"))
        raise BadRequest(HTTPStatus.NOT_FOUND, _NOTHING)

    def post(self, inner: str, body: Row) -> Any:  # noqa: ANN401 - any JSON value
        api, annotator, function = self.api, read_text(body, "as"), read_text(body, "id")
        match inner:
            case "vote":
                labels, note = body.get("labels", {}), read_text(body, "note") if "note" in body else None
                if not isinstance(labels, dict):
                    raise BadRequest(HTTPStatus.BAD_REQUEST, "`labels` is not an object")
                api.vote(annotator, function, labels, note)
            case "reveal":
                api.reveal(annotator, function)
            case "rewrite":
                api.rewrite(annotator, function, read_text(body, "prompt"), read_text(body, "shown"))
            case "accept":
                api.accept(annotator, function, read_text(body, "shown"))
            case "reject":
                api.reject(annotator, function, read_text(body, "reason"))
            case _:
                raise BadRequest(HTTPStatus.NOT_FOUND, _NOTHING)
        return api.show(annotator, function)


def read_text(fields: Row, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise BadRequest(HTTPStatus.BAD_REQUEST, f"`{name}` is missing or not a string")
    return value


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    protocol_version = "HTTP/1.1"
    timeout = 60
    server_version, sys_version = "dlbench", ""

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: a line for each request would hide the address, and all actions are in the files."""

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self.close_connection = True  # until the body is read: unread bytes are not a request
        self._answer(self._post)

    def _answer(self, find: Callable[[str, Row], tuple[str, bytes]]) -> None:
        try:
            status, (kind, content) = HTTPStatus.OK, find(*self._admit())
        except DLBenchError as error:
            status = error.status if isinstance(error, BadRequest) else HTTPStatus.BAD_REQUEST
            what = f"{error.where}: {error.what}" if error.where else error.what
            kind, content = _json({"error": what, "fix": error.fix})
        except OSError as error:
            status, (kind, content) = HTTPStatus.INTERNAL_SERVER_ERROR, _json({"error": str(error), "fix": ""})
        try:
            self._send(status, kind, content)
        except ConnectionError:
            self.close_connection = True  # the browser has left; the action is done

    def _admit(self) -> tuple[str, Row]:
        """Check host, origin and token. Returns the path after the token and the query."""
        if self.headers.get("Host", "").lower() not in self.server.names:
            raise BadRequest(HTTPStatus.FORBIDDEN, "this server answers only to its own host name")
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self.server.names:
            raise BadRequest(HTTPStatus.FORBIDDEN, "requests from other pages are rejected")
        path, _, query = self.path.partition("?")
        _, token, inner = (path + "//").split("/", 2)
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            fix = "open the address that `dlbench construct review` printed last"
            raise BadRequest(HTTPStatus.FORBIDDEN, "the token in the address is wrong", fix)
        return inner.rstrip("/"), {name: values[-1] for name, values in parse_qs(query).items()}

    def _get(self, inner: str, query: Row) -> tuple[str, bytes]:
        if inner in _FILES:
            name, kind = _FILES[inner]
            return f"{kind}; charset=utf-8", files("dlbench").joinpath(name).read_bytes()
        return _json(self.server.get(inner, query))

    def _post(self, inner: str, query: Row) -> tuple[str, bytes]:
        return _json(self.server.post(inner, self._read_body()))

    def _read_body(self) -> Row:
        if self.headers.get_content_type() != "application/json":  # a form of another page cannot send this type
            raise BadRequest(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body is not JSON", "send application/json")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise BadRequest(HTTPStatus.LENGTH_REQUIRED, "Content-Length is missing")
        if len(length) > 9 or int(length) > MAX_BODY:
            what = f"the body has more than {MAX_BODY} bytes"
            raise BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, what, "write less")
        content = self.rfile.read(int(length))
        self.close_connection = False
        try:
            body = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise BadRequest(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise BadRequest(HTTPStatus.BAD_REQUEST, "the body is not a JSON object")
        return body

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)


def _json(value: Any) -> tuple[str, bytes]:  # noqa: ANN401 - any JSON value
    return "application/json", json.dumps(value).encode()
