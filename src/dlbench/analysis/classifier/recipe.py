"""How is an encoder tuned? Everything that a result depends on, beside the data, in one record that is kept with it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """AdamW with a warm-up and a linear decay; one linear head an axis on the mean of the tokens' vectors.

    Fixed before any test fold was seen: there is no early stopping and no best epoch.
    """

    encoder: str = "minilm"
    frozen: int = 5
    """Layers at the bottom, with the embeddings, that stay as they are: what they give is computed once."""
    epochs: int = 6
    batch: int = 16
    rate: float = 2e-4
    """Of the encoder's layers; heads, which begin from nothing, learn twenty times as fast."""
    tokens: int = 256
    """Prompts are cut there."""
    seed: int = 0
