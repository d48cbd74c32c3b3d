"""How does a page of this machine take what people do, and from nobody else?

Whatever else the browser has open must not vote. So the server listens on the loopback alone, answers only to its own
name (a foreign name that is made to point here gets nothing), takes nothing that another page sends, and does nothing
without the token that stands in the address it was opened with.
"""

import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Protocol
from urllib.parse import parse_qs

from dlbench.construction.work import Row
from dlbench.errors import DLBenchError

LARGEST = 256 * 1024
_LOCAL = ("127.0.0.1", "localhost")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Pages(Protocol):
    """What is served: files, and answers to what the page asks and says."""

    command: str
    """Which command prints the address."""
    files: Mapping[str, tuple[str, str]]
    """By address behind the token: where the file lies in this package, and its kind."""

    def get(self, inner: str, query: Row) -> Any: ...  # noqa: ANN401 - anything that JSON can say

    def post(self, inner: str, body: Row) -> Any: ...  # noqa: ANN401 - anything that JSON can say

    def status_of(self, error: DLBenchError) -> HTTPStatus: ...


class LocalServer(ThreadingHTTPServer):
    request_queue_size = 128  # with the usual five, connections that come at once are reset

    def __init__(self, pages: Pages, host: str = "127.0.0.1", port: int = 0) -> None:
        if host not in _LOCAL:
            what, mend = f"the page is for this machine alone, not for {host}", f"use {' or '.join(_LOCAL)}"
            raise DLBenchError(what, mend=mend)
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            what, mend = f"cannot listen there: {error}", "give another --port, or none"
            raise DLBenchError(what, where=f"{host}:{port}", mend=mend) from None
        self.pages = pages
        self.token = secrets.token_urlsafe(24)
        self.names = {f"{name}:{self.server_port}" for name in _LOCAL}

    @property
    def address(self) -> str:
        return f"http://{_LOCAL[0]}:{self.server_port}/{self.token}/"


class Refused(Exception):
    def __init__(self, status: HTTPStatus, what: str, mend: str = "") -> None:
        super().__init__(what)
        self.status, self.what, self.mend = status, what, mend


def find_nothing() -> Refused:
    return Refused(HTTPStatus.NOT_FOUND, "there is nothing here")


def read_text(fields: Row, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise Refused(HTTPStatus.BAD_REQUEST, f"`{name}` is missing or not a text")
    return value


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer
    protocol_version = "HTTP/1.1"
    timeout = 60
    server_version, sys_version = "dlbench", ""

    def log_message(self, format: str, *args: object) -> None:
        """What a person does is in the files; a line for each key pressed would drown the address."""

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self.close_connection = True  # until the body is read: what is left of it is no request
        self._answer(self._post)

    def _answer(self, find: Callable[[str, Row], tuple[str, bytes]]) -> None:
        try:
            status, (kind, content) = HTTPStatus.OK, find(*self._admit())
        except Refused as refused:
            status, (kind, content) = refused.status, _json({"error": refused.what, "mend": refused.mend})
        except DLBenchError as error:
            what = f"{error.where}: {error.what}" if error.where else error.what
            status, (kind, content) = self.server.pages.status_of(error), _json({"error": what, "mend": error.mend})
        except OSError as error:
            status, (kind, content) = HTTPStatus.INTERNAL_SERVER_ERROR, _json({"error": str(error), "mend": ""})
        try:
            self._send(status, kind, content)
        except ConnectionError:
            self.close_connection = True  # the browser has gone on; what was done is done

    def _admit(self) -> tuple[str, Row]:
        """The path behind the token and the query, of a request that may be answered at all."""
        if self.headers.get("Host", "").lower() not in self.server.names:
            raise Refused(HTTPStatus.FORBIDDEN, "this server answers to its own name only")
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self.server.names:
            raise Refused(HTTPStatus.FORBIDDEN, "another page may not ask this")
        path, _, query = self.path.partition("?")
        _, token, inner = (path + "//").split("/", 2)
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            mend = f"open the address that `{self.server.pages.command}` has printed last"
            raise Refused(HTTPStatus.FORBIDDEN, "the token in the address is wrong", mend)
        return inner.rstrip("/"), {name: values[-1] for name, values in parse_qs(query).items()}

    def _get(self, inner: str, query: Row) -> tuple[str, bytes]:
        pages = self.server.pages
        if inner in pages.files:
            name, kind = pages.files[inner]
            return f"{kind}; charset=utf-8", files("dlbench").joinpath(name).read_bytes()
        return _json(pages.get(inner, query))

    def _post(self, inner: str, query: Row) -> tuple[str, bytes]:
        return _json(self.server.pages.post(inner, self._read_body()))

    def _read_body(self) -> Row:
        if self.headers.get_content_type() != "application/json":  # a form of another page cannot say this unasked
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body is not JSON", "send application/json")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "the body's length is not given")
        if len(length) > 9 or int(length) > LARGEST:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {LARGEST} bytes", "write less")
        content = self.rfile.read(int(length))
        self.close_connection = False
        try:
            body = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise Refused(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "the body is not a JSON object")
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


def _json(value: Any) -> tuple[str, bytes]:  # noqa: ANN401 - anything that JSON can say
    return "application/json", json.dumps(value).encode()
