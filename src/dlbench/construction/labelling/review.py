"""How do people vote and review? On a page of this machine, in their own browser.

Whatever else the browser has open must not vote. So the server listens on the loopback alone, answers only to its own
name (a foreign name that is made to point here gets nothing), takes nothing that another page sends, and does nothing
without the token that stands in the address it was opened with.
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

from dlbench.construction.labelling.desk import Desk, Outdated, UnknownFunction
from dlbench.construction.labelling.sources import ReadSource
from dlbench.construction.work import Row, Work
from dlbench.errors import DLBenchError

LARGEST = 256 * 1024
_LOCAL = ("127.0.0.1", "localhost")
_FILES = {
    "": ("construction/labelling/review_page.html", "text/html"),
    "base.css": ("web/base.css", "text/css"),
    "review_page.css": ("construction/labelling/review_page.css", "text/css"),
    "python.js": ("web/python.js", "text/javascript"),
    "review_page.js": ("construction/labelling/review_page.js", "text/javascript"),
}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def serve(
    work: Work,
    read_source: ReadSource,
    host: str = "127.0.0.1",
    port: int = 0,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serves until it is interrupted; `ready` is told the address, token included, when the page can be opened."""
    with ReviewServer(Desk(work, read_source), host, port) as server:
        ready(server.address)
        server.serve_forever()


class ReviewServer(ThreadingHTTPServer):
    request_queue_size = 128  # with the usual five, connections that come at once are reset

    def __init__(self, desk: Desk, host: str = "127.0.0.1", port: int = 0) -> None:
        if host not in _LOCAL:
            what, mend = f"the page is for this machine alone, not for {host}", f"use {' or '.join(_LOCAL)}"
            raise DLBenchError(what, mend=mend)
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            what, mend = f"cannot listen there: {error}", "give another --port, or none"
            raise DLBenchError(what, where=f"{host}:{port}", mend=mend) from None
        self.desk = desk
        self.token = secrets.token_urlsafe(24)
        self.names = {f"{name}:{self.server_port}" for name in _LOCAL}

    @property
    def address(self) -> str:
        return f"http://{_LOCAL[0]}:{self.server_port}/{self.token}/"


class _Refused(Exception):
    def __init__(self, status: HTTPStatus, what: str, mend: str = "") -> None:
        super().__init__(what)
        self.status, self.what, self.mend = status, what, mend


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
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
        except _Refused as refused:
            status, (kind, content) = refused.status, _json({"error": refused.what, "mend": refused.mend})
        except DLBenchError as error:
            what = f"{error.where}: {error.what}" if error.where else error.what
            status, (kind, content) = _status_of(error), _json({"error": what, "mend": error.mend})
        except OSError as error:
            status, (kind, content) = HTTPStatus.INTERNAL_SERVER_ERROR, _json({"error": str(error), "mend": ""})
        try:
            self._send(status, kind, content)
        except ConnectionError:
            self.close_connection = True  # the browser has gone on; what was done is done

    def _admit(self) -> tuple[str, Row]:
        """The path behind the token and the query, of a request that may be answered at all."""
        if self.headers.get("Host", "").lower() not in self.server.names:
            raise _Refused(HTTPStatus.FORBIDDEN, "this server answers to its own name only")
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self.server.names:
            raise _Refused(HTTPStatus.FORBIDDEN, "another page may not ask this")
        path, _, query = self.path.partition("?")
        _, token, inner = (path + "//").split("/", 2)
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            mend = "open the address that `dlbench construct review` has printed last"
            raise _Refused(HTTPStatus.FORBIDDEN, "the token in the address is wrong", mend)
        return inner.rstrip("/"), {name: values[-1] for name, values in parse_qs(query).items()}

    def _get(self, inner: str, query: Row) -> tuple[str, bytes]:
        desk = self.server.desk
        if inner in _FILES:
            name, kind = _FILES[inner]
            return f"{kind}; charset=utf-8", files("dlbench").joinpath(name).read_bytes()
        match inner:
            case "labels":
                return _json(desk.explain_labels())
            case "functions":
                return _json(desk.list_functions(_text(query, "as")))
            case "function":
                return _json(desk.show(_text(query, "as"), _text(query, "id")))
            case "source":
                return _json(desk.read_source(_text(query, "id")))
        raise _Refused(HTTPStatus.NOT_FOUND, "there is nothing here")

    def _post(self, inner: str, query: Row) -> tuple[str, bytes]:
        body = self._read_body()
        desk, who, function = self.server.desk, _text(body, "as"), _text(body, "id")
        match inner:
            case "vote":
                labels, note = body.get("labels", {}), _text(body, "note") if "note" in body else None
                if not isinstance(labels, dict):
                    raise _Refused(HTTPStatus.BAD_REQUEST, "`labels` is not an object")
                desk.vote(who, function, labels, note)
            case "reveal":
                desk.reveal(who, function)
            case "rewrite":
                desk.rewrite(who, function, _text(body, "prompt"), _text(body, "shown"))
            case "accept":
                desk.accept(who, function, _text(body, "shown"))
            case "reject":
                desk.reject(who, function, _text(body, "reason"))
            case _:
                raise _Refused(HTTPStatus.NOT_FOUND, "there is nothing here")
        return _json(desk.show(who, function))

    def _read_body(self) -> Row:
        if self.headers.get_content_type() != "application/json":  # a form of another page cannot say this unasked
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body is not JSON", "send application/json")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "the body's length is not given")
        if len(length) > 9 or int(length) > LARGEST:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {LARGEST} bytes", "write less")
        content = self.rfile.read(int(length))
        self.close_connection = False
        try:
            body = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise _Refused(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise _Refused(HTTPStatus.BAD_REQUEST, "the body is not a JSON object")
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


def _status_of(error: DLBenchError) -> HTTPStatus:
    match error:
        case UnknownFunction():
            return HTTPStatus.NOT_FOUND
        case Outdated():
            return HTTPStatus.CONFLICT
    return HTTPStatus.BAD_REQUEST


def _json(value: Any) -> tuple[str, bytes]:  # noqa: ANN401 - anything that JSON can say
    return "application/json", json.dumps(value).encode()


def _text(fields: Row, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise _Refused(HTTPStatus.BAD_REQUEST, f"`{name}` is missing or not a text")
    return value
