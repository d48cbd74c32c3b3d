"""How does an endpoint turn texts into vectors? By the OpenAI form: `POST …/embeddings`.

Addresses and keys are those of models that are asked (`generation.presets`), and a key is shown nowhere.
"""

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from dlbench.analysis.encoders.naming import Vectors
from dlbench.errors import DLBenchError
from dlbench.generation.model import TransientError
from dlbench.generation.openai_client import Refusal
from dlbench.generation.providers import Secrets, find_endpoint, shorten, shown_url

_TRIES = 4
_TIMEOUT = 120


class EndpointEncoder:
    def __init__(self, name: str, base_url: str | None = None, api_key: str | None = None, *, pause: float = 2) -> None:
        """`pause`: seconds before the second try; each further one waits twice as long."""
        self.name = name
        self._endpoint = find_endpoint(name, base_url, api_key)
        self._url = self._endpoint.url.replace("/chat/completions", "/embeddings")
        self._secrets = Secrets(*self._endpoint.secrets)
        self._pause = pause
        self._where = f"model {name} at {shown_url(self._endpoint.base_url)}"
        self.mark = f"{shown_url(self._url)} {self._endpoint.model}"

    def encode(self, texts: Sequence[str]) -> Vectors:
        body: dict[str, Any] = {"model": self._endpoint.model, "input": list(texts), "encoding_format": "float"}
        for attempt in range(_TRIES):
            try:
                return self._read(self._post(body), len(texts))
            except TransientError as busy:
                if attempt == _TRIES - 1:
                    raise
                time.sleep(self._pause * 2**attempt if busy.after is None else busy.after)
        raise AssertionError("unreachable")

    def _post(self, body: dict[str, Any]) -> str:
        import requests

        try:
            # Not followed: an address that sends the key elsewhere is the user's to change.
            reply = requests.post(
                self._url, json=body, headers=self._endpoint.authorization, timeout=_TIMEOUT, allow_redirects=False
            )
        except requests.RequestException as error:
            what = f"the endpoint cannot be reached, or broke off: {self._safe(str(error))}"
            raise TransientError(what, where=self._where, mend="check the base URL and the connection") from None
        text = reply.content.decode("utf-8", "replace")
        if reply.status_code != 200:
            refusal = Refusal(reply.status_code, reply.headers.get("Retry-After"), text)
            raise refusal.as_error(self._safe(text), self._where)
        return text

    def _read(self, text: str, count: int) -> Vectors:
        try:
            rows = sorted(json.loads(text)["data"], key=lambda row: int(row["index"]))
            found = np.array([row["embedding"] for row in rows], dtype=np.float32)
        except (ValueError, KeyError, TypeError):
            raise self._error(f"the endpoint answered, but not with embeddings: {self._safe(text)}") from None
        if found.ndim != 2 or len(found) != count or not np.isfinite(found).all():
            raise self._error(f"{count} texts were sent, and {found.shape} numbers came back")
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(lengths, 1e-12), dtype=np.float32)

    def _safe(self, text: str) -> str:
        return shorten(self._secrets.hide(text))

    def _error(self, what: str) -> DLBenchError:
        mend = "check --base-url (it mostly ends in /v1), and that the endpoint has this embedding model"
        return DLBenchError(what, where=self._where, mend=mend)
