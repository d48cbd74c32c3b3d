"""How do people vote and review? On a page of this machine, in their own browser."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from dlbench.construction.labelling.desk import Desk, Outdated, UnknownFunction
from dlbench.construction.labelling.local_server import LocalServer, Refused, find_nothing, read_text
from dlbench.construction.labelling.sources import ReadSource
from dlbench.construction.work import Row, Work
from dlbench.errors import DLBenchError

_FILES = {
    "": ("construction/labelling/review_page.html", "text/html"),
    "base.css": ("web/base.css", "text/css"),
    "review_page.css": ("construction/labelling/review_page.css", "text/css"),
    "python.js": ("web/python.js", "text/javascript"),
    "review_page.js": ("construction/labelling/review_page.js", "text/javascript"),
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


class ReviewServer(LocalServer):
    def __init__(self, desk: Desk, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(_Review(desk), host, port)


class _Review:
    command = "dlbench construct review"
    files: Mapping[str, tuple[str, str]] = _FILES

    def __init__(self, desk: Desk) -> None:
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
                    raise Refused(HTTPStatus.BAD_REQUEST, "`labels` is not an object")
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
            case Outdated():
                return HTTPStatus.CONFLICT
        return HTTPStatus.BAD_REQUEST
