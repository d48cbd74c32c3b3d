"""How does an encoder on this machine turn texts into vectors? By sentence-transformers, on the processor.

A model that knows nothing of sentences (CodeBERT) is pooled there by the mean of its tokens. Texts are cut where the
model's own limit is, 256 tokens for MiniLM.
"""

import hashlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dlbench.analysis.encoders.naming import Vectors
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class LocalEncoder:
    """`weights` is a folder, or a name on a hub."""

    def __init__(self, name: str, weights: str) -> None:
        self.name = name
        self._model = _load(name, weights)

    @cached_property
    def mark(self) -> str:
        told = hashlib.sha256(f"{self._model.max_seq_length}".encode())
        for part, values in sorted(self._model.state_dict().items()):
            told.update(part.encode())
            told.update(values.detach().cpu().contiguous().numpy().tobytes())
        return told.hexdigest()

    def encode(self, texts: Sequence[str]) -> Vectors:
        found = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(found, dtype=np.float32)


def _load(name: str, weights: str) -> "SentenceTransformer":
    try:
        with quietly():
            from sentence_transformers import SentenceTransformer

            return SentenceTransformer(weights, device="cpu")
    except ImportError:
        raise DLBenchError("sentence-transformers is missing", mend="pip install 'dlbench[analysis]'") from None
    except Exception as error:  # a dozen kinds: no folder, no network, no weights, a damaged file
        raise cannot_load(name, error) from None


def cannot_load(name: str, error: Exception) -> DLBenchError:
    said = (str(error).strip() or type(error).__name__).splitlines()[0]
    return DLBenchError(
        f"the encoder cannot be loaded: {said}",
        where=name,
        mend="give `minilm`, the folder of a sentence-transformers or transformers model, or a name that the hub has"
        " and this machine can reach",
    )


@contextmanager
def quietly() -> Iterator[None]:
    """Without bars of loading, and without a warning for every file that a hub out of reach does not give."""
    from transformers.utils import logging as transformers_logging

    hub = logging.getLogger("huggingface_hub")
    shown, told = transformers_logging.get_verbosity(), hub.level
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    hub.setLevel(logging.ERROR)
    try:
        yield
    finally:
        transformers_logging.set_verbosity(shown)
        hub.setLevel(told)
