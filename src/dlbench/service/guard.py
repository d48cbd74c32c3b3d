"""Guard the service: token, limits on bodies and slow clients, request ids, one log line per request, errors as JSON.

It wraps the app, so that a request without the token costs nothing, and no request ends without an answer.
"""

import asyncio
import hmac
import json
import logging
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from prometheus_client import Counter
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dlbench.errors import DLBenchError

log = logging.getLogger("dlbench.service")
_PUBLIC = ("/healthz", "/docs", "/openapi.json")
_DRAINED = 8
"""A client reads no answer while it sends: a body is read, and dropped, up to this many times the limit."""
_REQUEST_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)


@dataclass(frozen=True)
class Settings:
    """Of requests, in bytes, candidates and seconds: docs/judge.md."""

    token: str
    max_body: int
    max_candidates: int
    max_waiting: int
    deadline: float
    client_timeout: float
    grace: float


class Refused(DLBenchError):
    """An error with its HTTP status."""

    def __init__(self, status: int, what: str, *, fix: str, where: str = "", headers: Mapping[str, str] | None = None):
        super().__init__(what, where=where, fix=fix)
        self.status, self.headers = status, headers


def fail(error: Exception) -> Refused:
    """An error that is not the client's."""
    if isinstance(error, DLBenchError):
        return Refused(500, error.what, where=error.where, fix=error.fix)
    log.error("failed", exc_info=error)
    return Refused(500, f"{type(error).__name__}: {error}", fix="report it, with the server's log")


def to_record(error: DLBenchError) -> dict[str, Any]:
    """An error without a status is about what the client asked for."""
    status = getattr(error, "status", 400)
    return {"error": {"status": status, "what": error.what, "where": error.where, "fix": error.fix}}


def render(record: Mapping[str, Any]) -> bytes:
    """Escapes all but ASCII: messages of tests may have what is not Unicode."""
    return json.dumps(record).encode() + b"\n"


def respond(error: DLBenchError) -> Response:
    record = to_record(error)
    return Response(render(record), record["error"]["status"], getattr(error, "headers", None), "application/json")


class Guard:
    def __init__(self, app: ASGIApp, settings: Settings, requests: Counter) -> None:
        self._app, self._settings, self._requests = app, settings, requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
        began, status, note = time.monotonic(), 0, ""

        async def reply(message: Message) -> None:
            nonlocal status, note
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            note = " (the client left or stopped reading)"
            async with asyncio.timeout(self._settings.client_timeout):
                await send(message)
            note = ""

        try:
            self._check_token(scope["path"], headers)
            await self._app(scope, await self._read(receive), reply)
        except Refused as error:
            await respond(error)(scope, receive, reply)
        except Exception as error:
            failure = None if note else fail(error)
            if failure and not status:
                await respond(failure)(scope, receive, reply)
        finally:
            path = getattr(scope.get("route"), "path", "other")  # as few labels as there are routes
            self._requests.labels(path, status).inc()
            seconds = time.monotonic() - began
            log.info("%s %s %r %d %.3f s%s", request_id, scope["method"], scope["path"], status, seconds, note)

    def _check_token(self, path: str, headers: Headers) -> None:
        kind, _, token = headers.get("authorization", "").partition(" ")
        is_right = hmac.compare_digest(token.encode(), self._settings.token.encode()) and kind.lower() == "bearer"
        if not is_right and path not in _PUBLIC:
            fix = "send `Authorization: Bearer TOKEN`, with the token that the service was started with or printed"
            what = "the token is wrong" if token else "the token is missing"
            raise Refused(401, what, fix=fix, headers={"WWW-Authenticate": "Bearer"})

    async def _read(self, receive: Receive) -> Receive:
        """The whole body, before any of it is parsed: a slow client holds a connection and nothing else."""
        most, size, parts, more = self._settings.max_body, 0, list[bytes](), True
        try:
            async with asyncio.timeout(self._settings.client_timeout):
                while more and size <= _DRAINED * most:
                    message = await receive()
                    parts.append(message.get("body", b""))
                    size, more = size + len(parts[-1]), message.get("more_body", False)
                    if size > most:
                        parts.clear()
        except TimeoutError:
            what = f"the request was not complete after {self._settings.client_timeout:g} s"
            raise Refused(408, what, fix="send it faster, or fewer candidates at once") from None
        if size > most:
            raise Refused(
                413,
                f"the request has more than {most} bytes",
                fix="send fewer or shorter candidates; `dlbench serve --max-body` sets the limit",
            )
        body = [{"type": "http.request", "body": b"".join(parts)}]

        async def replay() -> Message:
            return body.pop() if body else await receive()

        return replay
