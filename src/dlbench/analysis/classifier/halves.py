"""How is an encoder cut in two, so that what stays as it is runs once and not in every epoch?

The lower half ends after `frozen` layers; the upper half takes what it gave in place of embeddings. Together they are
the encoder: a test holds their vectors against the whole one's. Known are encoders that keep `embeddings` and a list
`encoder.layer`, as BERT, RoBERTa, MPNet, ELECTRA and their kin do.

Imported only where something is tuned or asked: torch takes seconds to load.
"""

import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

from dlbench.analysis.classifier.recipe import Recipe
from dlbench.analysis.encoders.local import cannot_load, quietly
from dlbench.analysis.encoders.naming import find_weights
from dlbench.errors import DLBenchError

_BATCH = 16


class _Given(nn.Module):  # type: ignore[misc]
    """In place of embeddings: takes what the lower half gave."""

    def forward(self, inputs_embeds: Tensor, **_: object) -> Tensor:
        return inputs_embeds


class Halves:
    def __init__(self, recipe: Recipe) -> None:
        try:
            with quietly():
                weights = find_weights(recipe.encoder)
                self._tokenizer = AutoTokenizer.from_pretrained(weights)
                whole = AutoModel.from_pretrained(weights, dtype=torch.float32)
        except DLBenchError:
            raise
        except Exception as error:  # a dozen kinds: no folder, no network, no weights, a damaged file
            raise cannot_load(recipe.encoder, error) from None
        layers = getattr(getattr(whole, "encoder", None), "layer", None)
        if layers is None or not hasattr(whole, "embeddings"):
            mend = "give an encoder of BERT's kind: minilm, BERT, RoBERTa, CodeBERT, MPNet, ELECTRA"
            raise DLBenchError("an encoder of a shape that cannot be cut in two", where=recipe.encoder, mend=mend)
        if recipe.frozen >= len(layers):
            mend = f"give --frozen {len(layers) - 1} or less"
            raise DLBenchError(f"it has {len(layers)} layers, so none would be tuned", where=recipe.encoder, mend=mend)
        whole.pooler = None
        self._tokens = min(recipe.tokens, _find_places(whole))
        self.width = int(whole.config.hidden_size)
        self._upper = deepcopy(whole)
        self._upper.embeddings = _Given()
        if hasattr(self._upper, "embeddings_project"):  # ELECTRA widens embeddings, and what is given is wide
            self._upper.embeddings_project = nn.Identity()
        self._upper.encoder.layer = self._upper.encoder.layer[recipe.frozen :]
        whole.encoder.layer = layers[: recipe.frozen]
        self._lower = whole.eval()

    def make_upper(self) -> Any:  # noqa: ANN401 - an encoder of transformers
        """A fresh copy, as the weights have it."""
        return deepcopy(self._upper)

    def lower(self, texts: Sequence[str], advance: Callable[[str], None]) -> list[Tensor]:
        """What the lower half gives: a row a token, a matrix a text."""
        ids = [self._tokenizer(text, truncation=True, max_length=self._tokens)["input_ids"] for text in texts]
        found: dict[int, Tensor] = {}
        with torch.inference_mode():
            for places in cut_by_length([len(one) for one in ids], _BATCH):
                padded = nn.utils.rnn.pad_sequence([torch.tensor(ids[place]) for place in places], batch_first=True)
                mask = make_mask([len(ids[place]) for place in places])
                given = self._lower(input_ids=padded, attention_mask=mask).last_hidden_state
                for row, place in enumerate(places):
                    found[place] = given[row, : len(ids[place])].clone()
                    advance("lower layers")
        return [found[place] for place in range(len(texts))]


def _find_places(whole: Any) -> int:  # noqa: ANN401 - an encoder of transformers
    """How many tokens have a place: RoBERTa and MPNet count from behind that of padding."""
    unused = getattr(getattr(whole.embeddings, "position_embeddings", None), "padding_idx", None)
    return int(getattr(whole.config, "max_position_embeddings", sys.maxsize)) - (0 if unused is None else unused + 1)


def pool(upper: Any, given: Sequence[Tensor]) -> Tensor:  # noqa: ANN401 - an encoder of transformers
    """The mean of the tokens' vectors, a row a text."""
    mask = make_mask([len(one) for one in given])
    padded = nn.utils.rnn.pad_sequence(list(given), batch_first=True)
    hidden = upper(inputs_embeds=padded, attention_mask=mask).last_hidden_state
    return (hidden * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)


def make_mask(lengths: Sequence[int]) -> Tensor:
    return (torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)).long()


def cut_by_length(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Places in batches of like length, so that little is padded."""
    order = sorted(range(len(lengths)), key=lambda place: (lengths[place], place))
    return [order[start : start + size] for start in range(0, len(order), size)]
