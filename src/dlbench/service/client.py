"""A client of `dlbench serve`. It retries until the service is back, and gives every verdict exactly once."""

import json
import logging
import os
import random
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import requests
import urllib3

from dlbench.errors import DLBenchError

log = logging.getLogger("dlbench.service")
_TRANSIENT = {429, 502, 503, 504}
_BROKEN = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
_UNREACHED = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)
_LONGEST_PAUSE = 30.0
_FIRST_PATIENCE = 30.0
"""Until the first connection: the address may be wrong."""

Record = dict[str, Any]


class JudgeClient:
    """Judges candidates by a service; every thread needs a client of its own.

        judge = JudgeClient("http://127.0.0.1:8765", token)
        print(judge.judge("albucore/albucore.arithmetic.add", code)["rewards"]["pass"])

    `token`: or DLBENCH_TOKEN. `patience`: seconds without any verdict after which it gives up; at most 30 if it never
    reached the service.
    """

    def __init__(self, url: str, token: str | None = None, *, patience: float = 900.0) -> None:
        if not url.startswith(("http://", "https://")):
            raise DLBenchError("the address has no scheme", where=url, fix=f"write http://{url}")
        self._url, self._patience, self._is_reached = url.rstrip("/"), patience, False
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {token or os.environ.get('DLBENCH_TOKEN', '')}"

    def judge(self, instance: str, code: str, *, is_answer: bool = False) -> Record:
        """The record of the verdict on code, with `rewards`."""
        return next(self.judge_many([(instance, code)], is_answer=is_answer))

    def judge_many(
        self, candidates: Iterable[tuple[str, str]], *, is_answer: bool = False, batch: int = 64
    ) -> Iterator[Record]:
        """Records in the order of completion; `id` is the place of the candidate. `batch`: candidates per request."""
        key = "answer" if is_answer else "code"
        numbered: Iterator[Record] = ({"id": n, "instance": one, key: text} for n, (one, text) in enumerate(candidates))
        while left := {one["id"]: one for one in islice(numbered, batch)}:
            yield from self._judge_batch(left)

    def _judge_batch(self, left: dict[int, Record]) -> Iterator[Record]:
        """The verdicts on all of `left`: what a broken connection did not bring is asked for again."""
        last, failures = time.monotonic(), 0
        while left:
            pause, problem = 0.0, DLBenchError("the stream ended early")
            try:
                body, waits = list(left.values()), (10, self._patience)
                with self._session.post(f"{self._url}/v1/judge", json=body, stream=True, timeout=waits) as reply:
                    self._is_reached = True
                    asked = reply.headers.get("Retry-After", "")
                    pause = float(asked) if asked.isdecimal() else 0.0
                    for record in _read_records(reply):
                        if "error" in record:
                            problem = _to_error(record["error"])
                        elif left.pop(record["id"], None):
                            yield record
                            last, failures = time.monotonic(), 0
            except _BROKEN as error:
                reason = getattr(error.args[0] if error.args else None, "reason", None)
                self._is_reached |= not isinstance(reason, _UNREACHED)
                problem = DLBenchError(f"no connection: {str(reason or error).rpartition(': ')[2]}")
            if left:
                patience = self._patience if self._is_reached else min(self._patience, _FIRST_PATIENCE)
                if (waited := time.monotonic() - last) > patience:
                    fix = "check that the service runs and has enough workers"
                    if not self._is_reached:
                        fix = "check the address, and that `dlbench serve` runs"
                    raise DLBenchError(f"gave up after {patience:g} s: {problem.what}", where=self._url, fix=fix)
                failures += 1
                pause = pause or min(_LONGEST_PAUSE, 0.25 * 2**failures) * random.uniform(0.5, 1.0)
                pause = min(pause, patience - waited + 0.1)
                log.warning("%s: %s; next attempt in %.1f s", self._url, problem.what, pause)
                time.sleep(pause)


def _read_records(reply: requests.Response) -> Iterator[Record]:
    """Verdicts and transient errors."""
    records: Iterable[Record] = map(json.loads, reply.iter_lines())
    if "X-Request-ID" not in reply.headers:  # a proxy while the service restarts, or a wrong address
        what, fix = f"status {reply.status_code} of another server", "pass the address of `dlbench serve`"
        records = [{"error": {"status": reply.status_code, "what": what, "where": reply.url, "fix": fix}}]
    for record in records:
        if "error" in record and record["error"]["status"] not in _TRANSIENT:
            raise _to_error(record["error"])
        yield record


def _to_error(error: Mapping[str, Any]) -> DLBenchError:
    return DLBenchError(error["what"], where=error["where"], fix=error["fix"])
