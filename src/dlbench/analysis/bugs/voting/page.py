"""How does the booth stand in a browser? Served as the review page is: to this machine, by a token, to nobody else."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from dlbench.analysis.bugs.voting.booth import Booth, UnknownFailure
from dlbench.construction.labelling.local_server import LocalServer, not_found, read_text
from dlbench.construction.work_folder import Row
from dlbench.errors import DLBenchError

_FILES = {
    "": ("analysis/bugs/voting/booth.html", "text/html"),
    "base.css": ("web/base.css", "text/css"),
    "booth.css": ("analysis/bugs/voting/booth.css", "text/css"),
    "python.js": ("web/python.js", "text/javascript"),
    "booth.js": ("analysis/bugs/voting/booth.js", "text/javascript"),
}


def serve(booth: Booth, port: int = 0, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serves until it is interrupted; `ready` is told the address, token included, when the page can be opened."""
    with VotingServer(booth, port) as server:
        ready(server.address)
        server.serve_forever()


class VotingServer(LocalServer):
    def __init__(self, booth: Booth, port: int = 0) -> None:
        super().__init__(_Voting(booth), port=port)


class _Voting:
    command = "dlbench analyze vote-bugs"
    files: Mapping[str, tuple[str, str]] = _FILES

    def __init__(self, booth: Booth) -> None:
        self._booth = booth

    def get(self, inner: str, query: Row) -> Any:  # noqa: ANN401 - what the page is told
        match inner:
            case "categories":
                return self._booth.explain_categories()
            case "failures":
                return self._booth.list_failures(read_text(query, "as"))
            case "failure":
                return self._booth.show(read_text(query, "as"), read_text(query, "id"))
        raise not_found()

    def post(self, inner: str, body: Row) -> Any:  # noqa: ANN401 - what the page is told
        if inner != "vote":
            raise not_found()
        who, failure = read_text(body, "as"), read_text(body, "id")
        self._booth.vote(who, failure, read_text(body, "category"), read_text(body, "note"))
        return self._booth.show(who, failure)

    def status_of(self, error: DLBenchError) -> HTTPStatus:
        return HTTPStatus.NOT_FOUND if isinstance(error, UnknownFailure) else HTTPStatus.BAD_REQUEST
