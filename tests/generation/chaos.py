"""An endpoint that fails in every way in random order, and records what it answered."""

import random
import threading
from collections.abc import Callable
from typing import Any

from .endpoint import Cut, Endpoint, Reply, completion, refusal, stream

Key = tuple[str, int]
# Longer than the timeout of any client in the tests.
SILENCE = 30.0


class Chaos:
    """Each request, identified by prompt and seed, fails up to `most` times before it gets `answer_of(prompt)`."""

    def __init__(self, answer_of: Callable[[str], str], most: int = 3, seed: int = 0) -> None:
        self._answer_of = answer_of
        self._random = random.Random(seed)
        self._most = most
        self._lock = threading.Lock()
        self._left: dict[Key, int] = {}
        self._over = threading.Event()
        self.received: list[Key] = []
        self.answered: list[Key] = []
        self.failures: list[str] = []
        self.endpoint = Endpoint(self._reply)

    def __enter__(self) -> "Chaos":
        self.endpoint.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.endpoint.__exit__()

    @property
    def url(self) -> str:
        return self.endpoint.url

    def _reply(self, _: int, body: dict[str, Any]) -> Reply:
        prompt, key = body["messages"][-1]["content"], (body["messages"][-1]["content"], body["seed"])
        with self._lock:
            self.received.append(key)
            self._left.setdefault(key, self._random.randint(0, self._most))
            failure = self._random.choice([*FAILURES]) if self._left[key] > 0 else ""
            self._left[key] -= 1
            if failure:
                self.failures.append(failure)
            else:
                self.answered.append(key)
        if failure == "silence":
            self._over.wait(SILENCE)
        text = self._answer_of(prompt)
        if failure:
            return FAILURES[failure](text)
        return stream(text[:5], text[5:]) if body.get("stream") else completion(text)


FAILURES: dict[str, Callable[[str], Reply]] = {
    "429 seconds": lambda _: refusal(429, "slow down", retry_after="0.2"),
    "429 date": lambda _: refusal(429, "slow down", retry_after="Mon, 01 Jan 2024 00:00:00 GMT"),
    "500": lambda _: refusal(500, "oops"),
    "503": lambda _: (503, {"Content-Type": "text/html"}, "<html>down</html>"),
    "cut body": lambda text: (200, {"Content-Type": "application/json"}, Cut(completion(text)[2][:-20])),
    "cut stream": lambda text: stream(text[:8], done=False),
    "half JSON": lambda _: (200, {"Content-Type": "application/json"}, '{"choices": [{"mess'),
    "no JSON": lambda _: (200, {"Content-Type": "text/html"}, "<html>welcome</html>"),
    "empty choices": lambda _: (200, {"Content-Type": "application/json"}, '{"choices": []}'),
    "empty body": lambda _: (200, {"Content-Type": "application/json"}, ""),
    "error": lambda _: (200, {"Content-Type": "application/json"}, '{"error": {"message": "overloaded"}}'),
    "silence": lambda text: completion(text),
}
