"""Encoders for tests: one that counts letters, and a tiny BERT."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

WORDS = ["train", "the", "optimizer", "step", "loss", "score", "metric", "accuracy", "of", "image", "text", "table"]
WORDS += ["load", "resize", "tokenize", "layer", "forward"]


class Letters:
    """Counts of the 26 letters; `encoded` lists every text it got."""

    name = fingerprint = "letters"

    def __init__(self, stop_after: int | None = None) -> None:
        self.encoded: list[str] = []
        self._stop_after = stop_after

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        if self._stop_after is not None and len(self.encoded) >= self._stop_after:
            raise KeyboardInterrupt
        self.encoded += texts
        counts = np.array([[text.count(chr(97 + place)) for place in range(26)] for text in texts], dtype=np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


def write_bert(folder: Path, layers: int = 3) -> Path:
    """Random weights from a seed; only the words above are known."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    folder.mkdir(parents=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 40}
    BertModel(BertConfig(vocab_size=len(words), num_hidden_layers=layers, **sizes)).save_pretrained(folder)
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder
