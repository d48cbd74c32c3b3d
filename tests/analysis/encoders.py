"""Encoders of our own for tests: one that counts letters, and a BERT so small that it is trained in a second."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

WORDS = ["train", "the", "optimizer", "step", "loss", "score", "metric", "accuracy", "of", "image", "text", "table"]
WORDS += ["load", "resize", "tokenize", "layer", "forward"]


class Letters:
    """How often each of 26 letters stands in a text; `asked` is every text that it was given."""

    name = mark = "letters"

    def __init__(self, stop_after: int | None = None) -> None:
        self.asked: list[str] = []
        self._stop_after = stop_after

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        if self._stop_after is not None and len(self.asked) >= self._stop_after:
            raise KeyboardInterrupt
        self.asked += texts
        counts = np.array([[text.count(chr(97 + place)) for place in range(26)] for text in texts], dtype=np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


def write_bert(folder: Path, layers: int = 3) -> Path:
    """Weights by chance, from a seed; the words above and no others."""
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
