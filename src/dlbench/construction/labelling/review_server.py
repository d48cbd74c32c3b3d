"""How do people vote and review? On a page of this machine, in their own browser.

How does a page of this machine take what people do, and from nobody else?

Whatever else the browser has open must not vote. So the server listens on the loopback alone, answers only to its own
name (a foreign name that is made to point here gets nothing), takes nothing that another page sends, and does nothing
without the token that stands in the address it was opened with.

How does a page stay quick and still show what is in the files at this moment?

What was read is kept until one of the files is another, by inode, size and time of change. The files are looked at
before they are read, so that one which changes meanwhile is read again the next time.

What may an annotator see, and what may they do?

Their own votes always; the others' only when their own is complete and they have asked to see them, after which it
stands. That is kept here and not in the page: what the page never gets, nobody finds in it. Everything is in files, so
that a reload, a restart or another process shows the same.
"""

import hmac
import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import RLock
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import parse_qs

from dlbench.construction.labelling import MIN_VOTES, decide, read_settlements
from dlbench.construction.labelling.catalogue import Entry, ReadSource, Source, list_files, read_catalogue
from dlbench.construction.labelling.reviews import Review, read_reviews, reviews_of, write_review
from dlbench.construction.labelling.votes import Vote, cast_vote, check_name, read_votes, votes_of, write_moment
from dlbench.construction.work_folder import Row, WorkFolder
from dlbench.dataset.labels import AXES
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


class PageHandler(Protocol):
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

    def __init__(self, pages: PageHandler, host: str = "127.0.0.1", port: int = 0) -> None:
        if host not in _LOCAL:
            what, fix = f"the page is for this machine alone, not for {host}", f"use {' or '.join(_LOCAL)}"
            raise DLBenchError(what, fix=fix)
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            what, fix = f"cannot listen there: {error}", "give another --port, or none"
            raise DLBenchError(what, where=f"{host}:{port}", fix=fix) from None
        self.pages = pages
        self.token = secrets.token_urlsafe(24)
        self.names = {f"{name}:{self.server_port}" for name in _LOCAL}

    @property
    def address(self) -> str:
        return f"http://{_LOCAL[0]}:{self.server_port}/{self.token}/"


class BadRequest(Exception):
    def __init__(self, status: HTTPStatus, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.status, self.what, self.fix = status, what, fix


def find_nothing() -> BadRequest:
    return BadRequest(HTTPStatus.NOT_FOUND, "there is nothing here")


def read_text(fields: Row, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise BadRequest(HTTPStatus.BAD_REQUEST, f"`{name}` is missing or not a text")
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
        except BadRequest as refused:
            status, (kind, content) = refused.status, _json({"error": refused.what, "fix": refused.fix})
        except DLBenchError as error:
            what = f"{error.where}: {error.what}" if error.where else error.what
            status, (kind, content) = self.server.pages.status_of(error), _json({"error": what, "fix": error.fix})
        except OSError as error:
            status, (kind, content) = HTTPStatus.INTERNAL_SERVER_ERROR, _json({"error": str(error), "fix": ""})
        try:
            self._send(status, kind, content)
        except ConnectionError:
            self.close_connection = True  # the browser has gone on; what was done is done

    def _admit(self) -> tuple[str, Row]:
        """The path behind the token and the query, of a request that may be answered at all."""
        if self.headers.get("Host", "").lower() not in self.server.names:
            raise BadRequest(HTTPStatus.FORBIDDEN, "this server answers to its own name only")
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self.server.names:
            raise BadRequest(HTTPStatus.FORBIDDEN, "another page may not ask this")
        path, _, query = self.path.partition("?")
        _, token, inner = (path + "//").split("/", 2)
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            fix = f"open the address that `{self.server.pages.command}` has printed last"
            raise BadRequest(HTTPStatus.FORBIDDEN, "the token in the address is wrong", fix)
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
            raise BadRequest(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body is not JSON", "send application/json")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise BadRequest(HTTPStatus.LENGTH_REQUIRED, "the body's length is not given")
        if len(length) > 9 or int(length) > LARGEST:
            raise BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {LARGEST} bytes", "write less")
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


def _json(value: Any) -> tuple[str, bytes]:  # noqa: ANN401 - anything that JSON can say
    return "application/json", json.dumps(value).encode()


Value = TypeVar("Value")


class CachedRead(Generic[Value]):
    def __init__(self, files: Callable[[], Iterable[Path]], read: Callable[[], Value]) -> None:
        self._files = files
        self._read = read
        self._kept: tuple[list[tuple[str, int, int, int]], Value] | None = None

    def __call__(self) -> Value:
        look = [(str(path), *_look_at(path)) for path in self._files()]
        kept = self._kept
        if kept is None or kept[0] != look:
            kept = self._kept = (look, self._read())
        return kept[1]


def _look_at(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns


KEYS = {"stage": "12345", "task": "qwertyu", "data": "asdf"}
_MEASURES = ("loc", "cyclomatic", "cognitive", "mutants", "killed", "seconds")


class UnknownFunction(DLBenchError):
    pass


class StalePrompt(DLBenchError):
    """What the annotator changes is no longer what they were shown."""


class AnnotationApi:
    def __init__(self, work: WorkFolder, read_source: ReadSource) -> None:
        self._work = work
        self._read_source = read_source
        self._votes = votes_of(work)
        self._reviews = reviews_of(work)
        self._lock = RLock()
        self._all_functions = CachedRead(lambda: list_files(work), lambda: read_catalogue(work))
        self._all_votes = CachedRead(lambda: sorted(self._votes.folder.glob("*")), lambda: read_votes(self._votes))
        self._all_reviews = CachedRead(
            lambda: sorted(self._reviews.folder.glob("*")), lambda: read_reviews(self._reviews)
        )

    def explain_labels(self) -> list[Row]:
        return [
            {
                "axis": axis,
                "labels": [
                    {"slug": label, "definition": label.definition, "key": key}
                    for label, key in zip(labels, KEYS[axis], strict=True)
                ],
            }
            for axis, labels in AXES.items()
        ]

    def list_functions(self, annotator: str) -> list[Row]:
        check_name(annotator)
        votes, reviews = self._all_votes(), self._all_reviews()
        decided = {
            labelled.id
            for labelled in decide(votes, read_settlements(self._work.path("settled")))
            if labelled.is_decided
        }
        ballots: dict[str, list[Vote]] = {}
        for vote in votes:
            ballots.setdefault(vote.id, []).append(vote)
        return [
            {
                "id": entry.id,
                "project": entry.project,
                "voted": any(vote.annotator == annotator and vote.is_complete for vote in ballots.get(entry.id, ())),
                "votes": sum(vote.is_complete for vote in ballots.get(entry.id, ())),
                "wanted": MIN_VOTES,
                "decided": entry.id in decided,
                "verdict": (review := reviews.get(entry.id, Review())).verdict,
                "rejected_by_me": annotator in review.rejected,
            }
            for entry in self._all_functions().values()
        ]

    def show(self, annotator: str, function: str) -> Row:
        check_name(annotator)
        entry = self._find(function)
        review = self._all_reviews().get(function, Review())
        ballots = [vote for vote in self._all_votes() if vote.id == function]
        mine = next((vote for vote in ballots if vote.annotator == annotator), Vote(function, annotator, {}))
        others = [vote for vote in ballots if vote.annotator != annotator and vote.is_complete]
        return {
            "id": entry.id,
            "path": entry.function.get("path", ""),
            "signature": entry.function.get("signature", ""),
            "measures": {"tests": len(entry.tests)} | _measures(entry),
            "prompt": _prompt(entry, review),
            "prompt_by": review.prompt_by or entry.drafted_by,
            "is_draft": review.prompt is None,
            "accepted": list(review.accepted),
            "rejected": review.rejected,
            "mine": {"labels": mine.labels, "note": mine.note, "complete": mine.is_complete, "seen": mine.seen},
            "others": [_show_vote(vote) for vote in others] if mine.seen else None,
            "others_count": len(others),
        }

    def read_source(self, function: str) -> Source:
        return self._read_source(self._find(function).id)

    def vote(self, annotator: str, function: str, labels: Row, note: str | None) -> None:
        """Any of the axes, and the note; what is not named stays."""
        self._find(function)
        if set(labels) - set(AXES):
            raise DLBenchError("there is no such axis", fix=f"use {', '.join(AXES)}")
        change: Row = {"id": function, **labels, "at": write_moment(datetime.now(UTC))}
        change |= {} if note is None else {"note": note}
        cast_vote(self._votes, annotator, change)

    def reveal(self, annotator: str, function: str) -> None:
        if not self.show(annotator, function)["mine"]["complete"]:
            raise DLBenchError("your own vote is not complete yet", fix="vote on all three axes first")
        cast_vote(self._votes, annotator, {"id": function, "seen": True})

    def rewrite(self, annotator: str, function: str, prompt: str, shown: str) -> None:
        with self._lock:
            entry = self._find(function)
            review = self._all_reviews().get(function, Review())
            now = _prompt(entry, review)
            if now != shown:
                what = f"{review.prompt_by or entry.drafted_by} has changed this prompt meanwhile"
                raise StalePrompt(what, fix="read theirs; saving again replaces it")
            if prompt != now:
                write_review(self._reviews, annotator, {"id": function, "action": "prompt", "prompt": prompt})

    def accept(self, annotator: str, function: str, shown: str) -> None:
        with self._lock:
            entry = self._find(function)
            now = _prompt(entry, self._all_reviews().get(function, Review()))
            if now != shown:
                raise StalePrompt("the prompt was changed meanwhile", fix="read it again")
            if not now.strip():
                raise DLBenchError("there is no prompt to accept", fix="write one")
            write_review(self._reviews, annotator, {"id": function, "action": "accept"})

    def reject(self, annotator: str, function: str, reason: str) -> None:
        self._find(function)
        write_review(self._reviews, annotator, {"id": function, "action": "reject", "reason": reason.strip()})

    def _find(self, function: str) -> Entry:
        entry = self._all_functions().get(function)
        if entry is None:
            raise UnknownFunction(f"there is no function {function!r} to review", fix="choose one of the list")
        return entry


def _prompt(entry: Entry, review: Review) -> str:
    return entry.draft if review.prompt is None else review.prompt


def _measures(entry: Entry) -> Row:
    known = entry.function | entry.measured
    return {name: known[name] for name in _MEASURES if isinstance(known.get(name), int | float)}


def _show_vote(vote: Vote) -> Row:
    return {"annotator": vote.annotator, "labels": vote.labels, "note": vote.note}


_FILES = {
    "": ("construction/labelling/review_page.html", "text/html"),
    "base.css": ("web/base.css", "text/css"),
    "review_page.css": ("construction/labelling/review_page.css", "text/css"),
    "python.js": ("web/python.js", "text/javascript"),
    "review_page.js": ("construction/labelling/review_page.js", "text/javascript"),
}


def serve(
    work: WorkFolder,
    read_source: ReadSource,
    host: str = "127.0.0.1",
    port: int = 0,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serves until it is interrupted; `ready` is told the address, token included, when the page can be opened."""
    with ReviewServer(AnnotationApi(work, read_source), host, port) as server:
        ready(server.address)
        server.serve_forever()


class ReviewServer(LocalServer):
    def __init__(self, desk: AnnotationApi, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(_Review(desk), host, port)


class _Review:
    command = "dlbench construct review"
    files: Mapping[str, tuple[str, str]] = _FILES

    def __init__(self, desk: AnnotationApi) -> None:
        self._desk = desk

    def get(self, inner: str, query: Row) -> Any:  # noqa: ANN401 - what the page is told
        desk = self._desk
        match inner:
            case "labels":
                return desk.explain_labels()
            case "functions":
                return desk.list_functions(read_text(query, "as"))
            case "function":
                return desk.show(read_text(query, "as"), read_text(query, "id"))
            case "source":
                return desk.read_source(read_text(query, "id"))
        raise find_nothing()

    def post(self, inner: str, body: Row) -> Any:  # noqa: ANN401 - what the page is told
        desk, who, function = self._desk, read_text(body, "as"), read_text(body, "id")
        match inner:
            case "vote":
                labels, note = body.get("labels", {}), read_text(body, "note") if "note" in body else None
                if not isinstance(labels, dict):
                    raise BadRequest(HTTPStatus.BAD_REQUEST, "`labels` is not an object")
                desk.vote(who, function, labels, note)
            case "reveal":
                desk.reveal(who, function)
            case "rewrite":
                desk.rewrite(who, function, read_text(body, "prompt"), read_text(body, "shown"))
            case "accept":
                desk.accept(who, function, read_text(body, "shown"))
            case "reject":
                desk.reject(who, function, read_text(body, "reason"))
            case _:
                raise find_nothing()
        return desk.show(who, function)

    def status_of(self, error: DLBenchError) -> HTTPStatus:
        match error:
            case UnknownFunction():
                return HTTPStatus.NOT_FOUND
            case StalePrompt():
                return HTTPStatus.CONFLICT
        return HTTPStatus.BAD_REQUEST
